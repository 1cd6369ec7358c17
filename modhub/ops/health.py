"""``/healthz`` and ``/readyz``: for whoever watches the process (C-RUN-8)."""

import logging
import math
from threading import Lock
from time import monotonic
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response
from sqlalchemy import text

from modhub.blobs import BlobStore
from modhub.db import Databases
from modhub.declarations import Declarations
from modhub.interfaces import IRoot
from modhub.payload import encode
from modhub.request import Request
from modhub.server.rules import IBodyRules
from modhub.service_registry import find_optional_service, find_service
from modhub.views import OPEN, page

log = logging.getLogger(__name__)
UNREACHABLE: Final = "unreachable"
KEPT_SECONDS: Final = 2.0
PATIENCE_SECONDS: Final = 5.0


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
    parts = request.find_service(Readiness).parts()
    well = UNREACHABLE not in parts.values()
    return _answer({"status": "ok" if well else "unavailable", **parts}, 200 if well else 503)


class Readiness:
    """What was last found of each part. Asking writes a file and takes a connection, and anybody may ask: so what was
    found counts for a moment, and one request at a time asks again.

    While it asks, the others get what was found before; a part that has not answered for `PATIENCE_SECONDS` is taken
    for unreachable, and nobody waits for it.
    """

    def __init__(self, registry: Any) -> None:
        self._registry = registry
        self._asking = Lock()
        self._found: dict[str, str] = {}
        self._found_at = self._asked_at = -math.inf
        self._part = ""

    def parts(self) -> dict[str, str]:
        """Each part and its state."""
        if monotonic() - self._found_at < KEPT_SECONDS:
            return self._found
        # The very first has nothing else to give.
        if not self._asking.acquire(timeout=0 if self._found else PATIENCE_SECONDS):
            late = monotonic() - self._asked_at >= PATIENCE_SECONDS
            return self._found | ({self._part: UNREACHABLE} if late else {})
        try:
            if monotonic() - self._found_at >= KEPT_SECONDS:
                self._ask_all()
        finally:
            self._asking.release()
        return self._found

    def _ask_all(self) -> None:
        found = {}
        for name, check in find_service(self._registry, Declarations).health_checks.items():
            self._part, self._asked_at = name, monotonic()
            found[name] = _run_check(name, check, self._registry)
        self._found, self._found_at = found, monotonic()


def _run_check(name: str, check: Any, registry: Any) -> str:
    try:
        return check(registry) or "ok"
    except Exception as problem:  # noqa: BLE001 - whatever is wrong, the part is named and the probe answers
        log.warning("not ready: %s (%s)", name, type(problem).__name__)
        return UNREACHABLE


def check_database(registry: Any) -> None:
    """The database answers a statement."""
    with find_service(registry, Databases).readonly_engine.connect() as connection:
        connection.execute(text("SELECT 1"))


def check_storage(registry: Any) -> str | None:
    """The file store can be written; one that is not configured is named and well."""
    store = find_optional_service(registry, BlobStore)
    if store is None:
        return "not configured"
    store.probe()
    return None


def includeme(config: Configurator) -> None:
    """The two checks of the core; ``/healthz`` is answered whatever else waits."""
    config.add_service(Readiness, Readiness(config.registry))
    config.registry.getUtility(IBodyRules).prompt = frozenset({"/healthz"})
    config.add_health_check("database", check_database)
    config.add_health_check("storage", check_storage)
