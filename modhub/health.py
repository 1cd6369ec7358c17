"""``/healthz`` and ``/readyz``: for whoever watches the process (decisions 8.4)."""

import logging
from typing import Any

from pyramid.config import Configurator
from pyramid.response import Response
from sqlalchemy import text

from modhub.interfaces import IRoot
from modhub.payload import encode
from modhub.request import Request
from modhub.views import OPEN, page

log = logging.getLogger(__name__)


def _answer(value: object, status: int = 200) -> Response:
    response = Response(encode(value), status, content_type="application/json", charset=None)
    response.headers["Cache-Control"] = "no-store"
    return response


@page(context=IRoot, name="healthz", request_method="GET", permission=OPEN)
def healthz(_context: Any, _request: Request) -> Response:
    """The process is alive; nothing else is asked."""
    return _answer({"status": "ok"})


@page(context=IRoot, name="readyz", request_method="GET", permission=OPEN)
def readyz(_context: Any, request: Request) -> Response:
    """Each part by name; 503 when one cannot be had."""
    parts = {name: _ask(name, check, request.registry) for name, check in request.registry.health_checks.items()}
    well = "unreachable" not in parts.values()
    return _answer({"status": "ok" if well else "unavailable", **parts}, 200 if well else 503)


def _ask(name: str, check: Any, registry: Any) -> str:
    try:
        return check(registry) or "ok"
    except Exception as problem:  # noqa: BLE001 - whatever is wrong, the part is named and the probe answers
        log.warning("not ready: %s (%s)", name, type(problem).__name__)
        return "unreachable"


def check_database(registry: Any) -> None:
    """The database answers a statement."""
    with registry.databases.reader.connect() as connection:
        connection.execute(text("SELECT 1"))


def check_storage(registry: Any) -> str | None:
    """The file store can be written; one that is not configured is named and well."""
    if registry.blob_store is None:
        return "not configured"
    registry.blob_store.probe()
    return None


def includeme(config: Configurator) -> None:
    """The two checks of the core."""
    config.add_health_check("database", check_database)
    config.add_health_check("storage", check_storage)
