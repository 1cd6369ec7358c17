"""The server's own schedule of snapshots: a thread in each process; one of them makes the snapshot."""

import atexit
import logging
import threading
from typing import Any, Final

from modhub.blobs import BlobStore
from modhub.service_registry import find_optional_service, find_service
from modhub_sync.snapshots import SnapshotMaker

log = logging.getLogger(__name__)
CHECK_SECONDS: Final = 60.0
FIRST_SECONDS: Final = 5.0
STOP_SECONDS: Final = 5.0


class SnapshotWorker:
    """Looks every minute whether a snapshot is due."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="modhub snapshots", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the thread; a snapshot that takes longer is given up, and the sweep removes what is left of it."""
        atexit.unregister(self.stop)
        self._stop.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        wait = FIRST_SECONDS
        while not self._stop.wait(wait):
            wait = CHECK_SECONDS
            self.run_once()

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
