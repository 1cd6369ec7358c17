"""A person's own data, to take away (C-DAT)."""

from pyramid.config import Configurator

from modhub.plugins.events import AccountDeleted, DatabaseRestored
from modhub_moderation.personal_data import pages, services, subscribers
from modhub_moderation.personal_data.maker import ARCHIVE_SECONDS, make_archives
from modhub_moderation.personal_data.own_records import collect_moderation


def includeme(config: Configurator) -> None:
    """Register the worker, the subscribers, the panel and the pages."""
    config.add_worker("own data", make_archives, every=ARCHIVE_SECONDS, long=True, alone=True)
    config.add_subscriber(subscribers.end_archive_of_account, AccountDeleted)
    config.add_subscriber(subscribers.end_all_archives, DatabaseRestored)
    config.add_blob_names("own data", services.describe_archives)
    config.add_personal_data("moderation", collect_moderation)
    config.add_panel("account", "own data", pages.own_data_panel, order=200)
    config.scan("modhub_moderation.personal_data.pages")
