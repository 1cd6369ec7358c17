"""The archive of what is stored about an account: what each package collects of it, and the files (C-DAT-2)."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final
from zipfile import ZIP_DEFLATED

import msgspec
from sqlalchemy import select
from zipstream import ZipStream

from modhub.base.errors import ApiError
from modhub.base.service_registry import find_optional_service, find_service
from modhub.blobs.models import StoredBlob
from modhub.blobs.store import COPY_BYTES, BlobStore
from modhub.content.portable_names import portable_name
from modhub.db import Databases, bulk, iso, now
from modhub.plugins.declarations import Declarations

FILES_FOLDER: Final = "files"
"""The folder of the files in the archive."""
ARCHIVE_ABOUT: Final = (
    "What this service stores about your account. Each document is JSON in UTF-8; times are UTC. Not in here: what "
    "others wrote, passwords, codes and keys, which are only stored hashed or sealed, and notes of the operator."
)


def personal_archive(registry: Any, account_id: int) -> Iterator[bytes]:
    """The zip archive for the person whose account it is, piece by piece, as it is read and never whole.

    First the documents, then the files one by one, and last what the archive is, with the files that could not be read.
    No session is open while the reader takes a piece.
    """
    databases, zipped = find_service(registry, Databases), ZipStream()
    documents, files = list[str](), dict[str, int]()
    for name, collect in sorted(find_service(registry, Declarations).personal_data.items()):
        with databases.readonly_session() as session:
            collected = collect(session, account_id)
        if collected is not None:
            documents.append(f"{name}.json")
            files |= {_safe_path(path): blob_id for path, blob_id in collected.files.items()}
            zipped.add(**_document(documents[-1], collected.document))
            yield from zipped.all_files()
    missing = list[str]()
    store = find_optional_service(registry, BlobStore)
    for path, blob in _find_blobs(databases, files):
        try:
            source = None if store is None or blob is None else store.open(blob.key, blob.size, blob.sha256)
        except ApiError:
            source = None
        if source is None or blob is None:
            missing.append(path)
            continue
        with source:
            zipped.add(iter(partial(source.read, COPY_BYTES), b""), path, size=blob.size)
            yield from zipped.all_files()
    about = {
        "about": ARCHIVE_ABOUT,
        "service": registry.settings["modhub.base_url"],
        "accountId": account_id,
        "madeAt": iso(now()),
        "documents": documents,
        "files": len(files) - len(missing),
        "missingFiles": missing,
    }
    zipped.add(**_document("about.json", about))
    yield from zipped.finalize()


def _safe_path(path: str) -> str:
    """The path below the folder of files, each part a name that every system can unpack."""
    return "/".join([FILES_FOLDER, *map(portable_name, path.split("/"))])


def _find_blobs(databases: Databases, files: dict[str, int]) -> Iterator[tuple[str, StoredBlob | None]]:
    for batch in bulk.batches(files.items()):
        with databases.readonly_session() as session:
            found = session.scalars(select(StoredBlob).where(StoredBlob.id.in_([blob_id for _, blob_id in batch])))
            blobs_by_id = {blob.id: blob for blob in found}
        yield from ((path, blobs_by_id.get(blob_id)) for path, blob_id in batch)


def _document(name: str, document: Any) -> dict[str, Any]:
    """A document as a member: it is written twice, so that its size is known and its text is never whole in memory."""
    size = sum(map(len, _json_pieces(document)))
    return {"data": _json_pieces(document), "arcname": name, "size": size, "compress_type": ZIP_DEFLATED}


def _json_pieces(document: Any) -> Iterator[bytes]:
    if not isinstance(document, list):
        yield _json(document)
        return
    yield b"["
    for number, item in enumerate(document):
        yield (b",\n" if number else b"\n") + _json(item)
    yield b"\n]"


def _json(document: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=1)
