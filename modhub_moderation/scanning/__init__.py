"""Scanning of uploads for malware."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
