"""Installs mods from a modhub service into a folder, and keeps them up to date.

    modhub-get --url https://mods.example.org search rally
    modhub-get --url https://mods.example.org install GUID… --into DIR
    modhub-get update --into DIR
    modhub-get check --into DIR
    modhub-get remove GUID… --into DIR
    modhub-get export-lock --into DIR > mods.lock
    modhub-get --url https://mods.example.org install --lock mods.lock --into OTHER

A folder remembers the address of its service; --url or the environment variable MODHUB_URL names it the first time, and
--url a new one. No command needs an account. Files are kept at DIR/{guid}/{name}; nothing is unpacked.

exit codes: 0 done; 1 the service rejected the request, or its response cannot be trusted; 2 usage error;
3 something is not on the service, or not installed; 4 the service is unreachable or busy: try again later; 5 mods
conflict, or a mod is still required; 6 check found damaged files or updates; 7 the folder cannot be used;
130 interrupted
"""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from modhub_get import commands
from modhub_get.commands import Report
from modhub_get.folder import is_plain_directory, local_problem, replace_text
from modhub_get.installation import PRIVATE, open_installation
from modhub_get.installer import Installer, InstallOptions
from modhub_get.lockfile import read_lock
from modhub_get.names import parse_guid
from modhub_get.outcome import ExitCode, GetError
from modhub_get.service import ModhubService

LOOPBACK_HOSTS = ("http://127.0.0.1", "http://localhost", "http://[::1]")
MAX_BYTES = 1 << 30
DEFAULTS = {"url": None, "json": False, "timeout": 30.0}


def _run_search(arguments: argparse.Namespace) -> Report:
    """``search``"""
    query = {"q": " ".join(arguments.words), "game": arguments.game, "sort": arguments.sort}
    with _service(arguments, "") as service:
        return commands.search_mods(service, {**query, "page": arguments.page, "size": arguments.size})


def _run_install(arguments: argparse.Namespace) -> Report:
    """``install``"""
    if bool(arguments.guids) == (arguments.lock is not None):
        raise GetError(ExitCode.WRONG_CALL, "install takes either GUIDs or --lock FILE.")
    guids = _parse_guids(arguments.guids)
    entries = read_lock(arguments.lock) if arguments.lock else []
    with _installing(arguments) as installer:
        return commands.install_lock(installer, entries) if arguments.lock else commands.install_mods(installer, guids)


def _run_update(arguments: argparse.Namespace) -> Report:
    """``update``"""
    with _installing(arguments, update=True) as installer:
        return commands.update_mods(installer)


def _run_check(arguments: argparse.Namespace) -> Report:
    """``check``"""
    with open_installation(_folder(arguments), create=False) as installation:
        if arguments.offline:
            return commands.check_mods(None, installation)
        with _service(arguments, installation.state.url) as service:
            return commands.check_mods(service, installation)


def _run_remove(arguments: argparse.Namespace) -> Report:
    """``remove``"""
    guids = _parse_guids(arguments.guids)
    with open_installation(_folder(arguments), create=False) as installation:
        return commands.remove_mods(installation, guids)


def _run_export_lock(arguments: argparse.Namespace) -> Report:
    """``export-lock``: to a file or to standard output, the same bytes either way."""
    with open_installation(_folder(arguments), create=False) as installation:
        text = commands.export_lock(installation)
    if arguments.output is None:
        sys.stdout.write(text)
        return Report([])
    replace_text(arguments.output, text)
    return Report([f"Wrote {arguments.output}."], {"lock": str(arguments.output)})


def _folder(arguments: argparse.Namespace) -> Path:
    if arguments.into is None and not is_plain_directory(Path(PRIVATE)):
        raise GetError(ExitCode.WRONG_CALL, "Name the folder with --into DIR.")
    return Path(arguments.into or ".")


def _service(arguments: argparse.Namespace, remembered: str) -> ModhubService:
    url = arguments.url or remembered or os.environ.get("MODHUB_URL", "")
    if not url:
        raise GetError(ExitCode.WRONG_CALL, "Name the service with --url.")
    if url.startswith("http://") and not url.startswith(LOOPBACK_HOSTS):
        sys.stderr.write("modhub-get: warning: the connection is not encrypted; use https.\n")
    return ModhubService(url, arguments.timeout)


