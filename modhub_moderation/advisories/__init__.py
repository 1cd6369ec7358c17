"""Advisories: what is known about files, told to those who have them."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
