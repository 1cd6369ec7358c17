"""The core's first commands of ``modhub-admin``: migrations, checks, keys, samples, ``verify`` and ``sweep``."""

import argparse
import re
import secrets
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pyramid.config import Configurator
from pyramid.path import DottedNameResolver
from sqlalchemy.orm import Session

from modhub.admin import migrate
from modhub.admin.doctor import find_feature_problems, run_doctor
from modhub.admin.start_checks import start_warnings
from modhub.audit import record
from modhub.base.progress import progress_bar
from modhub.base.service_registry import find_optional_service
from modhub.blobs import BlobStore, maintenance
from modhub.blobs.moving import count_live
from modhub.blobs.naming import names_of_keys
from modhub.catalogue.moderating.evidence import erase_old_evidence
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option
from modhub.web.openapi import encode_description
from modhub.web.request import Request

_KEY_EXAMPLES: Final = """\
key new                a key with the default scope; lists all scopes
key new SCOPE SCOPE    a key with these scopes"""
_VERIFY_EXAMPLES: Final = """\
verify                     reads every stored file; exit code 1 if something is damaged
verify --json              the same, as one JSON document"""
_SWEEP_EXAMPLES: Final = """\
sweep                      removes what was replaced or deleted two days ago or earlier
sweep --dry-run            says how many files that would be
sweep --older-than 0       also what was deleted just now"""


def run_migrate(admin: Any, arguments: argparse.Namespace) -> int:
    """Bring every package to its newest revision."""
    packages = admin.declarations.migrations
    if arguments.dry_run:
        behind = ", ".join(migrate.packages_behind(admin.databases, packages)) or "nothing"
        admin.say(f"Would migrate: {behind}. Nothing was changed.")
        return 0
    changed = migrate.upgrade_or_refuse(admin.databases, packages)
    admin.say(f"Migrated: {', '.join(changed)}." if changed else "The database is up to date.")
    return 0


def run_check(admin: Any, _arguments: argparse.Namespace) -> int:
    """Report that the service can start, with the warnings of a start; what prevents it has been reported before."""
    for sentence in (*start_warnings(admin.registry), *find_feature_problems(admin)):
        admin.warn(sentence)
    admin.say("The configuration is valid and the database is up to date.")
    return 0


def run_key_new(admin: Any, arguments: argparse.Namespace) -> int:
    """Print a new machine key for the operator to put into the ini; it is not stored."""
    admin.say(" ".join([secrets.token_hex(32), *arguments.scope]))
    admin.say("Add this line to ApiPrivateKeys and give the first word to the build agent.")
    for name, description in sorted(admin.declarations.scopes.items()):
        admin.say(f"Scope {name}: {description}.")
    for name in sorted(set(arguments.scope) - admin.declarations.scopes.keys()):
        admin.say(f"No included feature declares the scope {name}: it allows nothing.")
    return 0


def run_openapi(admin: Any, _arguments: argparse.Namespace) -> int:
    """Print the description of the API that this configuration serves at ``/api/openapi.json`` (C-API-7)."""
    request = Request.blank("/")
    request.registry = admin.registry
    admin.say(encode_description(request).decode())
    return 0


def _scope(value: str) -> str:
    if value.split() != [value]:
        raise argparse.ArgumentTypeError(f"{value!r} is not one word")
    return value


def key_arguments(parser: argparse.ArgumentParser) -> None:
    """``key new [SCOPE ...]``"""
    parser.add_argument("action", choices=["new"])
    parser.add_argument("scope", nargs="*", type=_scope, help="scopes to grant; none means the default scope")


def run_demo(admin: Any, arguments: argparse.Namespace) -> int:
    """Fill a new installation with samples."""
    resolver = DottedNameResolver()
    for name, fill in admin.declarations.demos:
        if arguments.dry_run:
            admin.say(f"Would add samples, if there are none: {name}.")
            continue
        resolver.maybe_resolve(fill)(admin)
        # It may have found some already.
        admin.say(f"Samples are there: {name}.")
    return 0


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


def no_arguments(_parser: argparse.ArgumentParser) -> None:
    """For a command without arguments of its own."""


COMMANDS = (
    AdminCommand(
        "migrate",
        "bring the database's schema up to date",
        add_dry_run_option,
        run_migrate,
        needs_schema=False,
        examples="migrate\nmigrate --dry-run",
    ),
    AdminCommand(
        "check", "check the ini and the database, as before a start", no_arguments, run_check, examples="check"
    ),
    AdminCommand(
        "doctor",
        "check all that the service needs and say what to do",
        add_json_option,
        run_doctor,
        needs_schema=False,
        examples="doctor\ndoctor --json",
    ),
    AdminCommand(
        "openapi",
        "print the description of the API, as served at /api/openapi.json",
        no_arguments,
        run_openapi,
        needs_schema=False,
        examples="openapi > openapi.json",
    ),
    AdminCommand("key", "create a machine key", key_arguments, run_key_new, needs_schema=False, examples=_KEY_EXAMPLES),
    AdminCommand(
        "demo", "fill a new installation with samples", add_dry_run_option, run_demo, examples="demo\ndemo --dry-run"
    ),
    AdminCommand(
        "verify",
        "check every stored file and every public copy",
        verify_arguments,
        run_verify,
        examples=_VERIFY_EXAMPLES,
    ),
    AdminCommand("sweep", "remove files that nothing refers to", sweep_arguments, run_sweep, examples=_SWEEP_EXAMPLES),
)


def includeme(config: Configurator) -> None:
    """Add the commands of the core to ``modhub-admin``."""
    for command in COMMANDS:
        config.add_command(command)
