"""``modhub-admin verify`` and ``sweep``."""

import argparse
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pyramid.config import Configurator
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.progress import progress_bar
from modhub.base.service_registry import find_optional_service
from modhub.blobs import BlobStore, maintenance
from modhub.blobs.moving import count_live
from modhub.blobs.naming import names_of_keys
from modhub.catalogue.moderating.evidence import erase_old_evidence
from modhub.plugins.commands import AdminCommand, add_dry_run_option

_VERIFY_EXAMPLES: Final = """\
verify                     reads every stored file; exit code 1 if something is damaged
verify --json              the same, as one JSON document"""
_SWEEP_EXAMPLES: Final = """\
sweep                      removes what was replaced or deleted two days ago or earlier
sweep --dry-run            says how many files that would be
sweep --older-than 0       also what was deleted just now"""


class Problem(NamedTuple):
    """A problem that ``verify`` found. ``key`` and ``name`` are those of a file; empty for a problem with rows."""

    key: str
    name: str
    sentence: str

    def __str__(self) -> str:
        return f"File {self.key}{self.name}: {self.sentence}" if self.key else self.sentence


def find_problems(admin: Any, session: Session) -> Iterator[Problem]:
    """All damage of rows and files."""
    for check in admin.declarations.checks_at("verify"):
        yield from (Problem("", "", sentence) for sentence in check.run(admin.registry, session))
    if find_optional_service(admin.registry, BlobStore) is not None:
        with progress_bar("bytes of files", count_live(session)[1]) as advance:
            for key, damage in maintenance.blob_damage(session, admin.existing_store, advance):
                name = names_of_keys(session, admin.declarations.blob_names, [key])[key]
                yield Problem(key, name, damage)


def run_verify(admin: Any, arguments: argparse.Namespace) -> int:
    """Report damage; the exit code is 1 if there is any."""
    with admin.reading() as session:
        problems = list(find_problems(admin, session))
    if arguments.json:
        damages = [
            {"key": key or None, "file": name.strip(" ()") or None, "problem": text} for key, name, text in problems
        ]
        admin.say_json({"count": len(damages), "problems": damages})
        return 1 if problems else 0
    for problem in problems:
        admin.say(str(problem))
    admin.say(f"Problems found: {len(problems)}." if problems else "No problems found.")
    return 1 if problems else 0


def verify_arguments(parser: argparse.ArgumentParser) -> None:
    """``--json``"""
    parser.add_argument("--json", action="store_true", help="for programs: one JSON document")


def run_sweep(admin: Any, arguments: argparse.Namespace) -> int:
    """Erase mods that moderators deleted and that were kept long enough, and remove files that nothing refers to."""
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        erased = erase_old_evidence(session)
    act = maintenance.count_sweepable if arguments.dry_run else maintenance.sweep
    trashed, orphans = act(admin.databases, admin.existing_store, arguments.older_than)
    if not arguments.dry_run:
        with admin.writing() as (session, _):
            record(session, "files swept", "store", replaced=trashed, orphaned=orphans)
    verb = "Would remove" if arguments.dry_run else "Removed"
    if erased:
        admin.say(f"{verb} {erased} mods that moderators deleted.")
    admin.say(f"{verb} {trashed} replaced or deleted files and {orphans} orphaned files.")
    return 0


def seconds(value: str) -> int:
    """A command line argument: a number of seconds from 0 to 999999999."""
    if not re.fullmatch(r"[0-9]{1,9}", value):
        raise argparse.ArgumentTypeError(f"{value!r} is not a number of seconds from 0 to 999999999")
    return int(value)


def sweep_arguments(parser: argparse.ArgumentParser) -> None:
    """``--older-than``, ``--dry-run``"""
    parser.add_argument(
        "--older-than",
        type=seconds,
        default=maintenance.KEPT_SECONDS,
        metavar="SECONDS",
        help="remove only files that are at least this old (%(default)s); a running backup may need younger ones",
    )
    add_dry_run_option(parser, "say how many files would be removed, remove none")


def includeme(config: Configurator) -> None:
    """Register the commands."""
    for command in (
        AdminCommand(
            "verify",
            "check every stored file and every public copy",
            verify_arguments,
            run_verify,
            examples=_VERIFY_EXAMPLES,
        ),
        AdminCommand(
            "sweep", "remove files that nothing refers to", sweep_arguments, run_sweep, examples=_SWEEP_EXAMPLES
        ),
    ):
        config.add_command(command)
