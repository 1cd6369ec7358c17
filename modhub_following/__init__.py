"""Following: readers with an account follow mods, games and authors, on a page and by email."""

from pyramid.config import Configurator

from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.plugins.events import (
    AccountDeleted,
    DatabaseRestored,
    ModsDeleted,
)
from modhub.plugins.resources import IAuthor, IMod, ISite
from modhub.plugins.services import IModCards
from modhub_following import pages, services
from modhub_following.digests import LOOK_SECONDS, queue_digests
from modhub_following.read_service import FollowReader
from modhub_following.resources import AuthorFollow, FollowingResource, GameFollow, IFollowing, ModFollow
from modhub_following.services import collect_following


def includeme(config: Configurator) -> None:
    """Register the service, resources, panels, subscribers, the worker and the pages."""
    config.include("modhub")
    config.add_feature("modhub_following", "Following", requires=("modhub_auth",), migrations="following_")
    registry = config.registry
    reader = FollowReader(find_service(registry, Databases).raw_queries, find_service(registry, IModCards))
    config.add_service(FollowReader, reader)
    config.add_child(ISite, "following", FollowingResource)
    config.add_child(IFollowing, "game", GameFollow)
    config.add_child(IMod, "follow", ModFollow)
    config.add_child(IAuthor, "follow", AuthorFollow)
    config.add_personal_data("following", collect_following)
    config.add_panel("personal", "following", pages.following_link, order=850)
    config.add_panel("mod", "follow", pages.mod_button, order=0)
    config.add_panel("workshop", "followers", pages.followers_panel, order=45)
    config.add_panel("author", "follow", pages.author_button)
    config.add_panel("browse", "follow", pages.game_button)
    config.add_robots_rule("/Modhub/following")
    config.add_subscriber(services.forget_mods, ModsDeleted)
    config.add_subscriber(services.forget_account, AccountDeleted)
    config.add_subscriber(services.begin_digests, DatabaseRestored)
    config.add_subscriber(services.end_feeds, DatabaseRestored)
    config.add_worker("digests", queue_digests, LOOK_SECONDS, long=True, alone=True)
    config.scan("modhub_following.pages")
    config.scan("modhub_following.private_feed")
