"""The setting ``modhub.storage`` as a store (C-SET-2): its URL scheme picks one of those of ``add_blob_store``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from modhub.blobs.local import LocalStore
from modhub.blobs.store import BlobStore, BlobStoreFactory


def storage_from_url(
    value: str, factories: Mapping[str, BlobStoreFactory], settings: Mapping[str, Any], *, make: bool = True
) -> BlobStore | None:
    """Open the store that ``value`` names; ``None`` for an empty value (storage is not configured).

    An unknown scheme, and whatever a factory refuses, is a ``ValueError`` whose sentence is fit for the operator.
    """
    value = value.strip()
    if not value:
        return None
    scheme, separator, _ = value.partition("://")
    factory = factories.get(scheme.lower()) if separator else None
    if factory is not None:
        return factory(value, settings, make=make)
    if separator and scheme.lower() == "s3":
        raise ValueError("modhub.storage: s3:// stores are not built yet; use file:///absolute/folder.")
    raise ValueError("modhub.storage: not an address of a store; use file:///absolute/folder.")


def open_local_store(url: str, _settings: Mapping[str, Any], *, make: bool) -> LocalStore:
    """``file:///absolute/folder``, percent-decoded: a folder of this machine.

    ``make`` makes it, mode 0700, when it is missing.
    """
    folder = _folder(url.partition("://")[2])
    try:
        return LocalStore(folder, make=make)
    except OSError as error:
        cause = error.strerror or type(error).__name__
        raise ValueError(f"modhub.storage: the folder {folder} cannot be used: {cause}.") from None


def _folder(rest: str) -> Path:
    """The folder in what follows ``file://``."""
    if not rest.startswith("/"):
        raise ValueError("modhub.storage: a relative folder or a host cannot be used; use file:///absolute/folder.")
    if "?" in rest or "#" in rest:
        raise ValueError("modhub.storage: write ? as %3F and # as %23 in the name of the folder.")
    try:
        path = unquote(rest, errors="strict")
    except UnicodeDecodeError:
        raise ValueError("modhub.storage: the name of the folder is not UTF-8.") from None
    if "\0" in path or ".." in path.split("/") or not path.strip("/"):
        raise ValueError("modhub.storage: this cannot be the name of a folder; use file:///absolute/folder.")
    return Path(path)
