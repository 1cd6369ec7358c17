"""The folder of a backup and its manifest, which names every table file with its SHA-256.

``manifest.json`` and its hash are written last: a folder without them is an unfinished backup.
"""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from modhub.base.settings import StartRefused

MANIFEST_FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
MANIFEST_HASH: Final = "manifest.sha256"
TABLES: Final = "tables"
FILES: Final = "files"
FILE_MODE: Final = 0o400
"""Nobody writes to a file of a backup again: other backups may share it."""


class Column(msgspec.Struct):
    """A column and how its values are written: ``integer``, ``float``, ``boolean``, ``text``, ``bytes``, ``json``."""

    name: str
    kind: str


class TableEntry(msgspec.Struct):
    """A table: its columns in the order of the values in each line, and the file that holds them."""

    name: str
    columns: list[Column]
    rows: int
    sha256: str
    last_id: int | None
    """The highest id ever given out, where the database counts them: ids are not reused (C-MOD-2)."""


class Manifest(msgspec.Struct):
    """What a backup holds, and what restoring it needs."""

    format: int
    created_at: str
    modhub: str
    database: str
    base_url: str
    secrets: list[str]
    """Fingerprints of ``modhub.secret``, never the secrets themselves."""
    revisions: dict[str, list[str]]
    """The revision of the tables of each package."""
    tables: list[TableEntry]
    files: int
    bytes: int
    damaged: list[str]
    """The keys of the files that the store did not have whole."""


def table_file(folder: Path, name: str) -> Path:
    """The file with the rows of a table, one JSON array a line."""
    return folder / TABLES / f"{name}.jsonl"


def blob_file(folder: Path, key: str) -> Path:
    """The copy of a stored file."""
    return folder / FILES / key[:2] / key[2:]


def make_backup_folder(folder: Path) -> None:
    """Create the folder for a new backup, for its owner only. Raises `StartRefused` if it is not empty."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_used_folder(folder)
        folder.chmod(0o700)
        (folder / TABLES).mkdir(mode=0o700)
        (folder / FILES).mkdir(mode=0o700)
    except FileExistsError:
        raise StartRefused(f"{folder} is not a folder: name a new one for each backup") from None
    except OSError as error:
        raise StartRefused(f"the folder {folder} cannot be used: {error.strerror}") from None


def refuse_used_folder(folder: Path) -> None:
    """Raises `StartRefused` if there is something in the folder."""
    if any(folder.iterdir()):
        is_unfinished = (folder / TABLES).is_dir() and not has_manifest(folder)
        content = " and holds an unfinished backup" if is_unfinished else ""
        raise StartRefused(f"the folder {folder} is not empty{content}: name a new one for each backup")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest after everything else is on disk."""
    os.sync()
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
    for name, text in (
        (MANIFEST, content),
        (MANIFEST_HASH, f"{hashlib.sha256(content).hexdigest()}  {MANIFEST}\n".encode()),
    ):
        with new_file(folder / name) as file:
            file.write(text)
            os.fsync(file.fileno())
    os.sync()


def new_file(path: Path) -> BinaryIO:
    """Open a new file that only its owner may read, and that nobody can open for writing again."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb")


def has_manifest(folder: Path) -> bool:
    """Whether this is the folder of a finished backup."""
    return (folder / MANIFEST_HASH).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a finished, undamaged backup; else `StartRefused`."""
    if not folder.is_dir():
        raise StartRefused(f"there is no backup folder {folder}")
    if not (folder / MANIFEST).is_file() or not has_manifest(folder):
        raise StartRefused(f"{folder} holds no finished backup: {MANIFEST} or {MANIFEST_HASH} is missing")
    try:
        content = (folder / MANIFEST).read_bytes()
        expected = (folder / MANIFEST_HASH).read_bytes()
    except OSError as error:
        raise StartRefused(f"the backup cannot be read: {error.strerror}") from None
    if expected != f"{hashlib.sha256(content).hexdigest()}  {MANIFEST}\n".encode():
        raise StartRefused(f"the backup is damaged: {MANIFEST} differs from its SHA-256")
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError:
        raise StartRefused("the backup has another format: install the version of modhub that made it") from None
    if manifest.format != MANIFEST_FORMAT:
        raise StartRefused(f"the backup has format {manifest.format}: install the version of modhub that made it")
    return manifest


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file; `StartRefused` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StartRefused(f"the backup is damaged: {path.name} cannot be read ({error.strerror})") from None
