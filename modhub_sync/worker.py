"""The server's own schedule of snapshots."""

from typing import Any, Final

from modhub.base.service_registry import find_optional_service, find_service
from modhub.blobs import BlobStore
from modhub.events import ModsHidden
from modhub.workers import raise_if_stopping
from modhub_sync.snapshots import SnapshotMaker

CHECK_SECONDS: Final = 60.0


def replace_snapshot(event: ModsHidden) -> None:
    """Make a snapshot without the hidden mods at once, if there is one that has them."""
    store = find_optional_service(event.registry, BlobStore)
    if store is not None:
        find_service(event.registry, SnapshotMaker).make_if_due(store, 0)


def make_snapshot(registry: Any) -> None:
    """The worker that makes a snapshot if one is due; one process at a time."""
    store = find_optional_service(registry, BlobStore)
    if store is not None:
        hours = registry.settings["modhub_sync.snapshot_hours"]
        find_service(registry, SnapshotMaker).make_if_due(store, hours, lambda: raise_if_stopping(registry))
