"""The queue: open cases and appeals; decisions about many (C-QUE-1)."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Register the pages."""
    config.include("modhub_moderation.cases.queue_pages")
