"""``modhub-admin migration new PACKAGE "message"``: an empty alembic revision for a package (docs/migrations.md)."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modhub.base.settings import StartRefused
from modhub.content import text
from modhub.content.limits import TITLE
from modhub.declarations import Migrations, add_dry_run_option
from modhub.ops.migrate import revision_scripts

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory


def create_migration(package: Migrations, message: str) -> Path:
    """Write the next revision of ``package`` and return its file; its parent is the newest revision.

    Raises :class:`modhub.base.settings.StartRefused` with one sentence for the developer.
    """
    sentence = text.line(message, TITLE)
    if not re.search(r"\w", sentence):
        raise StartRefused("a migration needs a message that says what it does")
    scripts = revision_scripts(package)
    folder = Path(package.folder) / "versions"
    # The message becomes the module's docstring.
    quoted = sentence.replace("\\", "\\\\").replace('"', '\\"')
    revision = _next_revision(package, scripts)
    try:
        created = scripts.generate_revision(revision, quoted, head="head", version_path=folder)
    except OSError as error:
        cause = error.strerror or type(error).__name__
        raise StartRefused(f"the folder {folder} cannot be written: {cause}") from None
    assert created is not None
    return Path(created.path)


def _next_revision(package: Migrations, scripts: "ScriptDirectory") -> str:
    """``PREFIX_NNNN``: one more than the highest number so far."""
    pattern = re.compile(rf"{re.escape(package.table_prefix)}(\d+)")
    matches = (pattern.fullmatch(script.revision) for script in scripts.walk_revisions())
    highest = max((int(match[1]) for match in matches if match), default=0)
    return f"{package.table_prefix}{highest + 1:04}"


def run_migration_new(admin: Any, arguments: argparse.Namespace) -> int:
    """Write the file and print its path."""
    packages = {package.package: package for package in admin.declarations.migrations}
    if arguments.package not in packages:
        declared = ", ".join(packages)
        raise StartRefused(f"no included package {arguments.package} declares migrations; those that do: {declared}")
    package = packages[arguments.package]
    if arguments.dry_run:
        revision = _next_revision(package, revision_scripts(package))
        admin.say(f"Would write the migration {revision} in {Path(package.folder) / 'versions'}. Nothing was changed.")
        return 0
    admin.say(str(create_migration(package, arguments.message)))
    return 0


def migration_arguments(parser: argparse.ArgumentParser) -> None:
    """``new PACKAGE MESSAGE``"""
    parser.add_argument("action", choices=["new"])
    parser.add_argument("package", metavar="PACKAGE", help="a package that has migrations, such as modhub_bookmarks")
    parser.add_argument("message", metavar="MESSAGE", help="what the migration does, in one line")
    add_dry_run_option(parser, "say which file would be written, write none")
