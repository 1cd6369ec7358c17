"""``modhub-admin -c INI COMMAND``: what the operator does from a shell (C-RUN-4). Features add commands."""

import argparse
import logging
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import transaction
from pyramid.config import Configurator
from sqlalchemy.orm import Session

from modhub.admin.restored import refuse_unusable
from modhub.admin.storage import open_store
from modhub.audit import act_for_operator, record_nothing
from modhub.base.errors import ApiError
from modhub.base.ini_file import application_settings, set_up_logging
from modhub.base.optional_calls import hide_process
from modhub.base.service_registry import Service, find_optional_service, find_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore
from modhub.blobs.operator_reasons import operator_sentence
from modhub.db import Databases, database_errors, is_transient
from modhub.plugins.commands import AdminCommand
from modhub.plugins.declarations import Declarations
from modhub.web.payload import encode

ABOUT: Final = (
    "What operators do from a shell. The features that INI includes bring commands: modhub-admin -c INI --help lists "
    "them all, modhub-admin -c INI COMMAND --help shows examples."
)
Configure = Callable[..., Configurator]
"""Configures the application from the settings of an ini (:func:`modhub.configure`)."""
EXIT_CODES: Final = "Exit codes: 0 done, 1 refused or something found, 2 wrong arguments or ini, 130 interrupted."


class _RollBack(Exception):
    """Ends the transaction of a dry run."""


class OutputFailed(Exception):
    """Standard output cannot be written: the disk is full, for example."""


class HelpParser(argparse.ArgumentParser):
    """A parser that does not ignore that its help cannot be written."""

    def print_help(self, file: Any = None) -> None:
        """Print the help on standard output."""
        with _output_errors():
            (file or sys.stdout).write(self.format_help())


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
        store = open_store(self.registry, make=True)
        return store or self.existing_store

    @property
    def existing_store(self) -> BlobStore:
        """The file store as it is, for reading and cleaning up. Raises `StartRefused` if none is configured."""
        store = find_optional_service(self.registry, BlobStore)
        if store is None:
            raise StartRefused("the setting modhub.storage is empty, so there are no files")
        return store

    @contextmanager
    def writing(self, *, dry_run: bool = False) -> Iterator[tuple[Session, Any]]:
        """A session and its transaction manager; committed at the end, rolled back by a dry run and on an exception.

        A dry run does the work and rolls it back: a second path that only describes it could say something else, most
        of all about what is refused. It takes the same locks for a moment. Commands that send emails, copy files or
        take more than one transaction count what they would work on instead.
        """
        manager = transaction.TransactionManager(explicit=True)
        with suppress(_RollBack), manager:
            session = self.databases.joined_session(manager)
            act_for_operator(session)
            if dry_run:
                record_nothing(session)
            yield session, manager
            if dry_run:
                session.flush()
                raise _RollBack

    def reading(self) -> Session:
        """A read-only session, closed at the end of a ``with``."""
        return self.databases.readonly_session()

    def say(self, line: str) -> None:
        """Print one line for the operator."""
        with _output_errors():
            sys.stdout.write(line + "\n")

    def say_json(self, value: object) -> None:
        """Print one JSON document, in one line, for a program."""
        self.say(encode(value).decode())

    def say_problem(self, line: str) -> None:
        """Print one line about what was not found, which does not mix with the output."""
        sys.stderr.write(line + "\n")

    def say_outcome(self, lines: Iterable[str], problems: Iterable[str]) -> None:
        """Print what was not found among many, then what was done."""
        for problem in problems:
            self.say_problem(problem)
        for line in lines:
            self.say(line)

    def warn(self, sentence: str) -> None:
        """Print a warning, which does not mix with the output."""
        sys.stderr.write(f"modhub-admin: warning: {sentence}.\n")


@contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(f"the output cannot be written ({error.strerror})") from None


