"""Publishes mods, app builds, sections of the app changelog, and wiki pages.

    modhub-publish --url https://mods.example.org mod mod.toml --version 1.4 --publish
    modhub-publish --url … mod 12 dist/mod.zip --version 1.4 --publish
    modhub-publish --url … app windows dist/modhub.zip --version 1.4
    modhub-publish --url … changelog section.txt        (- reads standard input)
    modhub-publish --url … wiki docs/
    modhub-publish --url … key
    modhub-publish schema mod.schema.json

Only what the service does not have yet is sent, so a build pipeline can run again. The key comes from the environment
variable MODHUB_API_KEY or from the file given with --key-file, never from an argument: for `mod` a publisher key from
the account page, for everything else a machine key. Publish builds first, then the changelog.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from modhub_client.publish import mods, publish
from modhub_client.publish.releases import ReleaseRun
from modhub_client.publish.schema import SCHEMA_FILE

JSON_HELP = "print one JSON document: what changed, what did not, and the address"


def build_console_parser() -> argparse.ArgumentParser:
    """The command line: that of :mod:`modhub_client.publish.publish`, with ``mod`` and ``--json``."""
    parser, commands = publish.build_parser(__doc__)
    mod = commands.add_parser(
        "mod",
        help="release a version of a mod",
        epilog=publish.EXIT_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    mod.add_argument(
        "mod", metavar="MOD", help="TOML file; or the GUID, the number or the address of the page of a mod"
    )
    mod.add_argument("file", type=Path, nargs="?", metavar="FILE", help="code file")
    mod.add_argument("--version", help="version of the code")
    mod.add_argument("--image", type=Path, action="append", default=[], metavar="FILE", help="image; may be repeated")
    mod.add_argument("--css", type=Path, metavar="FILE", help="style sheet")
    mod.add_argument("--changelog", metavar="TEXT", help="what is new in this version")
    mod.add_argument("--publish", action="store_true", help="publish the mod if it is a draft")
    mod.add_argument("--allow-problems", action="store_true", help="publish it with the problems of its rehearsal too")
    mod.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    mod.add_argument("--create", action="store_true", help="create the mod of a TOML file without a guid")
    mod.add_argument("--prune", action="store_true", help="remove the images that the TOML file does not name")
    mod.add_argument(
        "--mod", dest="mod_elsewhere", metavar="MOD", help="instead of the guid of the TOML file: for another service"
    )
    mod.set_defaults(run=mods.release_mod)
    schema = commands.add_parser(
        "schema", help="print the JSON schema of the TOML file, for editors", allow_abbrev=False
    )
    schema.add_argument("file", type=Path, nargs="?", metavar="FILE", help="write it there")
    schema.set_defaults(run=None)
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    for command in commands.choices.values():
        # Without a default here, as it would undo the option before the command.
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=JSON_HELP)
    return parser


def parse_console_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. FILE of ``mod`` may follow options; argparse thinks by then that it was left out."""
    parser = build_console_parser()
    arguments, others = parser.parse_known_args(argv)
    if arguments.run is mods.release_mod and arguments.file is None and others and not others[0].startswith("-"):
        arguments.file = Path(others.pop(0))
    if others:
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    return arguments


def write_schema(file: Path | None) -> int:
    """``schema [FILE]``: needs no service and no key. PowerShell would write what is printed as UTF-16."""
    try:
        if file is None:
            publish.say(SCHEMA_FILE.read_text("utf-8").rstrip())
        else:
            file.write_bytes(SCHEMA_FILE.read_bytes())
    except OSError as problem:
        publish.complain(str(problem))
        return publish.USAGE_ERROR
    return publish.DONE


def main(argv: Sequence[str] | None = None) -> int:
    """The console script."""
    arguments = parse_console_arguments(sys.argv[1:] if argv is None else argv)
    if arguments.run is None:
        return write_schema(arguments.file)
    if arguments.run is not mods.release_mod:
        arguments.run = _send_what_differs(arguments.run, as_json=arguments.json)
    return publish.run_and_report(arguments)


def _send_what_differs(command: Any, *, as_json: bool) -> Callable[[publish.ServiceClient, argparse.Namespace], None]:
    return ReleaseRun(command, as_json=as_json).run
