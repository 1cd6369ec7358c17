"""The server's own schedule of digests: a thread in each process; one of them works at a time."""

import logging
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import update

from modhub import bulk
from modhub.db import Databases, now
from modhub.service_registry import find_service
from modhub.worker_threads import WorkerThread
from modhub_following.digests import DigestMaker
from modhub_following.models import DigestLease

log = logging.getLogger(__name__)
LOOK_SECONDS: Final = 60.0
SETTLED: Final = timedelta(minutes=10)
"""A digest has only versions that are this old: authors write what changed after they have uploaded."""
DIGEST_LEASE: Final = timedelta(minutes=30)
"""After this a process that is sending digests counts as dead."""
JOIN_SECONDS: Final = 5.0


class DigestWorker:
    """Looks every minute whether digests are due."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry
        self._databases = find_service(registry, Databases)
        self._thread = WorkerThread("modhub digests", self._run, stop_seconds=JOIN_SECONDS)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start(LOOK_SECONDS)

    def stop(self) -> None:
        """End the thread. A digest that it is queueing is queued whole or not at all."""
        self._thread.stop()

    def _run(self, _wait: float, *, clean_up: bool) -> float:  # noqa: ARG002 - nothing to clean up
        self.run_once()
        return LOOK_SECONDS

    def run_once(self) -> int:
        """Queue the digests that are due and return their number; errors are logged, the next minute tries again."""
        try:
            if not self._lease():
                return 0
            try:
                return len(find_service(self._registry, DigestMaker).run(settled=SETTLED))
            finally:
                self._release()
        except Exception as error:  # noqa: BLE001 - the thread must survive any error
            log.warning("digests wait: %s", type(error).__name__)
            return 0

    def _lease(self) -> bool:
        """Take the lease; False while another process has it. One far in the future is of a clock that was set back."""
        time = now()
        is_free = (DigestLease.until <= time) | (DigestLease.until > time + 2 * DIGEST_LEASE)
        return self._update_lease(update(DigestLease).where(is_free).values(until=time + DIGEST_LEASE))

    def _release(self) -> None:
        self._update_lease(update(DigestLease).values(until=now()))

    def _update_lease(self, statement: Any) -> bool:
        with self._databases.write_session.begin() as session:
            return bulk.execute_bulk(session, statement) == 1
