"""``modhub-admin backup DEST``: a dump of the database, then the files that its rows name, then a manifest.

``manifest.json`` has the digests of both, and is written last: a folder without it is an unfinished backup.
"""

import argparse
import hashlib
import os
import shutil
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec
from pyramid.config import Configurator
from sqlalchemy.exc import SQLAlchemyError

from modhub.admin import migrate
from modhub.admin.dumps import (
    Dumped,
    dump_database,
    in_one_sentence,
    load_database,
    read_dumped,
    run_program,
    scratch_database,
)
from modhub.admin.observations import BACKUP_VERIFIED, record_observation
from modhub.audit import record
from modhub.base.errors import ApiError
from modhub.base.progress import progress_bar
from modhub.base.service_registry import find_optional_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore
from modhub.blobs.store import COPY_BYTES, Blob, is_key
from modhub.content.limits import MB
from modhub.db import Databases, iso, now
from modhub.plugins.commands import AdminCommand, add_dry_run_option

DUMP: Final = "database.dump"
_MANIFEST: Final = "manifest.json"
_MODE: Final = 0o400
"""Nobody writes to a file of a backup again: other backups may share it."""
_EXAMPLES: Final = """\
backup /var/backups/modhub/2026-11-22             makes a backup in a new folder
backup --verify /var/backups/modhub/2026-11-22    checks every file of it, and loads it into a scratch database"""


class Manifest(msgspec.Struct):
    """What a backup holds, and what restoring it needs. ``revisions`` are those of each package."""

    created_at: str
    modhub: str
    database: str
    base_url: str
    revisions: dict[str, list[str]]
    dump_sha256: str
    files: list[Blob]


def blob_file(folder: Path, key: str) -> Path:
    """The copy of a stored file."""
    return folder / "files" / key[:2] / key[2:]


def create_backup(databases: Databases, store: BlobStore | None, base_url: str, folder: Path) -> set[Blob]:
    """Write a backup into a new folder; returns the files that are not in it, as the store does not have them whole.

    The rows come first, the files second: `sweep` keeps what is replaced or deleted meanwhile for two days.
    """
    with in_one_sentence(databases, f"the backup {folder} could not be written"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise StartRefused(f"the folder {folder} is not empty: name a new one for each backup")
        try:
            return _write_backup(databases, store, base_url, folder)
        except BaseException:  # a full disk must not stay full
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _write_backup(databases: Databases, store: BlobStore | None, base_url: str, folder: Path) -> set[Blob]:
    folder.chmod(0o700)
    (folder / "files").mkdir(mode=0o700)
    dumped = dump_database(databases, folder / DUMP)
    (folder / DUMP).chmod(_MODE)
    files, damaged = _collect_files(store, dumped.blobs, folder)
    about = (iso(now()), version("modhub"), databases.dialect, base_url, dumped.revisions)
    _write_manifest(folder, Manifest(*about, _sha256(folder / DUMP), files))
    return damaged


def _collect_files(store: BlobStore | None, blobs: list[Blob], folder: Path) -> tuple[list[Blob], set[Blob]]:
    """Link or copy the files that the rows name: those that are there then, and those that the store has not whole."""
    earlier, files, damaged = _newest_backup_beside(folder), list[Blob](), set[Blob]()
    _refuse_without_room(folder, [blob for blob in blobs if not (earlier and blob_file(earlier, blob.key).exists())])
    with progress_bar("bytes of files", sum(blob.size for blob in blobs)) as advance:
        for blob in blobs:
            path = blob_file(folder, blob.key)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            is_linked = earlier is not None and _link(blob_file(earlier, blob.key), blob, path)
            is_whole = _is_whole_in_store(store, blob) if is_linked else _copy(store, blob, path)
            if is_linked or is_whole:
                path.chmod(_MODE)
                files.append(blob)
            if not is_whole:
                damaged.add(blob)
            advance(blob.size)
    return files, damaged


def _refuse_without_room(folder: Path, blobs: list[Blob]) -> None:
    free, needed = shutil.disk_usage(folder).free, sum(blob.size for blob in blobs)
    if needed > free:
        raise StartRefused(f"the disk of {folder} has {free // MB:,} MB free, and the files need {needed // MB:,} MB")


def _is_whole_in_store(store: BlobStore | None, blob: Blob) -> bool:
    """Whether the store still has a file whole that an earlier backup has."""
    return store is not None and store.verify(blob.key, blob.size, blob.sha256) is None


def _newest_backup_beside(folder: Path) -> Path | None:
    """The newest finished backup in the folder that holds ``folder``, whose files this one shares."""
    backups = []
    for path in folder.absolute().parent.iterdir():
        with suppress(StartRefused):
            backups.append((read_manifest(path).created_at, path))
    return max(backups)[1] if backups else None


def _link(source: Path, blob: Blob, path: Path) -> bool:
    """Give the file of an earlier backup a second name, if it is whole and this user's own."""
    with suppress(OSError):  # it is not there, or on another disk
        os.link(source, path, follow_symlinks=False)
        if path.lstat().st_uid == os.geteuid() and _is_whole(path, blob.sha256):
            return True
        path.unlink()
    return False


def _copy(store: BlobStore | None, blob: Blob, path: Path) -> bool:
    """Copy a file from the store; False if that does not have it whole. A store that is away ends the backup."""
    if store is None:
        raise StartRefused("the setting modhub.storage is empty, but the database names files")
    try:
        source = store.open(blob.key, blob.size, blob.sha256)
    except ApiError:
        store.probe()  # raises if it is not the file but the store
        return False
    with source, path.open("xb") as target:
        shutil.copyfileobj(source, target, COPY_BYTES)
    return True


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest when everything else is on disk."""
    part = folder / f"{_MANIFEST}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    part.chmod(_MODE)
    os.sync()
    part.rename(folder / _MANIFEST)
    os.sync()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a finished backup; else `StartRefused`."""
    try:
        return msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=Manifest)
    except OSError:
        raise StartRefused(f"{folder} holds no finished backup: {_MANIFEST} cannot be read") from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise StartRefused(f"the backup is damaged: {_MANIFEST} is none of this version of modhub") from None


