"""A feature for tests and measurements: no response is kept (`modhub.web.public_reads`), so each is made anew."""

from typing import Any

from pyramid.config import Configurator

from modhub.base.service_registry import find_service
from modhub.web.public_reads import ResponseCache


def keep_nothing(registry: Any) -> None:
    """Keep no response of this application from now on."""
    find_service(registry, ResponseCache).read_stamp = lambda: None


def includeme(config: Configurator) -> None:
    """Keep no response."""
    keep_nothing(config.registry)
