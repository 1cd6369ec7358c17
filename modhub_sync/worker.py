"""The server's own schedule of snapshots."""

import logging
from typing import Any, Final

from modhub.base.errors import ApiError
from modhub.base.service_registry import find_optional_service
from modhub.blobs import BlobStore
from modhub.plugins.workers import raise_if_stopping
from modhub_sync.snapshots import SnapshotMaker

log = logging.getLogger(__name__)
CHECK_SECONDS: Final = 60.0


class Snapshots:
    """See :class:`modhub.plugins.services.ISnapshots`."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry

    def replace_hidden(self) -> None:
        """Make a snapshot at once; if the files cannot be stored now, the worker makes it as soon as they can."""
        store = find_optional_service(self._registry, BlobStore)
        if store is not None:
            try:
                SnapshotMaker(self._registry).make_if_due(store, 0)
            except (ApiError, OSError) as error:
                log.warning("the snapshot without the hidden mods waits: %s", error)


def make_snapshot(registry: Any) -> None:
    """The worker that makes a snapshot if one is due; one process at a time."""
    store = find_optional_service(registry, BlobStore)
    if store is not None:
        hours = registry.settings["modhub_sync.snapshot_hours"]
        SnapshotMaker(registry).make_if_due(store, hours, lambda: raise_if_stopping(registry))
