"""``/healthz`` and ``/readyz``, for monitoring (C-RUN-8)."""

import logging
import math
from threading import Lock
from time import monotonic
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.response import Response
from sqlalchemy.exc import SQLAlchemyError

from modhub.admin import observations
from modhub.admin.free_space import STORE, free_bytes
from modhub.base.errors import ApiError
from modhub.base.service_registry import find_optional_service, find_service
from modhub.blobs import BlobStore
from modhub.blobs.operator_reasons import failure_sentence
from modhub.db import Databases, database_errors
from modhub.plugins.declarations import Declarations, DeclaredCheck
from modhub.plugins.resources import IRoot
from modhub.web.payload import json_response
from modhub.web.request import Request
from modhub.web.views import OPEN, page

log = logging.getLogger(__name__)
UNREACHABLE: Final = "unreachable"
CACHE_SECONDS: Final = 2.0
CHECK_TIMEOUT_SECONDS: Final = 5.0
NOT_READY_SECONDS: Final = 5


@page(context=IRoot, name="healthz", request_method="GET", permission=OPEN)
def healthz(_context: Any, _request: Request) -> Response:
    """The process is alive; nothing else is checked."""
    return json_response({"status": "ok"})


@page(context=IRoot, name="readyz", request_method="GET", permission=OPEN)
def readyz(_context: Any, request: Request) -> Response:
    """The state of each part by name, and the free bytes of its disks; 503 if a part is unreachable."""
    states = request.find_service(Readiness).states()
    is_ready = UNREACHABLE not in states.values()
    summary = {"status": "ok" if is_ready else "unavailable", **states, "freeBytes": free_bytes_now(request.registry)}
    response = json_response(summary, 200 if is_ready else 503)
    if not is_ready:
        response.retry_after = NOT_READY_SECONDS
    return response


class Readiness:
    """The last state of each part. A check writes a file and takes a connection, and anybody may call: so states are
    cached for a moment, and only one request at a time checks again.

    Meanwhile other requests get the previous states. A part that has not responded for `CHECK_TIMEOUT_SECONDS` counts
    as unreachable, and no request waits for it.
    """

    def __init__(self, registry: Any) -> None:
        self._registry = registry
        self._checking = Lock()
        self._states: dict[str, str] = {}
        self._checked_at = self._started_at = -math.inf
        self._current_part = ""
        self._failing: dict[str, str] = {}

    def states(self) -> dict[str, str]:
        """Each part and its state."""
        if monotonic() - self._checked_at < CACHE_SECONDS:
            return self._states
        # The first request has no previous states to return.
        if not self._checking.acquire(timeout=0 if self._states else CHECK_TIMEOUT_SECONDS):
            timed_out = monotonic() - self._started_at >= CHECK_TIMEOUT_SECONDS
            return self._states | ({self._current_part: UNREACHABLE} if timed_out else {})
        try:
            if monotonic() - self._checked_at >= CACHE_SECONDS:
                self._check_all()
        finally:
            self._checking.release()
        return self._states

    def _check_all(self) -> None:
        states = {}
        for check in find_service(self._registry, Declarations).checks_at("ready"):
            self._current_part, self._started_at = check.name, monotonic()
            states[check.name] = self._run_check(check)
        self._states, self._checked_at = states, monotonic()

    def _run_check(self, check: DeclaredCheck) -> str:
        """Run one check. A failure is logged when it begins and when its reason changes, not at every probe."""
        try:
            with find_service(self._registry, Databases).readonly_session() as session:
                reason = "; ".join(check.run(self._registry, session))
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the part is named and the probe gets a response
            reason = _reason(error, self._registry)
        before = self._failing.pop(check.name, "")
        if reason:
            if before != reason:
                log.warning("not ready: %s (%s)", check.name, reason)
            self._failing[check.name] = reason
            return UNREACHABLE
        if before:
            log.info("ready again: %s", check.name)
        is_absent = check.name == STORE and find_optional_service(self._registry, BlobStore) is None
        return "not configured" if is_absent else "ok"


def _reason(error: Exception, registry: Any) -> str:
    if isinstance(error, ApiError):
        return failure_sentence(error).rstrip(".")
    if isinstance(error, SQLAlchemyError):
        return database_errors.driver_reason(error, find_service(registry, Databases).write_engine.url)
    return type(error).__name__


def free_bytes_now(registry: Any) -> dict[str, int]:
    """The free bytes by folder, but not of a store that is unreachable: its disk may hang."""
    states = find_service(registry, Readiness).states()
    return {} if states.get(STORE) == UNREACHABLE else free_bytes(registry.settings)


def check_database(registry: Any, _session: Any) -> tuple[()]:
    """Commit a row: a database that is full, read-only or locked can still be read."""
    with find_service(registry, Databases).write_session.begin() as session:
        observations.record_written(session)
    return ()


def check_storage(registry: Any, _session: Any) -> tuple[()]:
    """Write to the file store; an unconfigured one is reported as such and counts as fine."""
    store = find_optional_service(registry, BlobStore)
    if store is not None:
        store.probe()
    return ()


def includeme(config: Configurator) -> None:
    """Register the checks of the core. Overlays in browsers ask whether the service is there."""
    config.add_cross_origin("/healthz")
    config.add_service(Readiness, Readiness(config.registry))
    config.add_check("database", check_database, when=("ready",))
    config.add_check(STORE, check_storage, when=("ready",))
