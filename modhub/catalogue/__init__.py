"""The catalogue of mods: public reading for everybody, editing for owners."""

from pyramid.config import Configurator

from modhub.base.service_registry import find_service
from modhub.catalogue import subscribers
from modhub.catalogue.commands import GAMES_CHANGED
from modhub.catalogue.copies import public_copy_damage
from modhub.catalogue.files import FilesResource, GameIconsResource, PicturesResource, describe_mod_files
from modhub.catalogue.reading.details import DETAILS_QUESTION
from modhub.catalogue.reading.lookup import ModLookup
from modhub.catalogue.reading.service import CatalogueReader
from modhub.catalogue.resources import (
    ApiAuthorsResource,
    AuthorsResource,
    CatalogueResource,
    ImagesResource,
    MineResource,
    ModResource,
    NotesResource,
    VotesResource,
)
from modhub.content import limits
from modhub.db import Databases
from modhub.db.changes import MOD, ChangeReader
from modhub.plugins.declarations import Declarations
from modhub.plugins.events import AccountDeleted
from modhub.plugins.resources import IApi, ICatalogue, IMod, IOwnMod, ISite
from modhub.plugins.services import IMods, IPublicMods
from modhub.web.traversal import ANY


def includeme(config: Configurator) -> None:
    """Register services, resources, body limits, subscribers and views."""
    databases, declared = find_service(config.registry, Databases), find_service(config.registry, Declarations)
    mods = CatalogueReader(databases.raw_queries, declared)
    config.add_service(CatalogueReader, mods)
    config.add_service(IPublicMods, mods)
    config.add_service(IMods, ModLookup())
    config.add_service(ChangeReader, ChangeReader(databases.raw_queries, declared.change_kinds))
    declared.change_kinds.update((MOD, GAMES_CHANGED))
    declared.demos.append(("mods and games", "modhub.catalogue.samples.fill_demo"))
    config.add_child(IApi, "modhub", CatalogueResource)
    config.add_child(ICatalogue, "authors", ApiAuthorsResource)
    config.add_child(IMod, "changelog", NotesResource)
    config.add_child(IMod, "images", ImagesResource)
    config.add_child(IMod, "vote", VotesResource)
    config.add_child(IOwnMod, "changelog", NotesResource)
    config.add_child(IOwnMod, "images", ImagesResource)
    config.add_child(ISite, "by", AuthorsResource)
    config.add_child(ISite, "file", FilesResource)
    config.add_child(ISite, "game-icon", GameIconsResource)
    config.add_child(ISite, "picture", PicturesResource)
    config.add_child(ISite, "mine", MineResource)
    config.add_child(ISite, ANY, ModResource)
    feed = r"(?:(?:by/)?[0-9]+/)?feed(?:\.json)?"
    for read in ("file/[^/]+", "game-icon/[^/]+", "picture/[^/]+/[^/]+", feed):
        config.add_cross_origin("/Modhub/" + read)
    account = "Authorization"
    config.add_body_limit("POST", "/api/modhub/{id}/code", limits.CODE, credential=account, waits=True)
    config.add_body_limit("POST", "/api/modhub/{id}/css", limits.CSS, credential=account, waits=True)
    config.add_body_limit("POST", "/api/modhub/{id}/images", limits.IMAGE, credential=account, waits=True)
    config.add_body_limit(("POST", "PUT", "DELETE"), "/api/modhub/{rest...}", limits.JSON_BODY, credential=account)
    config.add_body_limit("POST", "/api/modhub/details", DETAILS_QUESTION)
    config.add_blob_names("catalogue", describe_mod_files)
    config.add_check("catalogue", lambda _registry, session: public_copy_damage(session), when=("verify",))
    config.add_subscriber(subscribers.delete_mods_of_account, AccountDeleted)
    # Public views first: among several views of one resource, the first registered is tried first.
    config.scan("modhub.catalogue.reading.views")
    config.scan("modhub.catalogue.reading.details")
    config.scan("modhub.catalogue.owning.views")
    config.scan("modhub.catalogue.owning.child_views")
    config.include("modhub.catalogue.subscribers")
    config.include("modhub.catalogue.pages")
    config.include("modhub.catalogue.pictures")
    config.include("modhub.catalogue.owning.idempotency")
    config.include("modhub.catalogue.commands")
    config.include("modhub.catalogue.moderating.commands")
    config.include("modhub.catalogue.moderating.service")
