"""Background work beside the server: functions that run now and then, in a thread each (``config.add_worker``).

They run in processes that serve; commands and tests that only configure an application start none.
"""

import logging
import secrets
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic
from typing import Any, Final

from prometheus_client import Gauge
from pyramid.config import Configurator
from sqlalchemy.exc import SQLAlchemyError

from modhub.base.errors import ApiError
from modhub.base.service_registry import find_service
from modhub.base.system_faults import is_system_fault
from modhub.blobs.operator_reasons import failure_sentence
from modhub.db import Databases, database_errors, is_transient
from modhub.plugins.declarations import Declarations, Worker
from modhub.plugins.events import ApplicationStarted, ApplicationStopped
from modhub.plugins.leases import LEASE_SECONDS, HeldLease, LeaseLost, expired_seconds

log = logging.getLogger(__name__)
FIRST_SECONDS: Final = 5.0
"""A worker begins this long after the start, or after its own pause if that is shorter."""
LONGEST_FAILURE_PAUSE: Final = 30.0
"""The pause of a worker whose rounds fail doubles up to this, if its own is not longer."""
STOP_SECONDS: Final = 30.0
"""How long a process that stops waits for all rounds that run."""
EXPIRED_SECONDS: Final = 600.0
"""A lease that expired longer ago than this is a finding of ``modhub-admin doctor``."""


FAILED_ROUNDS: Final = Gauge(
    "modhub_worker_failed_rounds", "Rounds of background work that have failed since one succeeded.", ["worker"]
)
INTERVAL: Final = Gauge("modhub_worker_interval_seconds", "Seconds between two rounds of background work.", ["worker"])
SUCCEEDED_AT: Final = Gauge(
    "modhub_worker_success_timestamp_seconds",
    "When a round of background work last succeeded here, in seconds since 1970.",
    ["worker"],
)


class RoundFailed(Exception):
    """A round failed for a reason that the operator should read: the message is logged."""


class Stopping(Exception):
    """The process stops: a long round ends early. It is not a failure."""


@dataclass(slots=True)
class Workers:
    """The workers of a process that serves."""

    holder: str = field(default_factory=lambda: secrets.token_hex(16))
    """Names this process in the leases."""
    failed: dict[str, int] = field(default_factory=dict)
    """How many rounds of each worker have failed since one succeeded."""
    _stopping: Event = field(default_factory=Event)
    _threads: list[Thread] = field(default_factory=list)

    @property
    def is_stopping(self) -> bool:
        """Whether rounds should end."""
        return self._stopping.is_set()

    def start(self, registry: Any, workers: list[Worker]) -> None:
        """Start a thread for each."""
        for worker in workers:
            thread = Thread(target=self._work, args=(registry, worker), name=f"modhub {worker.name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop all threads, and wait until their rounds have ended, but no longer than `STOP_SECONDS`."""
        self._stopping.set()
        deadline = monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - monotonic()))

    def _work(self, registry: Any, worker: Worker) -> None:
        pause = min(worker.every, FIRST_SECONDS)
        while not self._stopping.wait(pause):
            succeeded = self.run_round(registry, worker)
            pause = worker.every if succeeded else min(2 * pause, max(worker.every, LONGEST_FAILURE_PAUSE))
        if worker.at_stop:
            self.run_round(registry, worker)
        if worker.alone:
            # Otherwise another process takes it when it has expired.
            with suppress(SQLAlchemyError):
                self._lease(registry, worker).release()

    def run_round(self, registry: Any, worker: Worker) -> bool:
        """Run one round, unless another process has the lease of it; False if it failed."""
        try:
            lease = self._lease(registry, worker) if worker.alone else None
            if lease is not None and not lease.take():
                self._note(worker, 0)
                SUCCEEDED_AT.remove(worker.name)  # another process works
                return True
            with nullcontext() if lease is None else lease.working():
                worker.run(registry)
        except Stopping:
            return True
        except Exception as error:  # noqa: BLE001 - the thread must survive any error
            if not self.failed.get(worker.name):
                _log_failure(registry, worker, error)
            self._note(worker, self.failed.get(worker.name, 0) + 1)
            return False
        if self.failed.get(worker.name):
            log.info("%s go on", worker.name)
        self._note(worker, 0)
        SUCCEEDED_AT.labels(worker.name).set_to_current_time()
        return True

    def _note(self, worker: Worker, failed: int) -> None:
        self.failed[worker.name] = failed
        FAILED_ROUNDS.labels(worker.name).set(failed)
        INTERVAL.labels(worker.name).set(worker.every)

    def _lease(self, registry: Any, worker: Worker) -> HeldLease:
        return HeldLease(find_service(registry, Databases), worker.name, self.holder, worker.every + LEASE_SECONDS)


def _log_failure(registry: Any, worker: Worker, error: Exception) -> None:
    """Log the first failure of several: what is expected with its reason, anything else with its traceback."""
    if isinstance(error, ApiError):
        log.warning("%s wait: %s", worker.name, failure_sentence(error))
    elif isinstance(error, RoundFailed | LeaseLost):
        log.warning("%s wait: %s", worker.name, error)
    elif is_system_fault(error):
        log.warning("%s wait: %s", worker.name, error.strerror)
    elif is_transient(error):
        url = find_service(registry, Databases).write_engine.url
        reason = database_errors.driver_reason(error, url)
        log.warning("%s wait: the database is not available: %s", worker.name, reason)
    else:
        log.warning("%s wait: %s", worker.name, type(error).__name__, exc_info=error)


def is_stopping(registry: Any) -> bool:
    """Whether the process stops: a long round should end."""
    return find_service(registry, Workers).is_stopping


def raise_if_stopping(registry: Any) -> None:
    """End the round with `Stopping` if the process stops."""
    if is_stopping(registry):
        raise Stopping


def _start(event: ApplicationStarted) -> None:
    find_service(event.registry, Workers).start(event.registry, find_service(event.registry, Declarations).workers)


def _stop(event: ApplicationStopped) -> None:
    find_service(event.registry, Workers).stop()


def find_worker_problems(admin: Any) -> Iterator[str]:
    """Workers that only one process may run, and that none has run for minutes."""
    if admin.databases.has_no_file:
        return
    for worker in admin.declarations.workers:
        expired = expired_seconds(admin.databases, worker.name) if worker.alone else None
        if expired is not None and expired > EXPIRED_SECONDS:
            yield f"no process has run the worker of {worker.name} for {expired / 60:.0f} minutes: is modhub running?"


def includeme(config: Configurator) -> None:
    """Register the workers of this process, and their start."""
    config.add_service(Workers, Workers())
    config.add_subscriber(_start, ApplicationStarted)
    config.add_subscriber(_stop, ApplicationStopped)
