"""``modhub-admin backup DEST`` and ``restore SRC``."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pyramid.config import Configurator

from modhub.admin.backup.archive import check_archive
from modhub.admin.backup.create import BackupSource, FinishedBackup, create_backup, measure_backup, source_of
from modhub.admin.backup.manifest import Manifest, has_manifest
from modhub.admin.backup.restore import RestoreTarget, refuse_unfit_place, restore, verify_in_scratch
from modhub.audit import record
from modhub.base.secret_fingerprints import fingerprints
from modhub.base.service_registry import find_optional_service
from modhub.blobs import BlobStore, is_missing_folder
from modhub.declarations import AdminCommand, add_dry_run_option
from modhub.ops import migrate

_BACKUP_EXAMPLES: Final = """\
backup /var/backups/modhub/2026-11-22             makes a backup in a new folder
backup --verify /var/backups/modhub/2026-11-22    restores it into a scratch database and checks every file"""
_RESTORE_EXAMPLES: Final = """\
restore --dry-run /var/backups/modhub/2026-11-22   checks the backup and the place, changes nothing
restore /var/backups/modhub/2026-11-22             restores into the database and file store of my.ini"""


def run_create_backup(admin: Any, arguments: argparse.Namespace) -> int:
    """Make a backup, with ``--verify`` of a folder that holds one only verify that."""
    folder = Path(arguments.folder)
    code = 0
    is_made = arguments.verify and has_manifest(folder)
    without = frozenset(arguments.without)
    if arguments.dry_run and not is_made:
        return _measure_backup(admin, folder, without, link=not arguments.no_link)
    if not is_made:
        code = _make_backup(admin, folder, without, link=not arguments.no_link)
    return _verify_backup(admin, folder) or code if arguments.verify else code


def _measure_backup(admin: Any, folder: Path, without: frozenset[str], *, link: bool) -> int:
    size = measure_backup(_source(admin), folder, without, link=link)
    admin.say(
        f"Would back up {size.rows} rows of {size.tables} tables and {size.files} files ({size.bytes} bytes), "
        f"{size.linked} of them ({size.linked_bytes} bytes) as links. Nothing was changed."
    )
    return 0


def _source(admin: Any) -> BackupSource:
    packages = admin.declarations.migrations
    migrate.refuse_when_behind(admin.databases, packages)
    return source_of(admin.registry, admin.databases, find_optional_service(admin.registry, BlobStore), packages)


def _make_backup(admin: Any, folder: Path, without: frozenset[str], *, link: bool) -> int:
    source = _source(admin)
    backup = create_backup(source, folder, without, link=link)
    manifest = backup.manifest
    with admin.writing() as (session, _):
        record(session, "backup made", "database")
    rows = sum(entry.rows for entry in manifest.tables)
    admin.say(
        f"Backed up {rows} rows of {len(manifest.tables)} tables and {manifest.files} files ({manifest.bytes} bytes)."
    )
    if backup.earlier is not None:
        admin.say(
            f"{backup.files.linked} of the files ({backup.files.linked_bytes} bytes) are links to those of "
            f"{backup.earlier}. Each backup is whole without the other."
        )
    admin.say("The secrets are not in it: keep modhub.secret and the ini as well.")
    damages = list(_damages(backup))
    for damage in damages:
        admin.say(damage)
    return 1 if damages else 0


def _damages(backup: FinishedBackup) -> Iterator[str]:
    """What the new backup and the next ones do not lose, and somebody should repair all the same."""
    files = backup.files
    for key in files.damaged:
        yield f"Not in it, because the file store does not have it whole: file {key}"
    for key in files.saved:
        yield f"In it from {backup.earlier}, because the file store does not have it whole: file {key}"
    for key in set(files.replaced) - set(files.damaged):
        yield f"Copied again, because {backup.earlier} does not have it whole: file {key}"


def _verify_backup(admin: Any, folder: Path) -> int:
    manifest = check_archive(folder)
    problems = verify_in_scratch(admin.declarations.migrations, admin.declarations.maintenance, folder, manifest)
    problems.extend(f"File {key}: it was damaged already when the backup was made." for key in manifest.damaged)
    for problem in problems:
        admin.say(problem)
    _warn_about_secrets(admin, manifest)
    summary = f"The backup of {manifest.created_at} is whole and can be restored."
    admin.say(summary if not problems else f"Problems found: {len(problems)}.")
    return 1 if problems else 0


def run_restore_backup(admin: Any, arguments: argparse.Namespace) -> int:
    """Check everything, then restore into an empty place."""
    folder = Path(arguments.folder)
    manifest = check_archive(folder)
    store = find_optional_service(admin.registry, BlobStore)
    target = RestoreTarget(admin.databases, store, admin.declarations.migrations, admin.registry)
    has_store = not is_missing_folder(admin.registry.settings["modhub.storage"])
    refuse_unfit_place(target, folder, manifest, has_store=has_store)
    rows = sum(entry.rows for entry in manifest.tables)
    what = f"{rows} rows of {len(manifest.tables)} tables and {manifest.files} files ({manifest.bytes} bytes)"
    if arguments.dry_run:
        admin.say(f"Would restore {what}. Nothing was changed.")
        _warn_about_secrets(admin, manifest)
        return 0
    if manifest.files:
        target.store = admin.store
    restore(target, folder, manifest)
    admin.say(f"Restored {what} from the backup of {manifest.created_at}.")
    base_url = admin.registry.settings["modhub.base_url"]
    if manifest.base_url != base_url:
        admin.say(f"The backup is of {manifest.base_url}; this installation is {base_url}.")
    for note in target.notes:
        admin.say(note)
    _warn_about_secrets(admin, manifest)
    admin.say("Run verify, then start the service.")
    return 0


def _warn_about_secrets(admin: Any, manifest: Manifest) -> None:
    """Without its secret, what is encrypted in the database cannot be read: second factors, waiting emails."""
    missing = set(manifest.secrets) - set(fingerprints(admin.registry.settings["modhub.secret"]))
    for fingerprint in sorted(missing):
        admin.warn(
            f"modhub.secret is not the secret of the backup (fingerprint {fingerprint}): without it every "
            "authenticator is dead; add it as a line of modhub.secret"
        )


def backup_arguments(parser: argparse.ArgumentParser) -> None:
    """``DEST``, ``--verify``, ``--no-link``, ``--without``"""
    parser.add_argument("folder", metavar="DEST", help="a folder that does not exist yet, or is empty")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="afterwards restore into a scratch database and check every file; if DEST is a backup, only that",
    )
    parser.add_argument(
        "--no-link",
        action="store_true",
        help="copy every file, also those that the newest backup beside DEST has",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="leave out the tables of this package, which pyramid.includes does not name",
    )
    add_dry_run_option(parser, "say how much there is to back up, write nothing")


def restore_arguments(parser: argparse.ArgumentParser) -> None:
    """``SRC``, ``--dry-run``"""
    parser.add_argument("folder", metavar="SRC", help="the folder of a backup")
    add_dry_run_option(parser, "check the backup and the place, change nothing")


def includeme(config: Configurator) -> None:
    """Register the commands."""
    for command in (
        AdminCommand(
            "backup",
            "back up the database and the files, while the service runs",
            backup_arguments,
            run_create_backup,
            needs_schema=False,
            examples=_BACKUP_EXAMPLES,
        ),
        AdminCommand(
            "restore",
            "restore a backup into an empty database and file store, of either kind",
            restore_arguments,
            run_restore_backup,
            needs_schema=False,
            examples=_RESTORE_EXAMPLES,
        ),
    ):
        config.add_command(command)
