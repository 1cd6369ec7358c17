"""``modhub-admin -c INI COMMAND``: what the operator does from a shell (C-RUN-4). Features add commands."""

import argparse
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import transaction
from pyramid.config import Configurator
from pyramid.path import DottedNameResolver
from sqlalchemy.orm import Session

import modhub
from modhub.audit import act_for_operator
from modhub.blobs import BlobStore
from modhub.db import Databases, is_transient
from modhub.declarations import AdminCommand, Declarations
from modhub.errors import ApiError
from modhub.ops import migrate
from modhub.ops.doctor import doctor_arguments, run_doctor
from modhub.ops.ini_file import application_settings, set_up_logging
from modhub.ops.migrate_command import migrate_arguments, run_migrate
from modhub.ops.new_migration import migration_arguments, run_migration_new
from modhub.ops.progress import ProgressDisplay
from modhub.payload import encode
from modhub.service_registry import Service, find_optional_service, find_service
from modhub.settings import StartRefused

ABOUT: Final = (
    "What operators do from a shell. The features that INI includes bring commands: modhub-admin -c INI --help lists "
    "them all, modhub-admin -c INI COMMAND --help shows examples."
)
EXIT_CODES: Final = "Exit codes: 0 done, 1 refused or something found, 2 wrong arguments or ini, 130 interrupted."
INTERRUPTED: Final = 130
"""The exit code after SIGINT, as a shell reports it."""
_MIGRATE_EXAMPLES: Final = """\
migrate                    brings all tables up to date
migrate --plan             says what that would do
migrate --to REVISION      goes no further than this revision
migrate --down REVISION    goes back to it, if nothing is lost"""
_KEY_EXAMPLES: Final = """\
key new                a key with the default scope; lists all scopes
key new SCOPE SCOPE    a key with these scopes"""


class Admin:
    """What commands work with: the configured application, without serving it."""

    def __init__(self, config: Configurator, ini: str = "YOUR.ini") -> None:
        self.config = config
        self.ini = ini
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
        """The declarations of the included packages."""
        return self.find_service(Declarations)

    @property
    def store(self) -> BlobStore:
        """The file store, for writing: its folder is created. Raises `StartRefused` if none is configured."""
        store = modhub.open_store(self.registry, make=True)
        return store or self.existing_store

    @property
    def existing_store(self) -> BlobStore:
        """The file store as it is, for reading and cleaning up. Raises `StartRefused` if none is configured."""
        store = find_optional_service(self.registry, BlobStore)
        if store is None:
            raise StartRefused("the setting modhub.storage is empty, so there are no files")
        return store

    @contextmanager
    def writing(self) -> Iterator[tuple[Session, Any]]:
        """A session and its transaction manager; committed at the end, rolled back on an exception."""
        manager = transaction.TransactionManager(explicit=True)
        with manager:
            session = self.databases.joined_session(manager)
            act_for_operator(session)
            yield session, manager

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A read-only session."""
        with self.databases.readonly_session() as session:
            yield session

    @property
    def progress(self) -> ProgressDisplay:
        """Draws progress bars, if somebody watches."""
        return ProgressDisplay()

    def say(self, line: str) -> None:
        """Print one line for the operator."""
        sys.stdout.write(line + "\n")

    def say_json(self, value: object) -> None:
        """Print one JSON document, in one line, for a program."""
        sys.stdout.write(encode(value).decode() + "\n")

    def warn(self, sentence: str) -> None:
        """Print a warning, which does not mix with the output."""
        sys.stderr.write(f"modhub-admin: warning: {sentence}.\n")


def run_check(admin: Admin, _arguments: argparse.Namespace) -> int:
    """Report that the service can start; anything that prevents it has been reported before."""
    admin.say("The configuration is valid and the database is up to date.")
    return 0


def run_key_new(admin: Admin, arguments: argparse.Namespace) -> int:
    """Print a new machine key for the operator to put into the ini; it is not stored."""
    admin.say(" ".join([secrets.token_hex(32), *arguments.scope]))
    admin.say("Add this line to ApiPrivateKeys and give the first word to the build agent.")
    for name, description in sorted(admin.declarations.scopes.items()):
        admin.say(f"Scope {name}: {description}.")
    for name in sorted(set(arguments.scope) - admin.declarations.scopes.keys()):
        admin.say(f"No included feature declares the scope {name}: it allows nothing.")
    return 0


def key_arguments(parser: argparse.ArgumentParser) -> None:
    """``key new [SCOPE ...]``"""
    parser.add_argument("action", choices=["new"])
    parser.add_argument("scope", nargs="*", help="scopes to grant; none means the default scope")


def run_demo(admin: Admin, _arguments: argparse.Namespace) -> int:
    """Fill a new installation with samples."""
    resolver = DottedNameResolver()
    for _, name, fill in sorted(admin.declarations.demos, key=lambda demo: demo[:2]):
        resolver.maybe_resolve(fill)(admin)
        admin.say(f"Added samples: {name}.")
    return 0


def no_arguments(_parser: argparse.ArgumentParser) -> None:
    """For a command without arguments of its own."""


COMMANDS = (
    AdminCommand(
        "migrate",
        "bring the database's schema up to date",
        migrate_arguments,
        run_migrate,
        needs_schema=False,
        examples=_MIGRATE_EXAMPLES,
    ),
    AdminCommand(
        "check", "check the ini and the database, as before a start", no_arguments, run_check, examples="check"
    ),
    AdminCommand(
        "doctor",
        "check all that the service needs and say what to do",
        doctor_arguments,
        run_doctor,
        needs_schema=False,
        examples="doctor\ndoctor --json",
    ),
    AdminCommand(
        "migration",
        "write a new migration",
        migration_arguments,
        run_migration_new,
        needs_schema=False,
        examples='migration new modhub_reports "Reasons of reports"',
    ),
    AdminCommand("key", "create a machine key", key_arguments, run_key_new, needs_schema=False, examples=_KEY_EXAMPLES),
    AdminCommand("demo", "fill a new installation with samples", no_arguments, run_demo, examples="demo"),
)


def build_admin_parser(config: Configurator) -> argparse.ArgumentParser:
    """The command line of this configuration, with the commands of its features."""
    parser = argparse.ArgumentParser(prog="modhub-admin", description=ABOUT, epilog=EXIT_CODES)
    parser.add_argument("-c", "--config", required=True, metavar="INI")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in find_service(config.registry, Declarations).commands.values():
        subparser = commands.add_parser(
            command.name,
            help=command.help,
            description=f"{command.help[0].upper()}{command.help[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.arguments(subparser)
        if command.examples:
            examples, _, remark = command.examples.partition("\n\n")
            lines = "".join(f"  {line}\n" for line in examples.splitlines())
            subparser.epilog = f"examples (after modhub-admin -c my.ini):\n{lines}\n{remark}"
        subparser.set_defaults(run=command.run, needs_schema=command.needs_schema)
    return parser


def admin_main(argv: Sequence[str] | None = None) -> int:
    """The console script. Exit code 0 is success, 1 a problem that the command found, 2 a usage error, 130 Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    config_parser = argparse.ArgumentParser(add_help=False)
    config_parser.add_argument("-c", "--config", metavar="INI")
    ini = config_parser.parse_known_args(arguments)[0].config
    if ini is None:
        return print_usage(help_wanted=not {"-h", "--help"}.isdisjoint(arguments))
    try:
        settings = application_settings(ini)
        set_up_logging(ini)
    except StartRefused as error:
        return print_error(error, 2)
    return run_reporting_errors(settings, arguments, ini)


