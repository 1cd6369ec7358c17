"""A person's own data, to take away."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
