"""Background work beside the server: functions that run now and then (``config.add_worker``), in three threads.

They run in processes that serve; commands and tests that only configure an application start none.
"""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic
from typing import Any, Final

from prometheus_client import Gauge
from pyramid.config import Configurator
from sqlalchemy.exc import SQLAlchemyError

from modhub.base.errors import ApiError
from modhub.base.service_registry import find_service
from modhub.blobs.operator_reasons import failure_sentence
from modhub.db import Databases, fault_reason
from modhub.plugins.declarations import Declarations, Worker
from modhub.plugins.events import ApplicationStarted
from modhub.plugins.leases import LEASE_SECONDS, HeldLease, LeaseLost, expired_seconds, release_leases

log = logging.getLogger(__name__)
# Any idle thread takes what has been due longest. Long rounds get two threads: the third one sends the emails that
# somebody waits for, and renews the leases of the two.
THREADS: Final = 3
LONG_ROUNDS: Final = 2
ROUND_SECONDS: Final = 20.0
"""A round that could go on without end leaves the rest to the next one after this long (`time_is_up`)."""
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


@dataclass(slots=True, eq=False)
class _Turn:
    """When the next round of a worker is due; ``pause`` is what it waits before that."""

    worker: Worker
    pause: float
    due: float


@dataclass(slots=True)
class Workers:
    """The workers of a process that serves."""

    holder: str = field(default_factory=lambda: secrets.token_hex(16))
    """Names this process in the leases."""
    failed: dict[str, int] = field(default_factory=dict)
    """How many rounds of each worker have failed since one succeeded."""
    is_stopping: bool = False
    """Whether rounds should end."""
    _changed: Condition = field(default_factory=Condition)
    """Guards what follows, and tells the threads that it has changed."""
    _waiting: list[_Turn] = field(default_factory=list)
    _long_rounds: int = 0
    _leases: dict[str, HeldLease] = field(default_factory=dict)
    """Those of the rounds that run."""
    _threads: list[Thread] = field(default_factory=list)

    def start(self, registry: Any, workers: list[Worker]) -> None:
        """Run the rounds of these workers until `stop`."""
        renewal = Worker("leases", self._renew_leases, LEASE_SECONDS / 3, long=False, alone=False, at_stop=False)
        for worker in (renewal, *workers):
            pause = min(worker.every, FIRST_SECONDS)
            self._waiting.append(_Turn(worker, pause, monotonic() + pause))
        for number in range(THREADS):
            name = f"modhub worker {number + 1}"
            self._threads.append(Thread(target=self._work, args=(registry,), name=name, daemon=True))
            self._threads[-1].start()

    def stop(self) -> None:
        """Let the rounds end and those ``at_stop`` run, and wait for them, but no longer than `STOP_SECONDS`."""
        with self._changed:
            self.is_stopping = True
            self._changed.notify_all()
        deadline = monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - monotonic()))

    def _work(self, registry: Any) -> None:
        while turn := self._take_turn():
            is_last = self.is_stopping
            succeeded = self.run_round(registry, turn.worker)
            self._end_turn(turn, succeeded, is_last=is_last)
        # What still runs is taken by another process when it has expired.
        with suppress(SQLAlchemyError):
            release_leases(find_service(registry, Databases), self.holder, list(self._leases))

    def _take_turn(self) -> _Turn | None:
        """Wait for a round that is due; None if there will be none, because the process stops."""
        with self._changed:
            while not self.is_stopping:
                is_full = self._long_rounds == LONG_ROUNDS
                free = [turn for turn in self._waiting if not (turn.worker.long and is_full)]
                first = min(free, key=lambda turn: turn.due, default=None)
                wait = None if first is None else first.due - monotonic()
                if wait is not None and wait <= 0:
                    break
                self._changed.wait(wait)
            else:
                # A lease outlasts `STOP_SECONDS`: nobody renews it any more.
                first = next((turn for turn in self._waiting if turn.worker.at_stop), None)
            if first is not None:
                self._waiting.remove(first)
                self._long_rounds += first.worker.long
            return first

    def _end_turn(self, turn: _Turn, succeeded: bool, *, is_last: bool) -> None:
        every = turn.worker.every
        with self._changed:
            self._long_rounds -= turn.worker.long
            turn.pause = every if succeeded else min(2 * turn.pause, max(every, LONGEST_FAILURE_PAUSE))
            turn.due = monotonic() + turn.pause
            if not is_last:
                self._waiting.append(turn)
            self._changed.notify_all()

    def _renew_leases(self, _registry: Any) -> None:
        """A round like the others. If it fails, the next one is in time, or a transaction finds its lease lost."""
        for lease in list(self._leases.values()):
            lease.take()

    def run_round(self, registry: Any, worker: Worker) -> bool:
        """Run one round, unless another process has the lease of it; False if it failed."""
        try:
            lease = self._lease(registry, worker) if worker.alone else None
            if lease is not None and not lease.take():
                self._note(worker, 0)
                SUCCEEDED_AT.remove(worker.name)  # another process works
                return True
            with nullcontext() if lease is None else lease.working(self._leases):
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
    elif reason := fault_reason(error, find_service(registry, Databases).write_engine.url):
        log.warning("%s wait: %s", worker.name, reason)
    else:
        log.warning("%s wait: %s", worker.name, type(error).__name__, exc_info=error)


def is_stopping(registry: Any) -> bool:
    """Whether the process stops: a long round should end."""
    return find_service(registry, Workers).is_stopping


def raise_if_stopping(registry: Any) -> None:
    """End the round with `Stopping` if the process stops."""
    if is_stopping(registry):
        raise Stopping


def time_is_up(registry: Any) -> Callable[[], bool]:
    """Whether the round that begins now should leave the rest to the next one: asked between two pieces of work.

    The process stops, or the round has taken `ROUND_SECONDS`: others wait for its thread.
    """
    end = monotonic() + ROUND_SECONDS
    return lambda: is_stopping(registry) or monotonic() > end


def _start(event: ApplicationStarted) -> None:
    find_service(event.registry, Workers).start(event.registry, find_service(event.registry, Declarations).workers)


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
