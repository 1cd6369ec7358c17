"""The queue: open cases, first publications and look-alike titles; decisions about many (C-QUE-1)."""

from pyramid.config import Configurator

from modhub.plugins.events import AccountDeleted, ModPublished, ModsDeleted
from modhub_moderation.cases import queue_subscribers
from modhub_moderation.cases.queue_titles import compare_titles


def includeme(config: Configurator) -> None:
    """Register the pages, the worker, and the subscribers."""
    config.add_subscriber(queue_subscribers.note_first_publication, ModPublished)
    config.add_subscriber(queue_subscribers.forget_mods_in_queue, ModsDeleted)
    config.add_subscriber(queue_subscribers.forget_account_in_queue, AccountDeleted)
    config.add_worker("titles that look alike", compare_titles, long=True, alone=True)
    config.include("modhub_moderation.cases.queue_pages")
