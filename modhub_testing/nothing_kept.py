"""A feature for tests and measurements: no response is kept (`modhub.web.public_reads`), so each is made anew."""

from pyramid.config import Configurator

from modhub.base.service_registry import find_service
from modhub.web.public_reads import ResponseCache


def includeme(config: Configurator) -> None:
    """Keep no response."""
    find_service(config.registry, ResponseCache).read_stamp = lambda: None
