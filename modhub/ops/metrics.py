"""What the core measures about the database, the file store and the parts that ``/readyz`` checks."""

import platform
from importlib.metadata import version
from typing import Any

from pyramid.config import Configurator
from sqlalchemy import func, select

from modhub.base.metrics import COUNTER, LabelValues
from modhub.base.service_registry import find_optional_service, find_service
from modhub.blobs.models import StoredBlob
from modhub.blobs.timing import OperationTimes, StoreTimes
from modhub.db import Databases
from modhub.ops.free_space import STORE, TEMPORARY
from modhub.ops.health import UNREACHABLE, Readiness, free_bytes_now


def _connections(registry: Any) -> dict[LabelValues, float]:
    databases = find_service(registry, Databases)
    engines = {
        "write": databases.write_engine,
        "read": databases.readonly_engine,
        "best_effort": databases.best_effort_engine,
    }
    states: dict[LabelValues, float] = {("raw_queries", "idle"): databases.raw_queries.idle_count}
    for name, engine in engines.items():
        pool: Any = engine.pool
        if hasattr(pool, "checkedin"):
            states[name, "busy"], states[name, "idle"] = pool.checkedout(), pool.checkedin()
    return states


def _part_states(registry: Any) -> dict[LabelValues, float]:
    states = find_service(registry, Readiness).states()
    return {name: float(state != UNREACHABLE) for name, state in states.items()}


def _store_free_bytes(registry: Any) -> float | None:
    return free_bytes_now(registry).get(STORE)


def _temporary_free_bytes(registry: Any) -> float | None:
    return free_bytes_now(registry).get(TEMPORARY)


def _files(registry: Any) -> dict[LabelValues, float]:
    return _sums_of_files(registry, func.count())


def _file_bytes(registry: Any) -> dict[LabelValues, float]:
    return _sums_of_files(registry, func.sum(StoredBlob.size))


def _sums_of_files(registry: Any, aggregate: Any) -> dict[LabelValues, float]:
    is_trashed = StoredBlob.trashed_at.is_not(None)
    sums = select(aggregate.filter(~is_trashed), aggregate.filter(is_trashed))
    with find_service(registry, Databases).readonly_session() as session:
        used, trashed = session.execute(sums).one()
    return {"used": float(used or 0), "trashed": float(trashed or 0)}


def _store_calls(registry: Any) -> dict[LabelValues, float]:
    return {name: times.calls for name, times in _store_times(registry).items()}


def _store_seconds(registry: Any) -> dict[LabelValues, float]:
    return {name: times.seconds for name, times in _store_times(registry).items()}


def _store_errors(registry: Any) -> dict[LabelValues, float]:
    return {name: times.errors for name, times in _store_times(registry).items()}


def _store_times(registry: Any) -> dict[str, OperationTimes]:
    measured = find_optional_service(registry, StoreTimes)
    return {} if measured is None else measured.times()


def _build_info(_registry: Any) -> dict[LabelValues, float]:
    return {(version("modhub"), platform.python_version()): 1.0}


def includeme(config: Configurator) -> None:
    """Declare the metrics."""
    config.add_metric(
        "database_connections", "Database connections of this process.", _connections, labels=("pool", "state")
    )
    config.add_metric("part_up", "1 if /readyz reaches the part, else 0.", _part_states, labels=("part",))
    for name, help_text, read in (
        ("store_operations_total", "Calls to the file store.", _store_calls),
        ("store_operation_seconds_total", "Seconds that they took.", _store_seconds),
        ("store_errors_total", "Those that failed.", _store_errors),
    ):
        config.add_metric(name, help_text, read, kind=COUNTER, labels=("operation",))
    config.add_metric("store_files", "Files in the store, of all processes.", _files, labels=("state",))
    config.add_metric("store_bytes", "Bytes of those files.", _file_bytes, labels=("state",))
    config.add_metric("store_free_bytes", "Free bytes of the disk of the files.", _store_free_bytes)
    config.add_metric(
        "temporary_free_bytes", "Free bytes of the temporary folder, if it is on another disk.", _temporary_free_bytes
    )
    config.add_metric("build_info", "1, with the versions of this process.", _build_info, labels=("version", "python"))
