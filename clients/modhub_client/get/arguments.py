"""The command line of ``modhub-get``."""

import argparse
import sys
from pathlib import Path
from typing import Any, NoReturn

from modhub_client import __version__
from modhub_client.get.references import REFERENCE_KINDS
from modhub_client.output import write_now

COMPLETIONS = {"bash": "modhub-get.bash", "zsh": "_modhub-get"}
"""The files with completions, by shell; `tools/write_completions.py` writes them."""
MAX_BYTES = 1 << 30
DEFAULTS = {"url": None, "json": False, "quiet": False, "timeout": 30.0}


class WrongArguments(Exception):
    """The arguments make no sense; ``usage`` are the lines for people."""

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message)
        self.usage = usage


class CommandParser(argparse.ArgumentParser):
    """A parser that raises, so that its caller says what is wrong, and that can print to any output."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of ending the program."""
        raise WrongArguments(message, f"{self.format_usage()}{self.prog}: error: {message}\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        write_now(file or sys.stdout, message)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 50:
        raise argparse.ArgumentTypeError("a number from 1")
    return int(text)


def _text(word: str) -> str:
    """What was typed, as UTF-8, where the locale does not say so."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Options that may stand before the command or after it; `DEFAULTS` has their defaults."""
    parser.add_argument("--url", default=argparse.SUPPRESS, help="address of the service; the folder remembers it")
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object")
    parser.add_argument(
        "-q", "--quiet", action="store_true", default=argparse.SUPPRESS, help="print nothing if all is well"
    )
    parser.add_argument(
        "--timeout", type=float, default=argparse.SUPPRESS, metavar="SECONDS", help="how long to wait for data (30)"
    )


def _add_into(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--into", type=Path, metavar="DIR", help="folder of mods (default: this one, if it has any)")


def _add_download(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=_count, default=4, help="downloads at a time (4)")
    parser.add_argument("--max-bytes", type=_count, default=MAX_BYTES, help="refuse larger files (1 GiB)")
    parser.add_argument("--allow-missing", action="store_true", help="install although something is missing")
    parser.add_argument("--allow-conflicts", action="store_true", help="install although mods conflict")
    parser.add_argument("--allow-advised", action="store_true", help="install although the service warns of a file")


def _add_search(search: argparse.ArgumentParser) -> None:
    search.add_argument("words", nargs="*", type=_text, metavar="WORD", help="in the title or in a game's name")
    search.add_argument("--game", default="", type=_text, help="mods for this game")
    search.add_argument("--sort", choices=["new", "top"], default="new", help="order (new)")
    search.add_argument("--page", type=_count, default=1, help="page of the results (1)")
    search.add_argument("--size", type=_count, default=20, help="mods on a page (20)")


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """The command line."""
    parser = CommandParser(
        prog="modhub-get",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    _add_common(parser)
    added = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    _add_search(added.add_parser("search", help="find mods by title and game", allow_abbrev=False))
    show = added.add_parser("show", help="show a mod of the service", allow_abbrev=False)
    show.add_argument("words", nargs="+", type=_text, metavar="MOD", help=f"{REFERENCE_KINDS}, or its title")
    install = added.add_parser("install", help="install mods and what they require", allow_abbrev=False)
    install.add_argument("mods", nargs="*", metavar="MOD", help=REFERENCE_KINDS)
    install.add_argument("--lock", type=Path, metavar="FILE", help="install exactly what a lock file names")
    update = added.add_parser("update", help="update what is installed", allow_abbrev=False)
    check = added.add_parser("check", help="verify the files, and say what update would do", allow_abbrev=False)
    check.add_argument("--offline", action="store_true", help="only verify the files")
    check.add_argument("--allow-conflicts", action="store_true", help="say nothing of mods that conflict")
    remove = added.add_parser("remove", help="remove mods and what only they required", allow_abbrev=False)
    remove.add_argument("mods", nargs="+", metavar="MOD", help=REFERENCE_KINDS)
    installed = added.add_parser("list", help="list what is installed", allow_abbrev=False)
    installed.add_argument("words", nargs="*", type=_text, metavar="WORD", help="in the title")
    outdated = added.add_parser("outdated", help="list what has another file on the service", allow_abbrev=False)
    export = added.add_parser("export-lock", help="print a lock file of what is installed", allow_abbrev=False)
    export.add_argument("--output", type=Path, metavar="FILE", help="write to this file instead of standard output")
    completions = added.add_parser("completions", help="print completions for a shell", allow_abbrev=False)
    completions.add_argument("shell", choices=["bash", "zsh"], help="the shell")
    for command in (show, install, update, check, remove, installed, outdated, export):
        _add_into(command)
    for command in (install, update, remove):
        command.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    for command in (install, update):
        _add_download(command)
    for command in added.choices.values():
        _add_common(command)
    return parser