def check_backup(databases: Databases, folder: Path) -> Manifest:
    """The manifest of a backup for this kind of database, with everything whole; else `StartRefused`."""
    manifest = read_manifest(folder)
    if manifest.database != databases.dialect:
        kinds = f"the backup is of {manifest.database}, and sqlalchemy.url of {databases.dialect}"
        raise StartRefused(f"{kinds}; modhub-admin copy-to moves from SQLite to PostgreSQL")
    if not _is_whole(folder / DUMP, manifest.dump_sha256):
        raise StartRefused(f"the backup is damaged: {DUMP} is missing or differs from its SHA-256")
    with progress_bar("bytes of the backup checked", sum(blob.size for blob in manifest.files)) as advance:
        for blob in manifest.files:
            # What is not a key could be a path to anywhere.
            if not is_key(blob.key) or not _is_whole(blob_file(folder, blob.key), blob.sha256):
                raise StartRefused(f"the backup is damaged: file {blob.key} is missing or differs from its SHA-256")
            advance(blob.size)
    return manifest


def _is_whole(path: Path, sha256: str) -> bool:
    try:
        return _sha256(path) == sha256
    except OSError:
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_backup(admin: Any, folder: Path) -> int:
    """Load a backup where that is possible, and say whether it is whole."""
    databases, manifest, problems = admin.databases, check_backup(admin.databases, folder), []
    with in_one_sentence(databases, "the backup cannot be loaded"), scratch_database(databases) as scratch:
        if scratch is None:
            run_program(databases, "pg_restore", "--list", str(folder / DUMP))
            how = "by its digests and its list. It was not loaded: the role of the database may not create another one"
        else:
            problems = _load_and_check(scratch, admin, folder, manifest)
            how = "and was loaded into a scratch database"
    for problem in problems:
        admin.say(problem)
    if problems:
        admin.say(f"Problems found: {len(problems)}.")
        return 1
    if not databases.has_no_file:
        # What was found is found, also if this cannot be written.
        with suppress(SQLAlchemyError), databases.write_session.begin() as session:
            record_observation(session, BACKUP_VERIFIED, manifest.created_at)
    admin.say(f"The backup of {manifest.created_at} is whole {how}.")
    return 0


def _load_and_check(scratch: Databases, admin: Any, folder: Path, manifest: Manifest) -> list[str]:
    """Load the dump, bring it to the schema of this code, and return what the checks of features find."""
    load_database(scratch, folder / DUMP)
    migrate.upgrade(scratch, admin.declarations.migrations)
    with scratch.readonly_session() as session:
        missing = set(read_dumped(session.connection()).blobs).difference(manifest.files)
        problems = [f"File {blob.key}: it was damaged already when the backup was made." for blob in missing]
        for check in admin.declarations.checks_at("verify"):
            problems.extend(check.run(admin.registry, session))
        return problems


def run_backup(admin: Any, arguments: argparse.Namespace) -> int:
    """Make a backup; with ``--verify`` only check one."""
    folder, databases, settings = Path(arguments.folder), admin.databases, admin.registry.settings
    if arguments.verify:
        return verify_backup(admin, folder)
    if databases.has_no_file:
        raise StartRefused("there is no database yet")
    dumped: Dumped = migrate.with_connection(databases, read_dumped)
    if arguments.dry_run:
        admin.say(f"Would back up the database and {len(dumped.blobs)} files. Nothing was changed.")
        return 0
    store = find_optional_service(admin.registry, BlobStore)
    try:
        damaged = create_backup(databases, store, settings["modhub.base_url"], folder)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("nothing is left of the backup") from None
    with admin.writing() as (session, _):
        record(session, "backup made", "database")
    admin.say("Backed up the database and its files. The secrets are not in it: keep modhub.secret and the ini too.")
    for blob in damaged:
        admin.say(f"The file store does not have it whole: file {blob.key}")
    return 1 if damaged else 0


def backup_arguments(parser: argparse.ArgumentParser) -> None:
    """``DEST``, ``--verify``, ``--dry-run``"""
    parser.add_argument("folder", metavar="DEST", help="a folder that does not exist yet, or is empty")
    parser.add_argument("--verify", action="store_true", help="only check the backup that DEST holds")
    add_dry_run_option(parser, "say how much there is to back up, write nothing")


def includeme(config: Configurator) -> None:
    """Register the command."""
    about = "back up the database and the files, while the service runs"
    command = AdminCommand("backup", about, backup_arguments, run_backup, needs_schema=False, examples=_EXAMPLES)
    config.add_command(command)