def build_admin_parser(config: Configurator) -> argparse.ArgumentParser:
    """The command line of this configuration, with the commands of its features."""
    parser = HelpParser(prog="modhub-admin", description=ABOUT, epilog=EXIT_CODES)
    parser.add_argument("-c", "--config", required=True, metavar="INI")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in find_service(config.registry, Declarations).commands.values():
        subparser = commands.add_parser(
            command.name,
            help=command.help,
            description=as_sentence(command.help),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.arguments(subparser)
        complete_help(subparser, command)
        subparser.set_defaults(run=command.run, needs_schema=command.needs_schema)
    return parser


def complete_help(parser: argparse.ArgumentParser, command: AdminCommand) -> None:
    """Complete the help of a command, and that of its actions: each has its own examples, and says what it does."""
    examples, _, remark = command.examples.partition("\n\n")
    lines = examples.splitlines()
    parser.epilog = _epilog(lines, remark)
    for group in parser._actions:
        if isinstance(group, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in group._choices_actions}
            for name, action in group.choices.items():
                action.formatter_class = argparse.RawDescriptionHelpFormatter
                action.description = textwrap.fill(action.description or as_sentence(summaries.get(name, "")), 79)
                action.epilog = _epilog([line for line in lines if line.split()[:2] == [command.name, name]])


def as_sentence(summary: str) -> str:
    """The line of a list of commands as a sentence."""
    return f"{summary[:1].upper()}{summary[1:]}." if summary else ""


def _epilog(lines: Sequence[str], remark: str = "") -> str | None:
    if not lines:
        return None
    return "\n".join(["examples (after modhub-admin -c my.ini):", *(f"  {line}" for line in lines), "", remark])


def main(configure: Configure, argv: Sequence[str] | None = None) -> int:
    """The console script, for an application that ``configure`` makes.

    Exit code 0 is success, 1 a problem that the command found, 2 a usage error, 130 Ctrl-C.
    """
    if argv is None:  # not in a test
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # temporary files go, as with Ctrl-C
    try:
        try:
            return run_arguments(configure, list(sys.argv[1:] if argv is None else argv))
        finally:
            with _output_errors():
                sys.stdout.flush()
    except (BrokenPipeError, OutputFailed) as error:
        # Python would try again at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # As in `modhub-admin ... | head`: the reader has enough.
        return 0 if isinstance(error, BrokenPipeError) else print_error(error, 1)
    except KeyboardInterrupt as interrupt:
        # Behind the terminal's ^C.
        sys.stderr.write("\n" if sys.stderr.isatty() else "")
        return print_error(f"interrupted; {str(interrupt) or 'finished work is kept'}", 128 + signal.SIGINT)


def run_arguments(configure: Configure, arguments: Sequence[str]) -> int:
    """Read the ini and run the command; the exit code. Whatever the operator can mend is one line."""
    config_parser = argparse.ArgumentParser(add_help=False)
    config_parser.add_argument("-c", "--config", metavar="INI")
    ini = config_parser.parse_known_args(arguments)[0].config
    if ini is None:
        return print_usage(help_wanted=not {"-h", "--help"}.isdisjoint(arguments))
    try:
        settings = application_settings(ini)
        set_up_logging(ini)
        hide_process()
        if sys.stderr.isatty():
            log_for_people()
    except StartRefused as error:
        return print_error(error, 2)
    try:
        return run_command(configure(settings, makes_store=False, limits_statements=False), arguments, ini)
    except StartRefused as error:
        return print_error(error, 1)
    except ApiError as error:
        return print_error(operator_sentence(error), 1)


def log_for_people() -> None:
    """Log warnings alone, as text, whatever the ini says: the operator reads what the command says.

    The audit trail has the rest, such as 1,200 lines of a wave of spam.
    """
    logging.getLogger("modhub").setLevel(logging.WARNING)
    for handler in logging.root.handlers:
        handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))


def print_usage(*, help_wanted: bool) -> int:
    """Without an ini nobody knows which commands there are; returns the exit code."""
    if not help_wanted:
        sys.stderr.write("modhub-admin: the configuration is missing: modhub-admin -c YOUR.ini COMMAND\n")
        return 2
    with _output_errors():
        sys.stdout.write(f"usage: modhub-admin -c INI COMMAND\n\n{ABOUT}\n\n{EXIT_CODES}\n")
    return 0


def print_error(error: Exception | str, code: int) -> int:
    """Print the error in one line; returns ``code``, the exit code."""
    sys.stderr.write(f"modhub-admin: {str(error).rstrip('.')}.\n")
    return code


def run_command(config: Configurator, argv: Sequence[str], ini: str = "YOUR.ini") -> int:
    """Run the command in ``argv``, then close the database connections."""
    admin = Admin(config, ini)
    try:
        arguments = build_admin_parser(config).parse_args(argv)
        if arguments.needs_schema:
            refuse_unusable(admin.databases, admin.declarations.migrations, ini)
        code: int = arguments.run(admin, arguments)
    except Exception as error:
        if is_transient(error):
            reason = database_errors.driver_reason(error, admin.databases.write_engine.url)
            message = (
                f"the database is busy or cannot be written ({reason}); finished work is kept, run the command again"
            )
            raise StartRefused(message) from None
        raise
    finally:
        admin.databases.dispose()
    return code


def includeme(config: Configurator) -> None:
    """The commands of the core."""
    config.include("modhub.admin.core_commands")
    config.include("modhub.admin.backup")
    config.include("modhub.admin.restore")
    config.include("modhub.admin.copy_to")
    config.include("modhub.admin.storage")
