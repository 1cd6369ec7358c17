"""Notices, cases and the decisions about them."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
