"""The core's first commands of ``modhub-admin``: migrations, checks, keys, samples."""

import argparse
import secrets
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.path import DottedNameResolver

from modhub.admin import migrate
from modhub.admin.doctor import find_feature_problems, run_doctor
from modhub.admin.start_checks import start_warnings
from modhub.plugins.commands import AdminCommand, add_dry_run_option, add_json_option
from modhub.web.openapi import encode_description
from modhub.web.request import Request

_KEY_EXAMPLES: Final = """\
key new                a key with the default scope; lists all scopes
key new SCOPE SCOPE    a key with these scopes"""


def run_migrate(admin: Any, arguments: argparse.Namespace) -> int:
    """Bring every package to its newest revision."""
    packages = admin.declarations.migrations
    if arguments.dry_run:
        behind = ", ".join(migrate.packages_behind(admin.databases, packages)) or "nothing"
        admin.say(f"Would migrate: {behind}. Nothing was changed.")
        return 0
    changed = migrate.upgrade_or_refuse(admin.databases, packages)
    admin.say(f"Migrated: {', '.join(changed)}." if changed else "The database is up to date.")
    return 0


def run_check(admin: Any, _arguments: argparse.Namespace) -> int:
    """Report that the service can start, with the warnings of a start; what prevents it has been reported before."""
    for sentence in (*start_warnings(admin.registry), *find_feature_problems(admin)):
        admin.warn(sentence)
    admin.say("The configuration is valid and the database is up to date.")
    return 0


def run_key_new(admin: Any, arguments: argparse.Namespace) -> int:
    """Print a new machine key for the operator to put into the ini; it is not stored."""
    admin.say(" ".join([secrets.token_hex(32), *arguments.scope]))
    admin.say("Add this line to ApiPrivateKeys and give the first word to the build agent.")
    for name, description in sorted(admin.declarations.scopes.items()):
        admin.say(f"Scope {name}: {description}.")
    for name in sorted(set(arguments.scope) - admin.declarations.scopes.keys()):
        admin.say(f"No included feature declares the scope {name}: it allows nothing.")
    return 0


def run_openapi(admin: Any, _arguments: argparse.Namespace) -> int:
    """Print the description of the API that this configuration serves at ``/api/openapi.json`` (C-API-7)."""
    request = Request.blank("/")
    request.registry = admin.registry
    admin.say(encode_description(request).decode())
    return 0


def _scope(value: str) -> str:
    if value.split() != [value]:
        raise argparse.ArgumentTypeError(f"{value!r} is not one word")
    return value


def key_arguments(parser: argparse.ArgumentParser) -> None:
    """``key new [SCOPE ...]``"""
    parser.add_argument("action", choices=["new"])
    parser.add_argument("scope", nargs="*", type=_scope, help="scopes to grant; none means the default scope")


def run_demo(admin: Any, arguments: argparse.Namespace) -> int:
    """Fill a new installation with samples."""
    resolver = DottedNameResolver()
    for name, fill in admin.declarations.demos:
        if arguments.dry_run:
            admin.say(f"Would add samples, if there are none: {name}.")
            continue
        resolver.maybe_resolve(fill)(admin)
        # It may have found some already.
        admin.say(f"Samples are there: {name}.")
    return 0


def no_arguments(_parser: argparse.ArgumentParser) -> None:
    """For a command without arguments of its own."""


COMMANDS = (
    AdminCommand(
        "migrate",
        "bring the database's schema up to date",
        add_dry_run_option,
        run_migrate,
        needs_schema=False,
        examples="migrate\nmigrate --dry-run",
    ),
    AdminCommand(
        "check", "check the ini and the database, as before a start", no_arguments, run_check, examples="check"
    ),
    AdminCommand(
        "doctor",
        "check all that the service needs and say what to do",
        add_json_option,
        run_doctor,
        needs_schema=False,
        examples="doctor\ndoctor --json",
    ),
    AdminCommand(
        "openapi",
        "print the description of the API, as served at /api/openapi.json",
        no_arguments,
        run_openapi,
        needs_schema=False,
        examples="openapi > openapi.json",
    ),
    AdminCommand("key", "create a machine key", key_arguments, run_key_new, needs_schema=False, examples=_KEY_EXAMPLES),
    AdminCommand(
        "demo", "fill a new installation with samples", add_dry_run_option, run_demo, examples="demo\ndemo --dry-run"
    ),
)


def includeme(config: Configurator) -> None:
    """Add the commands of the core to ``modhub-admin``."""
    for command in COMMANDS:
        config.add_command(command)
