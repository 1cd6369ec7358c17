"""Free bytes of the disks to which the service writes, to be seen before an upload fails (C-RUN-28)."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from modhub.blobs.factory import local_folder

STORE: Final = "storage"
TEMPORARY: Final = "temporary"


def free_bytes(settings: Mapping[str, Any]) -> dict[str, int]:
    """The free bytes of the folder of files, and of the temporary folder if that is on another file system.

    An object store and a folder that is gone have none. Where a disk hangs, this hangs too.
    """
    store, temporary = local_folder(settings["modhub.storage"]), Path(tempfile.gettempdir())
    folders = {} if store is None else {STORE: store}
    if store is None or _device(store) != _device(temporary):
        folders[TEMPORARY] = temporary
    return {name: size for name, folder in folders.items() if (size := _free(folder)) is not None}


def _device(folder: Path) -> int | None:
    try:
        return folder.stat().st_dev
    except OSError:
        return None


def _free(folder: Path) -> int | None:
    """What a user without privileges may still write."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return None
    return status.f_bavail * status.f_frsize
