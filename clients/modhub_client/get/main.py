"""Installs mods from a modhub service into a folder, and keeps them up to date.

    modhub-get --url https://mods.example.org search rally
    modhub-get --url https://mods.example.org show rally
    modhub-get --url https://mods.example.org install MOD… --into DIR
    modhub-get list --into DIR
    modhub-get outdated --into DIR
    modhub-get update --into DIR
    modhub-get undo --into DIR
    modhub-get check --into DIR
    modhub-get remove MOD… --into DIR
    modhub-get export-lock --into DIR > mods.lock
    modhub-get --url https://mods.example.org install --lock mods.lock --into OTHER

MOD is a GUID, a number, the address of a mod's page such as https://mods.example.org/Modhub/12, or the link on that
page, modhub://install/GUID; for show also a title. A folder remembers the address of its service; --url or the
environment variable MODHUB_URL names it the first time, and --url a new one. Proxies are taken from the environment. No
command needs an account. Files are kept at DIR/{guid}/{name}; nothing is unpacked.

exit codes: 0 done; 1 the service warns of a file, rejected the request, or cannot be trusted; 2 usage error;
3 something is not on the service, or not installed, or there is no update to undo; 4 the service is unreachable or
busy: try again later; 5 mods conflict, or a mod is still required; 6 check found something; 7 the folder cannot be
used; 130 interrupted
"""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from modhub_client import __version__
from modhub_client.get import commands, listings
from modhub_client.get.folder import is_plain_directory, local_problem, replace_text
from modhub_client.get.installation import PRIVATE, ModInstallation, open_installation
from modhub_client.get.installer import Installer, InstallOptions
from modhub_client.get.lockfile import read_lock
from modhub_client.get.outcome import PROGRAM, ExitCode, Report
from modhub_client.get.plans import parse_references, resolve_installed, resolve_remote
from modhub_client.get.service import ModhubService
from modhub_client.names import REFERENCE_KINDS, parse_reference
from modhub_client.output import ClientError, WrongUse, printable, take_every_character, warn, write_now

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
    update.add_argument(
        "--cooldown", type=_count, default=0, metavar="DAYS", help="leave out files uploaded within these days"
    )
    undo = added.add_parser("undo", help="put back what the last update replaced", allow_abbrev=False)
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
    for command in (show, install, update, undo, check, remove, installed, outdated, export):
        _add_into(command)
    for command in (install, update, undo, remove):
        command.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    for command in (install, update):
        _add_download(command)
    for command in added.choices.values():
        _add_common(command)
    return parser


def _run_search(arguments: argparse.Namespace) -> Report:
    """``search``"""
    query = {"q": " ".join(arguments.words), "game": arguments.game, "sort": arguments.sort}
    with _service(arguments) as service:
        return listings.search_mods(service, {**query, "page": arguments.page, "size": arguments.size})


def _run_show(arguments: argparse.Namespace) -> Report:
    """``show``: with a folder it says what is installed there, too."""
    words = " ".join(arguments.words)
    reference = parse_reference(words)
    page = reference.service if reference else ""
    if arguments.into is None and not is_plain_directory(Path(PRIVATE)):
        with _service(arguments, page=page) as service:
            return listings.show_mod(service, words, None)
    with _asking(arguments, page=page) as (service, installation):
        return listings.show_mod(service, words, installation)


def _run_install(arguments: argparse.Namespace) -> Report:
    """``install``"""
    if bool(arguments.mods) == (arguments.lock is not None):
        raise WrongUse("install takes either mods or --lock FILE.")
    references = parse_references(arguments.mods)
    entries = read_lock(arguments.lock) if arguments.lock else []
    page = next((reference.service for reference in references if reference.service), "")
    with _installing(arguments, page=page) as installer:
        if arguments.lock:
            return commands.install_lock(installer, entries, dry_run=arguments.dry_run)
        guids = resolve_remote(installer.service, references)
        if arguments.dry_run:
            return commands.preview_plan(installer, guids, update=False)
        return commands.install_mods(installer, guids)


def _run_update(arguments: argparse.Namespace) -> Report:
    """``update``"""
    with _installing(arguments, update=True) as installer:
        return commands.update_mods(installer, dry_run=arguments.dry_run)


def _run_undo(arguments: argparse.Namespace) -> Report:
    """``undo``"""
    with open_installation(_folder(arguments), create=False) as installation:
        return commands.undo_update(installation, dry_run=arguments.dry_run)


def _run_check(arguments: argparse.Namespace) -> Report:
    """``check``"""
    if arguments.offline:
        with open_installation(_folder(arguments), create=False) as installation:
            return listings.check_mods(None, installation, allow_conflicts=True)
    with _asking(arguments) as (service, installation):
        return listings.check_mods(service, installation, allow_conflicts=arguments.allow_conflicts)


def _run_remove(arguments: argparse.Namespace) -> Report:
    """``remove``"""
    references = parse_references(arguments.mods)
    with open_installation(_folder(arguments), create=False) as installation:
        guids = resolve_installed(installation.state, references)
        return commands.remove_mods(installation, guids, dry_run=arguments.dry_run)


def _run_list(arguments: argparse.Namespace) -> Report:
    """``list``"""
    with open_installation(_folder(arguments), create=False) as installation:
        return listings.list_mods(installation, " ".join(arguments.words))


def _run_outdated(arguments: argparse.Namespace) -> Report:
    """``outdated``"""
    with _asking(arguments) as (service, installation):
        return listings.list_outdated(service, installation)


