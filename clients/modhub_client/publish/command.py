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
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from modhub_client.output import ClientError, WrongUse, take_every_character
from modhub_client.publish import mods, releases
from modhub_client.publish.client import DONE, PROGRAM, USAGE_ERROR, ServiceClient, complain
from modhub_client.publish.modfile import SCHEMA_FILE
from modhub_client.publish.report import StepReport, write_text

EXIT_HELP = """exit codes: 0 done; 1 rejected by the service; 2 usage error, nothing was sent; 3 the key was rejected:
do not retry; 4 unreachable, busy, or storage failed twice: retry later; 5 the service has no file storage configured"""
JSON_HELP = "print one JSON document: what changed, what did not, and the address"
LAYOUT: dict[str, Any] = {
    "formatter_class": argparse.RawDescriptionHelpFormatter,
    "allow_abbrev": False,
    "epilog": EXIT_HELP,
}


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(PROGRAM, description=__doc__, **LAYOUT)
    parser.add_argument("--url", default="", help="address of the service")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="file with the key, instead of MODHUB_API_KEY")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    app = commands.add_parser("app", help="publish a build for an operating system", **LAYOUT)
    app.add_argument("os", metavar="OS", help="windows, linux, macos or another short name")
    app.add_argument("file", type=Path, metavar="FILE", help="the build")
    app.add_argument("--version", default="", help="label of the build, free text")
    app.add_argument("--name", help="file name for downloads (default: that of FILE)")
    app.set_defaults(run=releases.release_app)
    changelog = commands.add_parser("changelog", help="add a section to the app changelog, or remove one", **LAYOUT)
    changelog.add_argument("file", nargs="?", metavar="FILE", help="plain text in UTF-8; - for standard input")
    changelog.add_argument("--pop", action="store_true", help="remove the newest section")
    changelog.set_defaults(run=releases.release_changelog)
    wiki = commands.add_parser("wiki", help="publish a folder of Markdown files as wiki pages", **LAYOUT)
    wiki.add_argument("folder", type=Path, metavar="DIR", help="each .md file is the page of its path")
    wiki.add_argument("--prune", action="store_true", help="remove the pages that have no file below DIR")
    wiki.set_defaults(run=releases.release_wiki)
    commands.add_parser("key", help="check the key", **LAYOUT).set_defaults(run=releases.check_key)
    _add_mod(commands.add_parser("mod", help="release a version of a mod", **LAYOUT))
    schema = commands.add_parser("schema", help="print the JSON schema of the TOML file, for editors", **LAYOUT)
    schema.add_argument("file", type=Path, nargs="?", metavar="FILE", help="write it there")
    schema.set_defaults(run=None)
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    for command in commands.choices.values():
        # Without a default here, as it would undo the option before the command.
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=JSON_HELP)
    return parser


def _add_mod(mod: argparse.ArgumentParser) -> None:
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


def parse_console_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. FILE of ``mod`` may follow options; argparse thinks by then that it was left out."""
    parser = build_parser()
    arguments, others = parser.parse_known_args(argv)
    if arguments.run is mods.release_mod and arguments.file is None and others and not others[0].startswith("-"):
        arguments.file = Path(others.pop(0))
    if others:
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    return arguments


def read_key(key_file: Path | None, environ: Mapping[str, str]) -> str:
    """The key, from the file if one is given."""
    try:
        key = (environ.get("MODHUB_API_KEY", "") if key_file is None else key_file.read_text("utf-8-sig")).strip()
    except UnicodeDecodeError:
        raise WrongUse(f"{key_file} is not UTF-8. Save it as UTF-8.") from None
    if not key:
        raise WrongUse("No key given: set MODHUB_API_KEY or use --key-file.")
    if not key.isprintable() or " " in key:
        place = "The key" if key_file is None else f"{key_file} must be UTF-8, and the key in it"
        raise WrongUse(f"{place} must not contain spaces or control characters.")
    return key


def write_schema(file: Path | None) -> None:
    """``schema [FILE]``: needs no service and no key. PowerShell would write what is printed as UTF-16."""
    if file is None:
        write_text(SCHEMA_FILE.read_text("utf-8"))
    else:
        file.write_bytes(SCHEMA_FILE.read_bytes())


def _run(arguments: argparse.Namespace) -> None:
    if arguments.run is None:
        write_schema(arguments.file)
        return
    service = ServiceClient(arguments.url, read_key(arguments.key_file, os.environ))
    if not service.is_private:
        complain("warning: the key is sent unencrypted; use https.")
    report = StepReport(is_dry=getattr(arguments, "dry_run", False), as_json=arguments.json)
    report.finish(arguments.run(service, arguments, report))


def main(argv: Sequence[str] | None = None) -> int:
    """The console script; returns one of EXIT_HELP."""
    take_every_character()
    arguments = parse_console_arguments(sys.argv[1:] if argv is None else argv)
    try:
        _run(arguments)
    except ClientError as problem:
        complain(str(problem))
        return problem.code
    except (OSError, UnicodeDecodeError) as problem:
        # Network errors are handled in ServiceClient; these are about local files.
        complain(str(problem))
        return USAGE_ERROR
    return DONE


if __name__ == "__main__":
    sys.exit(main())
