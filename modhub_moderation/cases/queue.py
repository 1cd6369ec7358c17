"""The queue: open cases, first publications and look-alike titles; decisions about many; metrics (C-QUE-1)."""

from pyramid.config import Configurator

from modhub.events import AccountDeleted, ModPublished, ModsDeleted
from modhub_moderation.cases import queue_subscribers
from modhub_moderation.cases.queue_titles import read_titles


def includeme(config: Configurator) -> None:
    """Register the pages, the worker, the subscribers and the metrics."""
    config.add_subscriber(queue_subscribers.note_first_publication, ModPublished)
    config.add_subscriber(queue_subscribers.forget_mods, ModsDeleted)
    config.add_subscriber(queue_subscribers.forget_account, AccountDeleted)
    config.add_worker("titles that look alike", read_titles, alone=True)
    config.include("modhub_moderation.cases.queue_metrics")
    config.include("modhub_moderation.cases.queue_pages")
