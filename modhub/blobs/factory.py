"""Open the store of the setting ``modhub.storage`` (C-SET-2): the URL scheme selects a registered factory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyramid.path import DottedNameResolver

from modhub.blobs.local import LocalStore
from modhub.blobs.store import BlobStore, BlobStoreFactory


def storage_from_url(
    value: str, factories: Mapping[str, BlobStoreFactory | str], settings: Mapping[str, Any], *, make: bool = True
) -> BlobStore | None:
    """Open the store at ``value``; ``None`` if it is empty (storage is not configured).

    ``ValueError`` with a message for the operator for an unknown scheme, or if the factory cannot open the store.
    """
    value = value.strip()
    if not value:
        return None
    scheme, separator, _ = value.partition("://")
    factory = factories.get(scheme.lower()) if separator else None
    if factory is None:
        raise ValueError("modhub.storage: not a supported URL; use file:///absolute/folder or s3://bucket/prefix.")
    try:
        # Its dotted name is enough for one that may need an optional library.
        open_store = DottedNameResolver().maybe_resolve(factory)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"modhub.storage: {scheme}:// needs the Python module {error.name}, which is not installed."
        ) from None
    store: BlobStore = open_store(value, settings, make=make)
    return store


def open_local_store(url: str, settings: Mapping[str, Any], *, make: bool) -> LocalStore:
    """``file:///absolute/folder``, percent-decoded: a folder on this machine.

    ``make`` creates it with mode 0700 if it is missing, 0750 if a proxy sends the files (``modhub.accel_redirect``).
    """
    folder = _parse_folder(url.partition("://")[2])
    try:
        return LocalStore(folder, make=make, proxy_location=settings.get("modhub.accel_redirect", ""))
    except OSError as error:
        cause = error.strerror or type(error).__name__
        raise ValueError(f"modhub.storage: the folder {folder} cannot be used: {cause}.") from None


def local_folder(url: str) -> Path | None:
    """The folder of a valid ``modhub.storage`` on this machine, else None."""
    scheme, _, encoded = url.strip().partition("://")
    return _parse_folder(encoded) if scheme.lower() == "file" else None


def is_missing_folder(url: str) -> bool:
    """Whether ``url`` is a folder that nobody has made yet. Opening it with ``make`` makes it."""
    folder = local_folder(url)
    return folder is not None and not folder.exists()


def _parse_folder(encoded: str) -> Path:
    """Parse the part of the URL after ``file://``."""
    if not encoded.startswith("/"):
        raise ValueError(
            "modhub.storage: a relative path or a host name is not supported; use file:///absolute/folder."
        )
    if "?" in encoded or "#" in encoded:
        raise ValueError("modhub.storage: write ? as %3F and # as %23 in the folder name.")
    try:
        path = unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        raise ValueError("modhub.storage: the folder name is not valid UTF-8.") from None
    if "\0" in path or ".." in path.split("/") or not path.strip("/"):
        raise ValueError("modhub.storage: not a valid folder name; use file:///absolute/folder.")
    return Path(path)