def _run_export_lock(arguments: argparse.Namespace) -> Report:
    """``export-lock``: to a file or to standard output, the same bytes either way."""
    with open_installation(_folder(arguments), create=False) as installation:
        text = commands.export_lock(installation)
    if arguments.output is None:
        return Report([], text=text, answers=True)
    replace_text(arguments.output, text)
    return Report([f"Wrote {arguments.output}."], {"lock": str(arguments.output)})


def _run_completions(arguments: argparse.Namespace) -> Report:
    """``completions``"""
    file = Path(__file__).parent / "completions" / COMPLETIONS[arguments.shell]
    return Report([], text=file.read_text("utf-8"), answers=True)


def _folder(arguments: argparse.Namespace) -> Path:
    if arguments.into is None and not is_plain_directory(Path(PRIVATE)):
        raise WrongUse("Name the folder with --into DIR.")
    return Path(arguments.into or ".")


def _service(arguments: argparse.Namespace, remembered: str = "", *, page: str = "") -> ModhubService:
    """The service; ``page`` is that of an address among the arguments, if nothing else names one."""
    url = arguments.url or remembered or os.environ.get("MODHUB_URL", "") or page
    if not url:
        raise WrongUse("Name the service with --url.")
    service = ModhubService(url, arguments.timeout)
    if not service.is_private:
        warn(PROGRAM, "warning: the connection is not encrypted; use https.")
    return service


@contextlib.contextmanager
def _asking(arguments: argparse.Namespace, *, page: str = "") -> Iterator[tuple[ModhubService, ModInstallation]]:
    with (
        open_installation(_folder(arguments), create=False) as installation,
        _service(arguments, installation.state.url, page=page) as service,
    ):
        yield service, installation


@contextlib.contextmanager
def _installing(arguments: argparse.Namespace, *, update: bool = False, page: str = "") -> Iterator[Installer]:
    with open_installation(_folder(arguments), create=not update) as installation:
        options = InstallOptions(
            jobs=arguments.jobs,
            most_bytes=arguments.max_bytes,
            # What has gone from the service is no reason to leave the rest as it is.
            allow_missing=update or arguments.allow_missing,
            allow_conflicts=arguments.allow_conflicts,
            allow_advised=arguments.allow_advised,
            terminal=None if arguments.json or arguments.quiet else sys.stderr,
            undoable=update,
            cooldown=arguments.cooldown if update else 0,
        )
        with _service(arguments, installation.state.url, page=page) as service:
            yield Installer(service, installation, options)


RUNS = {
    "search": _run_search,
    "show": _run_show,
    "install": _run_install,
    "update": _run_update,
    "undo": _run_undo,
    "check": _run_check,
    "remove": _run_remove,
    "list": _run_list,
    "outdated": _run_outdated,
    "export-lock": _run_export_lock,
    "completions": _run_completions,
}


def main(argv: Sequence[str] | None = None) -> int:
    """The console script. The module's docstring explains the exit codes."""
    take_every_character()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = make_parser(__doc__).parse_args(words, argparse.Namespace(**DEFAULTS))
    except WrongArguments as problem:
        write_now(sys.stderr, problem.usage)
        return _print_failure(ClientError(ExitCode.WRONG_CALL, f"{problem}."), as_json="--json" in words)
    try:
        report = RUNS[arguments.command](arguments)
    except ClientError as problem:
        return _fail(arguments, problem)
    except OSError as problem:
        # Network errors are handled in ModhubService; these are about local files.
        return _fail(arguments, local_problem(problem))
    except UnicodeEncodeError:
        return _fail(arguments, ClientError(ExitCode.FOLDER, "The locale allows no such file name; set PYTHONUTF8=1."))
    except KeyboardInterrupt:
        _fail(arguments, ClientError(ExitCode.INTERRUPTED, "Interrupted; run the command again to continue."))
        # Downloads may be waiting for the network. A run may end anywhere: what is in place is whole.
        os._exit(ExitCode.INTERRUPTED)
    return _print_report(report, arguments)


def _print_report(report: Report, arguments: argparse.Namespace) -> int:
    """Print what was done: it is done even if that cannot be printed, unless the command only prints."""
    for notice in report.notices:
        warn(PROGRAM, notice)
    text = report.text
    if arguments.json and report.fields:
        # In ASCII: a service's text must not break the output, whatever its encoding is.
        text = json.dumps({"exit": int(report.code), **report.fields}) + "\n"
    elif not arguments.json and (report.answers or report.code or not arguments.quiet):
        text += "".join(f"{printable(line)}\n" for line in report.lines)
    problem = write_now(sys.stdout, text, exact=bool(report.text)) if text else None
    if problem is None:
        return int(report.code)
    if report.answers:
        warn(PROGRAM, f"The output could not be written: {local_problem(problem)}")
        return int(ExitCode.FOLDER)
    warn(PROGRAM, f"The command is done, but its output could not be written: {local_problem(problem)}")
    return int(report.code)


def _fail(arguments: argparse.Namespace, problem: ClientError) -> int:
    warn(PROGRAM, str(problem))
    return _print_failure(problem, as_json=arguments.json)


def _print_failure(problem: ClientError, *, as_json: bool) -> int:
    if as_json:
        described = {"error": ExitCode(problem.code).name.lower(), "message": str(problem), **problem.details}
        write_now(sys.stdout, json.dumps({"exit": int(problem.code), **described}) + "\n")
    return int(problem.code)


if __name__ == "__main__":
    sys.exit(main())
