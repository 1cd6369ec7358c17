"""Quotas: what one account may keep and send."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
