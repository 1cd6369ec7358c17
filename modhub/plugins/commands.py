"""A command of ``modhub-admin``, and the arguments that commands share."""

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class AdminCommand:
    """A command of ``modhub-admin``: ``run(admin, arguments)`` returns the exit code.

    ``needs_schema``: run it only if the database has the schema of this code. ``examples`` are lines for ``--help``,
    each a command line after ``modhub-admin -c my.ini``.
    """

    name: str
    help: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Any, Namespace], int]
    needs_schema: bool = True
    examples: str = ""


def add_json_option(parser: ArgumentParser) -> None:
    """Add ``--json`` to a command that lists something: it prints by ``admin.say_json``, one object per line."""
    parser.add_argument("--json", action="store_true", help="for programs: one JSON object per line")


def add_dry_run_option(parser: ArgumentParser, help_text: str = "say what would happen, change nothing") -> None:
    """Add ``--dry-run``, which every command that changes something has; `Admin.writing` takes it."""
    parser.add_argument("--dry-run", action="store_true", help=help_text)


def add_yes_option(parser: ArgumentParser) -> None:
    """Add ``--yes`` and ``--dry-run`` to a command that cannot be undone; see :func:`is_rehearsal`."""
    parser.add_argument("--yes", action="store_true", help="do it; without it: say what would go, and exit 1")
    add_dry_run_option(parser)


def is_rehearsal(arguments: Namespace) -> bool:
    """Whether the command only says what it would do: with ``--dry-run``, or without a ``--yes`` that it asks for."""
    return arguments.dry_run or not getattr(arguments, "yes", True)


def end_rehearsal(admin: Any, arguments: Namespace) -> int:
    """Say that nothing was changed; the exit code, 1 where ``--yes`` is missing."""
    admin.say("Nothing was changed." if arguments.dry_run else "Nothing was changed. Add --yes to do it.")
    return 0 if arguments.dry_run else 1


def add_ids_option(parser: ArgumentParser) -> None:
    """Add ``--ids`` to a command that lists something: its output is what :func:`read_names` takes for ``-``."""
    parser.add_argument("--ids", action="store_true", help="only the ids, one per line: input for an action on -")


def add_batch_option(parser: ArgumentParser) -> None:
    """Add ``--batch`` to a command that undoes what another one did to many things."""
    help_text = "undo what a command did to many at once; NUMBER is that of its entry in the audit trail"
    parser.add_argument("--batch", type=parse_count, metavar="NUMBER", help=help_text)


def read_names(words: Sequence[str]) -> list[str]:
    """The names on a command line, each once; for ``-`` those on standard input, separated by spaces or lines."""
    names = [name for word in words for name in (sys.stdin.read().split() if word == "-" else [word])]
    return list(dict.fromkeys(names))


def parse_count(value: str) -> int:
    """The whole number from 1 to 999,999,999 that an argument is."""
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", value, re.ASCII):
        raise ArgumentTypeError(f"{value!r} is not a number from 1 to 999999999")
    return int(value)


def parse_moment(value: str) -> datetime:
    """The moment that an argument names, such as 2026-11-21 or 2026-11-21T08:15Z; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise ArgumentTypeError(f"{value!r} is not a date or time such as 2026-11-21T08:15Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