@contextlib.contextmanager
def _installing(arguments: argparse.Namespace, *, update: bool = False) -> Iterator[Installer]:
    with open_installation(_folder(arguments), create=not update) as installation:
        options = InstallOptions(
            jobs=arguments.jobs,
            most_bytes=arguments.max_bytes,
            # What has gone from the service is no reason to leave the rest as it is.
            allow_missing=update or arguments.allow_missing,
            allow_conflicts=arguments.allow_conflicts,
            terminal=None if arguments.json else sys.stderr,
        )
        with _service(arguments, installation.state.url) as service:
            yield Installer(service, installation, options)


def _parse_guids(words: Sequence[str]) -> list[str]:
    parsed = {word: parse_guid(word) for word in words}
    if wrong := [word for word, guid in parsed.items() if guid is None]:
        raise GetError(ExitCode.WRONG_CALL, f"Not a GUID: {', '.join(wrong)}")
    return list(dict.fromkeys(guid for guid in parsed.values() if guid))


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 50:
        raise argparse.ArgumentTypeError("a number from 1")
    return int(text)


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Options that may stand before the command or after it; `DEFAULTS` has their defaults."""
    parser.add_argument("--url", default=argparse.SUPPRESS, help="address of the service; the folder remembers it")
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object")
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


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="modhub-get",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_common(parser)
    added = parser.add_subparsers(required=True, metavar="COMMAND")
    search = added.add_parser("search", help="find mods by title and game", allow_abbrev=False)
    search.add_argument("words", nargs="*", metavar="WORD", help="in the title or in a game's name")
    search.add_argument("--game", default="", help="mods for this game")
    search.add_argument("--sort", choices=["new", "top"], default="new", help="order (new)")
    search.add_argument("--page", type=_count, default=1, help="page of the results (1)")
    search.add_argument("--size", type=_count, default=20, help="mods on a page (20)")
    search.set_defaults(run=_run_search)
    install = added.add_parser("install", help="install mods and what they require", allow_abbrev=False)
    install.add_argument("guids", nargs="*", metavar="GUID", help="mod to install")
    install.add_argument("--lock", type=Path, metavar="FILE", help="install exactly what a lock file names")
    update = added.add_parser("update", help="update what is installed", allow_abbrev=False)
    check = added.add_parser("check", help="verify the files, and ask for updates", allow_abbrev=False)
    check.add_argument("--offline", action="store_true", help="only verify the files")
    remove = added.add_parser("remove", help="remove mods and what only they required", allow_abbrev=False)
    remove.add_argument("guids", nargs="+", metavar="GUID", help="mod to remove")
    export = added.add_parser("export-lock", help="print a lock file of what is installed", allow_abbrev=False)
    export.add_argument("--output", type=Path, metavar="FILE", help="write to this file instead of standard output")
    runs = {
        install: _run_install,
        update: _run_update,
        check: _run_check,
        remove: _run_remove,
        export: _run_export_lock,
    }
    for command, run in runs.items():
        _add_into(command)
        command.set_defaults(run=run)
    for command in (install, update):
        _add_download(command)
    for command in (search, *runs):
        _add_common(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The console script. The module's docstring explains the exit codes."""
    arguments = make_parser().parse_args(argv, argparse.Namespace(**DEFAULTS))
    try:
        report = arguments.run(arguments)
    except GetError as problem:
        return _fail(arguments, problem)
    except OSError as problem:
        # Network errors are handled in ModhubService; these are about local files.
        return _fail(arguments, local_problem(problem))
    except KeyboardInterrupt:
        _fail(arguments, GetError(ExitCode.INTERRUPTED, "Interrupted; run the command again to continue."))
        # Downloads may be waiting for the network. A run may end anywhere: what is in place is whole.
        os._exit(ExitCode.INTERRUPTED)
    if arguments.json and report.fields:
        _print_json({"exit": int(report.code), **report.fields})
    elif not arguments.json:
        sys.stdout.write("".join(f"{_printable(line)}\n" for line in report.lines))
    return int(report.code)


def _fail(arguments: argparse.Namespace, problem: GetError) -> int:
    sys.stderr.write(f"modhub-get: {_printable(str(problem))}\n")
    if arguments.json:
        _print_json(
            {"exit": int(problem.code), "error": problem.code.name.lower(), "message": str(problem), **problem.details}
        )
    sys.stderr.flush()
    return int(problem.code)


def _print_json(document: object) -> None:
    # In ASCII: a service's text must not break the output, whatever its encoding is.
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _printable(text: str) -> str:
    """What a service sent must not control the terminal."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


if __name__ == "__main__":
    sys.exit(main())
