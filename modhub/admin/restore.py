"""``modhub-admin restore SRC`` and ``restored``.

Files come first, then all rows at once: a restore that was killed before them leaves an empty database and some files,
and is run again. Then follows what `modhub.admin.restored` does, without which no service starts.
"""

import argparse
from pathlib import Path
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import inspect

from modhub.admin import migrate
from modhub.admin.backup import DUMP, Manifest, blob_file, check_backup
from modhub.admin.dumps import in_one_sentence, load_database, read_dumped, refuse_unnamed
from modhub.admin.observations import Observation
from modhub.admin.restored import is_ready, make_ready
from modhub.base.progress import progress_bar
from modhub.base.service_registry import find_optional_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore, is_missing_folder
from modhub.db import Databases
from modhub.plugins.commands import AdminCommand, add_dry_run_option

_EXAMPLES: Final = """\
restore --dry-run /var/backups/modhub/2026-11-22   checks the backup and the place, changes nothing
restore /var/backups/modhub/2026-11-22             restores into the database and file store of my.ini"""


def run_restore_backup(admin: Any, arguments: argparse.Namespace) -> int:
    """Check everything, then restore into an empty place."""
    folder = Path(arguments.folder)
    manifest = check_backup(admin.databases, folder)
    _refuse_unfit_place(admin, manifest)
    if arguments.dry_run:
        admin.say(f"Would restore the database and {len(manifest.files)} files. Nothing was changed.")
        return 0
    if manifest.files:
        _copy_files(admin.store, folder, manifest)
    with in_one_sentence(admin.databases, "the rows could not be restored"):
        load_database(admin.databases, folder / DUMP)
        migrate.upgrade_or_refuse(admin.databases, admin.declarations.migrations)
        _make_ready(admin, manifest.base_url)
    return 0


def _refuse_unfit_place(admin: Any, manifest: Manifest) -> None:
    """`StartRefused` unless the code knows what the backup holds, and database and file store are empty."""
    refuse_unnamed(manifest.revisions, admin.declarations.migrations)
    for package in admin.declarations.migrations:
        if set(manifest.revisions.get(package.package, ())) - set(migrate.known_revisions(package)):
            raise StartRefused(f"the backup is newer than this code ({package.package}); install the newer modhub")
    refuse_tables(admin.databases)
    store = find_optional_service(admin.registry, BlobStore)
    if manifest.files and store is None:
        raise StartRefused("the setting modhub.storage is empty, but the backup has files")
    if store is None or is_missing_folder(admin.registry.settings["modhub.storage"]):
        return
    # Files of the same backup are left from a restore that was killed: they may stay.
    if dict(store.keys()).keys() - {blob.key for blob in manifest.files}:
        raise StartRefused("the file store is not empty: restore into an empty one")


def refuse_tables(databases: Databases) -> None:
    """`StartRefused` unless the database is empty, or an SQLite file that does not exist yet."""
    if databases.has_no_file:
        return
    tables = migrate.with_connection(databases, lambda connection: inspect(connection).get_table_names())
    if Observation.__tablename__ in tables and not is_ready(databases):
        raise StartRefused("a restore was interrupted after its rows were there: run migrate, then restored")
    if tables:
        raise StartRefused("the database is not empty: name one without tables")


def _copy_files(store: BlobStore, folder: Path, manifest: Manifest) -> None:
    present = dict(store.keys())
    with progress_bar("bytes of files restored", sum(blob.size for blob in manifest.files)) as advance:
        for blob in manifest.files:
            if blob.key not in present or store.verify(blob.key, blob.size, blob.sha256) is not None:
                with blob_file(folder, blob.key).open("rb") as file:
                    store.put(blob, file)
            advance(blob.size)


def _make_ready(admin: Any, previous_base_url: str) -> None:
    with admin.writing() as (session, _):
        notes = make_ready(session, admin.registry, previous_base_url)
    for note in (*notes, "Clients that follow the changes begin again. Run verify, then start the service."):
        admin.say(note)


def run_restored(admin: Any, arguments: argparse.Namespace) -> int:
    """Do what follows a restore by other means."""
    databases, packages = admin.databases, admin.declarations.migrations
    migrate.refuse_when_behind(databases, packages, admin.ini)
    refuse_unnamed(migrate.with_connection(databases, read_dumped).revisions, packages)
    if arguments.dry_run:
        admin.say("Would end all sessions, hold waiting emails, begin a new feed and skip ids. Nothing was changed.")
        return 0
    _make_ready(admin, admin.registry.settings["modhub.base_url"])
    return 0


def restore_arguments(parser: argparse.ArgumentParser) -> None:
    """``SRC``, ``--dry-run``"""
    parser.add_argument("folder", metavar="SRC", help="the folder of a backup")
    add_dry_run_option(parser, "check the backup and the place, change nothing")


def includeme(config: Configurator) -> None:
    """Register the commands."""
    about = "restore a backup into an empty database and an empty file store"
    command = AdminCommand(
        "restore", about, restore_arguments, run_restore_backup, needs_schema=False, examples=_EXAMPLES
    )
    config.add_command(command)
    about, examples = "end sessions, hold emails and skip ids after the database was set back", "restored"
    command = AdminCommand("restored", about, add_dry_run_option, run_restored, needs_schema=False, examples=examples)
    config.add_command(command)
