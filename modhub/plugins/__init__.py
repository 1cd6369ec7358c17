"""What authors of features read: the directives, and what they and the core share (docs/writing-a-feature.md)."""

from pyramid.config import Configurator

from modhub.base.body_rules import BodyRules
from modhub.base.service_registry import add_service, find_optional_service
from modhub.plugins import directives
from modhub.plugins.declarations import Declarations


def includeme(config: Configurator) -> None:
    """Register the services that the directives fill, then the directives."""
    config.add_directive("add_service", add_service)
    if find_optional_service(config.registry, Declarations) is None:
        config.add_service(Declarations, Declarations())
    config.add_service(BodyRules, BodyRules())
    for directive in directives.DIRECTIVES:
        config.add_directive(directive.__name__, directive)
