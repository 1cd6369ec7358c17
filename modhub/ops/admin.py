"""``modhub-admin -c INI COMMAND``: what the operator does from a shell (C-RUN-4). Features add commands."""

import argparse
import re
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import transaction
from pyramid.config import Configurator
from sqlalchemy.orm import Session

import modhub
from modhub.blobs import BlobStore, maintenance
from modhub.db import Databases, is_transient
from modhub.declarations import AdminCommand, Declarations
from modhub.errors import ApiError
from modhub.ops import migrate
from modhub.ops.ini_file import application_settings, set_up_logging
from modhub.ops.new_migration import migration_arguments, run_migration_new
from modhub.service_registry import Service, find_optional_service, find_service
from modhub.settings import StartRefused


class Admin:
    """What a command works with: the configured application, without serving it."""

    def __init__(self, config: Configurator) -> None:
        self.config = config
        self.registry: Any = config.registry

    def find_service(self, kind: type[Service]) -> Service:
        """The application's service of ``kind``."""
        return find_service(self.registry, kind)

    @property
    def databases(self) -> Databases:
        """The engines of the application."""
        return self.find_service(Databases)

    @property
    def declarations(self) -> Declarations:
        """What the included packages have declared."""
        return self.find_service(Declarations)

    @property
    def store(self) -> BlobStore:
        """The file store, to put files into: its folder is made; a sentence to the operator where there is none."""
        store = modhub.open_store(self.registry, make=True)
        return store or self.kept

    @property
    def kept(self) -> BlobStore:
        """The file store as it is, to read and to tidy; a sentence to the operator where there is none."""
        store = find_optional_service(self.registry, BlobStore)
        if store is None:
            raise StartRefused("the setting modhub.storage is empty, so there are no files")
        return store

    @contextmanager
    def writing(self) -> Iterator[tuple[Session, Any]]:
        """A session and its transaction manager; committed at the end, undone when an exception passes."""
        manager = transaction.TransactionManager(explicit=True)
        with manager:
            yield self.databases.joined_session(manager), manager

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that only reads."""
        with self.databases.readonly_session() as session:
            yield session

    def say(self, line: str) -> None:
        """One line to the operator."""
        sys.stdout.write(line + "\n")


def run_migrate(admin: Admin, _arguments: argparse.Namespace) -> int:
    """Bring the schema up."""
    changed = migrate.upgrade_or_say(admin.databases, admin.declarations.migrations)
    admin.say(f"Migrated: {', '.join(changed)}." if changed else "The database is up to date.")
    return 0


def run_check(admin: Admin, _arguments: argparse.Namespace) -> int:
    """Say that the service can start; what keeps it from that was said by now."""
    admin.say("The configuration can be read, and the database is up to date.")
    return 0


def run_verify(admin: Admin, _arguments: argparse.Namespace) -> int:
    """Say what is damaged; 1 when something is."""
    found: list[str] = []
    with admin.reading() as session:
        for check in admin.declarations.maintenance.values():
            found.extend(check(session))
        if find_optional_service(admin.registry, BlobStore) is not None:
            found.extend(maintenance.blob_damage(session, admin.kept))
    for sentence in found:
        admin.say(sentence)
    admin.say(f"{len(found)} found." if found else "Everything is as it should be.")
    return 1 if found else 0


def run_sweep(admin: Admin, arguments: argparse.Namespace) -> int:
    """Remove what nothing refers to."""
    trashed, orphans = maintenance.sweep(admin.databases, admin.kept, arguments.older_than)
    admin.say(f"Removed {trashed} replaced or deleted files and {orphans} that no row named.")
    return 0


def seconds(value: str) -> int:
    """An age; none is negative, and no file is older than time itself."""
    if not re.fullmatch(r"[0-9]{1,9}", value):
        raise argparse.ArgumentTypeError(f"{value!r} is not a number of seconds from 0 to 999999999")
    return int(value)


def sweep_arguments(parser: argparse.ArgumentParser) -> None:
    """``--older-than``"""
    parser.add_argument(
        "--older-than",
        type=seconds,
        default=maintenance.GRACE_SECONDS,
        metavar="SECONDS",
        help="take only what is at least this old (%(default)s); 0 takes all",
    )


def run_key_new(admin: Admin, arguments: argparse.Namespace) -> int:
    """A fresh machine key, to be put into the ini by the operator; it is kept nowhere."""
    admin.say(" ".join([secrets.token_hex(32), *arguments.scope]))
    admin.say("Put this line into ApiPrivateKeys and give the first word to the build agent.")
    for name, meaning in sorted(admin.declarations.scopes.items()):
        admin.say(f"Scope {name}: {meaning}.")
    for name in sorted(set(arguments.scope) - admin.declarations.scopes.keys()):
        admin.say(f"No included feature declares the scope {name}: it opens nothing.")
    return 0


def key_arguments(parser: argparse.ArgumentParser) -> None:
    """``key new [SCOPE ...]``"""
    parser.add_argument("action", choices=["new"])
    parser.add_argument("scope", nargs="*", help="scopes to grant; none means the default scope")


def run_demo(admin: Admin, _arguments: argparse.Namespace) -> int:
    """Fill a new installation."""
    for _, name, fill in sorted(admin.declarations.demos, key=lambda demo: demo[:2]):
        fill(admin)
        admin.say(f"Filled: {name}.")
    return 0


def no_arguments(_parser: argparse.ArgumentParser) -> None:
    """A command without arguments of its own."""


COMMANDS = (
    AdminCommand("migrate", "bring the database's schema up to date", no_arguments, run_migrate, needs_schema=False),
    AdminCommand("check", "read the ini and look at the database, as before a start", no_arguments, run_check),
    AdminCommand("migration", "write a new migration", migration_arguments, run_migration_new, needs_schema=False),
    AdminCommand("verify", "check every stored file and every kept copy", no_arguments, run_verify),
    AdminCommand("sweep", "remove files that nothing refers to any more", sweep_arguments, run_sweep),
    AdminCommand("key", "make a machine key", key_arguments, run_key_new, needs_schema=False),
    AdminCommand("demo", "fill a new installation with samples", no_arguments, run_demo),
)


def build_admin_parser(config: Configurator) -> argparse.ArgumentParser:
    """The command line of this configuration: features that are switched on have their commands."""
    parser = argparse.ArgumentParser(prog="modhub-admin", description=__doc__)
    parser.add_argument("-c", "--config", required=True, metavar="INI")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in find_service(config.registry, Declarations).commands.values():
        added = commands.add_parser(command.name, help=command.help, description=command.help)
        command.arguments(added)
        added.set_defaults(run=command.run, needs_schema=command.needs_schema)
    return parser


def admin_main(argv: Sequence[str] | None = None) -> int:
    """The console script; the exit code is 0 for success, 1 for what the command found, 2 for a wrong call."""
    words = list(sys.argv[1:] if argv is None else argv)
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("-c", "--config", metavar="INI")
    ini = first.parse_known_args(words)[0].config
    if ini is None:
        sys.stderr.write("modhub-admin: name the configuration first: modhub-admin -c YOUR.ini COMMAND\n")
        return 2
    try:
        given = application_settings(ini)
        set_up_logging(ini)
    except StartRefused as refusal:
        return refused(refusal, 2)
    try:
        return run_command(modhub.configure(given, makes_store=False), words, ini)
    except (StartRefused, ApiError) as refusal:
        return refused(refusal, 1)


def refused(refusal: Exception, code: int) -> int:
    """Say why in one line; ``code`` is the exit code."""
    sys.stderr.write(f"modhub-admin: {str(refusal).rstrip('.')}.\n")
    return code


def run_command(config: Configurator, words: Sequence[str], ini: str = "YOUR.ini") -> int:
    """Run the command that ``words`` name, and close the database."""
    admin = Admin(config)
    try:
        arguments = build_admin_parser(config).parse_args(words)
        if arguments.needs_schema:
            migrate.refuse_when_behind(admin.databases, admin.declarations.migrations, ini)
        code: int = arguments.run(admin, arguments)
    except Exception as problem:
        if is_transient(problem):
            message = "the database is busy just now; what is done stays done, run the command again"
            raise StartRefused(message) from None
        raise
    finally:
        admin.databases.dispose()
    return code


def includeme(config: Configurator) -> None:
    """The commands of the core."""
    for command in COMMANDS:
        config.add_command(command)
