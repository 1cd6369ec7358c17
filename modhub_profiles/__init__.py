"""Who is behind a mod: its links and licence, its author's picture, sentence and links (modhub_profiles/README.md)."""

from functools import partial

from pyramid.config import Configurator

from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.db import Databases
from modhub.plugins.events import AccountDeleted, ModDetailsSaving, ModsDeleted
from modhub.plugins.resources import IAuthor, IMod, ISite
from modhub.plugins.services import IAuthorPictures
from modhub.ui.multipart import OVERHEAD
from modhub_profiles import limits, pages, services, upkeep, views
from modhub_profiles.read_service import ProfileReader
from modhub_profiles.resources import AuthorPicturesResource, LinksResource, ProfileResource
from modhub_profiles.services import collect_profile


def includeme(config: Configurator) -> None:
    """Register the service, the subscribers, the addresses, the panels, the command and the views."""
    config.include("modhub")
    config.add_feature(
        "modhub_profiles",
        N_("Links and profiles"),
        migrations="profiles_",
        demo="modhub_profiles.sample_profiles.fill_demo_profiles",
    )
    databases = find_service(config.registry, Databases)
    config.add_service(IAuthorPictures, ProfileReader(databases.raw_queries))
    config.add_subscriber(services.delete_links_of_mods, ModsDeleted)
    config.add_subscriber(pages.save_links, ModDetailsSaving)
    config.add_subscriber(services.delete_profile_of_account, AccountDeleted)
    config.add_child(IMod, "links", LinksResource)
    config.add_child(IAuthor, "picture", AuthorPicturesResource)
    config.add_child(ISite, "profile", ProfileResource)
    config.add_body_limit("PUT", "/api/modhub/{id}/links", limits.BODY, credential="Authorization")
    # The process makes one picture at a time, and a thread that waits for its turn must not hold up readers.
    picture = limits.PICTURE + OVERHEAD
    config.add_body_limit("POST", "/Modhub/profile/picture", picture, credential="Cookie", waits=True)
    config.add_cross_origin("/Modhub/by/[0-9]+/picture/[^/]+")
    config.add_robots_rule("/Modhub/profile")
    config.add_panel("mod", "links", pages.links_panel, order=20)
    config.add_panel("details", "links", pages.links_form_panel, order=40, fields=(*pages.MOD_FIELDS, pages.SEEN))
    config.add_panel("author", "profile", pages.author_panel, order=50)
    config.add_panel("account", "profile", pages.account_panel)
    config.add_mod_detail("links", views.links_of_mods)
    config.add_personal_data("profile", partial(collect_profile, config.registry))
    config.add_blob_names("profiles", upkeep.describe_pictures)
    config.include("modhub_profiles.services")
    config.include("modhub_profiles.upkeep")
    config.scan("modhub_profiles.views")
    config.scan("modhub_profiles.pages")