def print_usage(*, help_wanted: bool) -> int:
    """Without an ini nobody knows which commands there are; returns the exit code."""
    if not help_wanted:
        sys.stderr.write("modhub-admin: the configuration is missing: modhub-admin -c YOUR.ini COMMAND\n")
        return 2
    sys.stdout.write(f"usage: modhub-admin -c INI COMMAND\n\n{ABOUT}\n\n{EXIT_CODES}\n")
    return 0


def run_reporting_errors(settings: Mapping[str, Any], arguments: Sequence[str], ini: str) -> int:
    """Run the command; whatever the operator can mend is one line, and the exit code says so."""
    try:
        return run_command(modhub.configure(settings, makes_store=False, limits_statements=False), arguments, ini)
    except (StartRefused, ApiError) as error:
        return print_error(error, 1)
    except BrokenPipeError:
        # As in `modhub-admin ... | head`: the reader has enough. Python would complain again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("\nmodhub-admin: interrupted; finished work is kept.\n")
        return INTERRUPTED


def print_error(error: Exception, code: int) -> int:
    """Print the error in one line; returns ``code``, the exit code."""
    sys.stderr.write(f"modhub-admin: {str(error).rstrip('.')}.\n")
    return code


def run_command(config: Configurator, argv: Sequence[str], ini: str = "YOUR.ini") -> int:
    """Run the command in ``argv``, then close the database connections."""
    admin = Admin(config, ini)
    try:
        arguments = build_admin_parser(config).parse_args(argv)
        if arguments.needs_schema:
            migrate.refuse_when_behind(admin.databases, admin.declarations.migrations, ini)
        code: int = arguments.run(admin, arguments)
    except Exception as error:
        if is_transient(error):
            message = "the database is busy; finished work is kept, run the command again"
            raise StartRefused(message) from None
        raise
    finally:
        admin.databases.dispose()
    return code


def includeme(config: Configurator) -> None:
    """The commands of the core."""
    for command in COMMANDS:
        config.add_command(command)
    config.include("modhub.ops.maintenance_commands")
    config.include("modhub.ops.backup.commands")
    config.include("modhub.ops.move_storage")
