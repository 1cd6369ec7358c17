"""What authors of features read: the directives, and what they and the core share (docs/writing-a-feature.md)."""

from pyramid.config import Configurator

from modhub.base.body_rules import BodyRules, IBodyRules
from modhub.base.service_registry import add_service, find_optional_service
from modhub.plugins import directives
from modhub.plugins.declarations import Declarations, StartOptions


def includeme(config: Configurator) -> None:
    """Register the services that the directives fill, then the directives."""
    config.add_directive("add_service", add_service)
    if find_optional_service(config.registry, StartOptions) is None:
        config.add_service(StartOptions, StartOptions())
    config.add_service(Declarations, Declarations())
    config.registry.registerUtility(BodyRules(), IBodyRules)
    for directive in directives.DIRECTIVES:
        config.add_directive(directive.__name__, directive)
