"""Notices, cases and the decisions about them."""

from pyramid.config import Configurator

from modhub_moderation.cases import models  # noqa: F401 - its tables belong to the metadata


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
