"""The server's own schedule of snapshots: a thread in each process; one of them makes the snapshot."""

import logging
from typing import Any, Final

from modhub.blobs import BlobStore
from modhub.service_registry import find_optional_service, find_service
from modhub.worker_threads import WorkerThread
from modhub_sync.snapshots import SnapshotMaker

log = logging.getLogger(__name__)
CHECK_SECONDS: Final = 60.0
FIRST_SECONDS: Final = 5.0
STOP_SECONDS: Final = 5.0


class SnapshotWorker:
    """Looks every minute whether a snapshot is due."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry
        self._thread = WorkerThread("modhub snapshots", self._run, stop_seconds=STOP_SECONDS)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start(FIRST_SECONDS)

    def stop(self) -> None:
        """End the thread; a snapshot that takes longer is given up, and the sweep removes what is left of it."""
        self._thread.stop()

    def _run(self, _wait: float, *, clean_up: bool) -> float:  # noqa: ARG002 - nothing to clean up
        self.run_once()
        return CHECK_SECONDS

    def run_once(self) -> bool:
        """Make a snapshot if one is due; errors are logged, and the next minute is another chance."""
        store = find_optional_service(self._registry, BlobStore)
        if store is None:
            return False
        try:
            hours = self._registry.settings["modhub_sync.snapshot_hours"]
            return find_service(self._registry, SnapshotMaker).make_if_due(store, hours)
        except Exception as error:  # noqa: BLE001 - the thread must survive any error
            log.warning("the snapshot waits: %s", type(error).__name__)
            return False
