"""The catalogue of mods: lists, mods and their files for readers, everything else for their owners."""

from pyramid.config import Configurator

from modhub import limits
from modhub.catalogue import departed, public
from modhub.catalogue.finding import Catalogue as Finder
from modhub.catalogue.owned import Owned
from modhub.catalogue.resources import Catalogue, Files, GameIcons, Images, Mine, Mod, Notes, Votes
from modhub.events import AccountDeleted
from modhub.interfaces import IApi, IMod, IOwnMod, ISite
from modhub.tree import ANY


def includeme(config: Configurator) -> None:
    """Where the catalogue's things are in the tree, how large its uploads may be, and what keeps its copies true."""
    registry = config.registry
    registry.catalogue = Finder(registry.databases.reads)
    registry.catalogue_owned = Owned(registry.databases.reads)
    public.keep_true(registry.databases.writing)
    config.add_child(IApi, "modhub", Catalogue)
    config.add_child(IMod, "changelog", Notes)
    config.add_child(IMod, "images", Images)
    config.add_child(IMod, "vote", Votes)
    config.add_child(IOwnMod, "changelog", Notes)
    config.add_child(IOwnMod, "images", Images)
    config.add_child(ISite, "file", Files)
    config.add_child(ISite, "game-icon", GameIcons)
    config.add_child(ISite, "mine", Mine)
    config.add_child(ISite, ANY, Mod)
    for read in ("file/[^/]+", "game-icon/[^/]+", "feed", "[0-9]+/feed"):
        config.add_cross_origin("/Modhub/" + read)
    account = "Authorization"
    config.add_body_limit("POST", "/api/modhub/{id}/code", limits.CODE, credential=account)
    config.add_body_limit("POST", "/api/modhub/{id}/css", limits.CSS, credential=account)
    config.add_body_limit("POST", "/api/modhub/{id}/images", limits.IMAGE, credential=account)
    config.add_body_limit(("POST", "PUT", "DELETE"), "/api/modhub/{rest...}", limits.JSON_BODY, credential=account)
    config.add_maintenance("catalogue", public.damage)
    config.add_subscriber(departed.forget_account, AccountDeleted)
    # The reads first: of several views of one thing, those declared first are tried first.
    config.scan("modhub.catalogue.views")
    config.scan("modhub.catalogue.owners")
    config.include("modhub.catalogue.pages")
    config.include("modhub.catalogue.commands")
    config.include("modhub.catalogue.mod_commands")
    config.include("modhub.catalogue.demo")
