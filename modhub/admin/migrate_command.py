"""``modhub-admin migrate``: bring the schema up to date, to a revision, back to one, or show what would be done."""

import argparse
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from modhub.base.settings import StartRefused
from modhub.declarations import Migrations
from modhub.ops import migrate
from modhub.ops.compatibility import oldest_compatible
from modhub.ops.downgrade import downgrade
from modhub.ops.migration_plan import revisions_to_apply, revisions_to_undo
from modhub.ops.schema_state import SchemaState, packages_in, refuse_newer, schema_states


def run_migrate(admin: Any, arguments: argparse.Namespace) -> int:
    """Migrate, or print the plan."""
    if arguments.json and not arguments.plan:
        raise StartRefused("--json needs --plan; nothing was migrated")
    if arguments.plan:
        print_plan(admin, arguments.to, arguments.down, as_json=arguments.json)
    elif arguments.down:
        migrate_down(admin, arguments.down)
    elif arguments.to:
        migrate_to(admin, arguments.to)
    else:
        migrate_all(admin)
    return 0


def migrate_all(admin: Any) -> None:
    """Bring every package to its newest revision."""
    packages = admin.declarations.migrations
    changed = migrate.upgrade_or_refuse(admin.databases, packages)
    newer = migrate.refuse_when_behind(admin.databases, packages)
    if newer:
        admin.say(f"The database is newer than this code ({', '.join(newer)}), and compatible with it.")
    if changed:
        admin.say(f"Migrated: {', '.join(changed)}.")
    elif not newer:
        admin.say("The database is up to date.")
    states = migrate.with_connection(admin.databases, lambda connection: schema_states(connection, packages))
    if packages_in(states, SchemaState.CONTRACTS_LATER):
        admin.say("It still has what older code uses: run this again when none of its processes is left.")


def migrate_to(admin: Any, revision: str) -> None:
    """Bring the package that has ``revision`` up to it, and leave the others as they are."""
    package = package_with(admin, revision)

    def change() -> bool:
        with migrate.migration_lock(admin.databases) as connection:
            if not revisions_to_apply(connection, package, revision):
                return False
            migrate.upgrade_package(connection, package, revision)
            migrate.record_applied(connection, package)
        return True

    changed = migrate.run_or_refuse(admin.databases, [package], change)
    admin.say(f"Migrated {package.package} to {revision}." if changed else f"{package.package} is at {revision}.")


def migrate_down(admin: Any, revision: str) -> None:
    """Take the package that has ``revision`` back to it, unless something would be lost."""
    package = package_with(admin, revision)
    changed = migrate.run_or_refuse(admin.databases, [package], lambda: downgrade(admin.databases, package, revision))
    done = f"Migrated {package.package} back to {revision}." if changed else f"{package.package} is at {revision}."
    admin.say(done)


def package_with(admin: Any, revision: str) -> Migrations:
    """The package with a migration of this id. Raises `StartRefused` if there is none."""
    for package in admin.declarations.migrations:
        if revision in {script.revision for script in migrate.revision_scripts(package).walk_revisions()}:
            declared: Migrations = package
            return declared
    raise StartRefused(f"no included package has a migration {revision}; modhub-admin migrate --plan lists new ones")


def print_plan(admin: Any, to: str | None, down: str | None, *, as_json: bool = False) -> None:
    """Print the migrations that would run, in their order, and change nothing."""
    revision = to or down
    packages = [package_with(admin, revision)] if revision else admin.declarations.migrations

    def plan(connection: Connection | None) -> list[dict[str, str]]:
        steps = []
        for package in packages:
            if connection is not None:
                refuse_newer(schema_states(connection, [package]))
            if down:
                scripts = revisions_to_undo(connection, package, down)
            else:
                scripts = revisions_to_apply(connection, package, to)
            steps += [_step_document(package, script, "undo" if down else "apply") for script in scripts]
        return steps

    databases = admin.databases
    steps = plan(None) if databases.has_no_file else migrate.with_connection(databases, plan)
    if as_json:
        for step in steps:
            admin.say_json(step)
        return
    for line in [describe_step(step) for step in steps] or ["There is nothing to migrate."]:
        admin.say(line)


def _step_document(package: Migrations, script: Any, verb: str) -> dict[str, str]:
    """One step of the plan. ``compatibleWith`` is the oldest revision whose code can work with its result."""
    return {
        "package": package.package,
        "action": verb,
        "revision": script.revision,
        "message": str(script.doc).rstrip("."),
        "compatibleWith": oldest_compatible(migrate.revision_scripts(package), script.revision),
    }


def describe_step(step: Mapping[str, str]) -> str:
    """One line of the plan."""
    oldest = step["compatibleWith"]
    compatible = "" if oldest == step["revision"] else f", compatible with the code of {oldest}"
    return f"{step['package']}: {step['action']} {step['revision']} ({step['message']}){compatible}"


def migrate_arguments(parser: argparse.ArgumentParser) -> None:
    """``--plan``, ``--to REVISION``, ``--down REVISION``"""
    parser.add_argument(
        "--plan", "--dry-run", action="store_true", help="print what would be migrated and change nothing"
    )
    parser.add_argument("--json", action="store_true", help="with --plan: one JSON object per line")
    direction = parser.add_mutually_exclusive_group()
    direction.add_argument("--to", metavar="REVISION", help="migrate one package up to this revision and no further")
    direction.add_argument(
        "--down", metavar="REVISION", help="take one package back to this revision; refused if data would be lost"
    )
