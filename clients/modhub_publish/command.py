"""The console script: the commands of :mod:`modhub_publish.publish`, and ``mod`` for authors with a publisher key."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from modhub_publish import mods, publish
from modhub_publish.releases import ReleaseRun


def build_mod_parser() -> argparse.ArgumentParser:
    """The command line of ``mod``."""
    parser = argparse.ArgumentParser(prog="modhub-publish", allow_abbrev=False)
    parser.add_argument("--url", required=True, help="address of the service")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="file with the key, instead of MODHUB_API_KEY")
    mod = parser.add_subparsers(required=True, metavar="COMMAND").add_parser("mod", help="release a version of a mod")
    mod.add_argument("id", type=int, metavar="ID", help="the number of the mod")
    mod.add_argument("file", type=Path, metavar="FILE")
    mod.add_argument("--version", required=True)
    mod.add_argument("--image", type=Path, action="append", default=[], metavar="FILE", help="may be repeated")
    mod.add_argument("--css", type=Path, metavar="FILE")
    mod.add_argument("--changelog", metavar="TEXT", help="what is new in this version")
    mod.add_argument("--publish", action="store_true", help="publish the mod if it is a draft")
    mod.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def run_mod_command(argv: Sequence[str]) -> int:
    """``mod``; the exit codes are those of :mod:`modhub_publish.publish`."""
    arguments = build_mod_parser().parse_args(argv)
    try:
        key = publish.read_key(arguments.key_file, os.environ)
        mods.release_mod(arguments.url, key, arguments)
    except publish.Failure as failure:
        sys.stderr.write(f"modhub-publish: {failure}\n")
        return failure.code
    except OSError as problem:
        sys.stderr.write(f"modhub-publish: {problem}\n")
        return publish.UNAVAILABLE
    return publish.DONE


def names_mod(argv: Sequence[str]) -> bool:
    """Whether ``mod`` is the command, after the options that all commands share."""
    words = iter(argv)
    for word in words:
        if word in {"--url", "--key-file"}:
            next(words, None)
        elif not word.startswith("-"):
            return word == "mod"
    return False


def main(argv: Sequence[str] | None = None) -> int:
    """The console script."""
    words = sys.argv[1:] if argv is None else argv
    if names_mod(words):
        return run_mod_command(words)
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("--json", action="store_true")
    known, rest = options.parse_known_args(words)
    return publish.main(rest, ReleaseRun(as_json=known.json).run)
