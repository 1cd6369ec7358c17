"""The services of an application: one object for each kind, found by its class or protocol.

``config.add_service(CatalogueReader, reader)`` registers one; ``request.find_service(CatalogueReader)`` finds it, with
its type. A kind may be a ``Protocol``, so that users do not depend on the implementation. Services belong to the
application's registry: two applications in one process do not share them.
"""

from typing import Any, TypeVar

from pyramid.config import Configurator

Service = TypeVar("Service")


def add_service(config: Configurator, kind: type[Service], service: Service) -> None:
    """Register ``service`` as the application's service of ``kind``.

    It can be found at once. Two packages that register the same kind are a conflict that names both lines.
    """

    def register() -> None:
        config.registry[kind] = service

    register()
    # Again when the actions are executed: an including package overrides what it includes.
    config.action(("modhub service", kind), register)


def find_service(registry: Any, kind: type[Service]) -> Service:
    """The application's service of ``kind``. Raises ``LookupError`` if no package registers one."""
    try:
        service: Service = registry[kind]
    except KeyError:
        raise LookupError(f"no package registers a service of the kind {kind.__name__}") from None
    return service


def find_optional_service(registry: Any, kind: type[Service]) -> Service | None:
    """The application's service of ``kind``, None if no package registers one."""
    service: Service | None = registry.get(kind)
    return service
