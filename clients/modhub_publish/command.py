"""Publishes mods, app builds, sections of the app changelog, and wiki pages.

    modhub-publish --url https://mods.example.org mod 12 dist/mod.zip --version 1.4 --publish
    modhub-publish --url … app windows dist/modhub.zip --version 1.4
    modhub-publish --url … changelog section.txt        (- reads standard input)
    modhub-publish --url … wiki docs/
    modhub-publish --url … key

Only what the service does not have yet is sent, so a release job can run again. The key comes from the environment
variable MODHUB_API_KEY or from the file given with --key-file, never from an argument: for `mod` a publisher key from
the account page, for everything else a machine key. Publish builds first, then the changelog.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from modhub_publish import mods, publish
from modhub_publish.releases import ReleaseRun

JSON_HELP = "print one JSON document: what changed, what did not, and the address"


def build_console_parser() -> argparse.ArgumentParser:
    """The command line: that of :mod:`modhub_publish.publish`, with ``mod`` and ``--json``."""
    parser, commands = publish.build_parser(__doc__)
    mod = commands.add_parser(
        "mod",
        help="release a version of a mod",
        epilog=publish.EXIT_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    mod.add_argument("id", type=int, metavar="ID", help="number of the mod")
    mod.add_argument("file", type=Path, metavar="FILE", help="code file")
    mod.add_argument("--version", required=True, help="version of the code")
    mod.add_argument("--image", type=Path, action="append", default=[], metavar="FILE", help="image; may be repeated")
    mod.add_argument("--css", type=Path, metavar="FILE", help="style sheet")
    mod.add_argument("--changelog", metavar="TEXT", help="what is new in this version")
    mod.add_argument("--publish", action="store_true", help="publish the mod if it is a draft")
    mod.set_defaults(run=mods.release_mod)
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    for command in commands.choices.values():
        # Without a default here, as it would undo the option before the command.
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=JSON_HELP)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The console script."""
    arguments = build_console_parser().parse_args(sys.argv[1:] if argv is None else argv)
    if arguments.run is not mods.release_mod:
        arguments.run = _send_what_differs(arguments.run, as_json=arguments.json)
    return publish.run_and_report(arguments)


def _send_what_differs(command: Any, *, as_json: bool) -> Callable[[publish.ServiceClient, argparse.Namespace], None]:
    return ReleaseRun(command, as_json=as_json).run
