"""``modhub-admin advisory``: what is known of files, also of those that were never here."""

import argparse
from typing import Any, Final

from msgspec import to_builtins
from pyramid.config import Configurator

from modhub.base.errors import ApiError
from modhub.base.settings import StartRefused
from modhub.plugins.commands import (
    AdminCommand,
    add_dry_run_option,
    add_json_option,
    add_yes_option,
    end_rehearsal,
    is_rehearsal,
)
from modhub.plugins.moderation import IModeration
from modhub.plugins.services import IMods
from modhub_moderation.advisories import services
from modhub_moderation.advisories.models import ADVICE, ADVISORY_REASON, AdvisoryKind, clean_sha256
from modhub_moderation.advisories.views import read_all

_SAMPLE: Final = "9b6f0f6c3f0e8b6f4b4f4a1d7a5c3e2f1d0c9b8a7f6e5d4c3b2a190817263544"
_EXAMPLES: Final = f"""\
advisory list
advisory add {_SAMPLE} --kind malware --reason "It sends saved passwords." --advice "Delete it." --dry-run
advisory withdraw {_SAMPLE} --yes

An advisory is for everybody who has exactly this file, and hides nothing. add says where the file is here."""


def run_advisory(admin: Any, arguments: argparse.Namespace) -> int:
    """``advisory list|add|withdraw``"""
    if arguments.action == "list":
        return list_advisories(admin, as_json=arguments.json)
    sha256 = clean_sha256(arguments.sha256)
    if sha256 is None:
        raise StartRefused("a SHA-256 has 64 hexadecimal digits")
    act = {"add": _add, "withdraw": _withdraw}[arguments.action]
    rehearses = is_rehearsal(arguments)
    with admin.writing(dry_run=rehearses) as (session, _):
        places = _places(admin, session, sha256)
        done = act(session, sha256, arguments)
    if not done:
        standing = "is one already: withdraw it first" if arguments.action == "add" else "is none that stands"
        admin.say_problem(f"For this file there {standing}.")
        return 1
    for place in places if arguments.action == "add" else ():
        admin.say(f"The file is here: {place}")
    admin.say(f"The advisory for {sha256} {'would be' if rehearses else 'was'} {done}.")
    return end_rehearsal(admin, arguments) if rehearses else 0


def _add(session: Any, sha256: str, arguments: argparse.Namespace) -> str:
    texts = {"reason": arguments.reason, "advice": arguments.advice}
    try:
        made = services.create_advisories(session, [sha256], kind=AdvisoryKind(arguments.kind), **texts)
    except ApiError as refused:
        raise StartRefused(str(refused).rstrip(".")) from None
    return "added" if made else ""


def _withdraw(session: Any, sha256: str, _arguments: argparse.Namespace) -> str:
    return "withdrawn" if services.withdraw_advisories(session, [sha256]) else ""


def _places(admin: Any, session: Any, sha256: str) -> list[str]:
    mods, files = admin.find_service(IMods), admin.find_service(IModeration).files
    lines = []
    for place in services.find_occurrences(session, mods, files, [sha256]).get(sha256, ()):
        mod = place.mod
        if mod is None:
            lines.append(place.name)
        else:
            seen = "" if mod.published else ", which is not public"
            lines.append(f'{place.kind} {place.name} of mod {mod.id} "{mod.title}", account {mod.owner}{seen}')
    return lines


def list_advisories(admin: Any, *, as_json: bool) -> int:
    """Print one line per advisory."""
    advisories = read_all(admin.databases.raw_queries)
    for advisory in advisories:
        if as_json:
            admin.say_json(to_builtins(advisory))
        else:
            withdrawn = f", withdrawn {advisory.withdrawn_at}" if advisory.withdrawn_at else ""
            texts = f"{advisory.reason} {advisory.advice}"
            admin.say(f"{advisory.sha256}: {advisory.kind} since {advisory.since}{withdrawn}: {texts}")
    if not advisories and not as_json:
        admin.say("No advisories.")
    return 0


def advisory_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``, ``add SHA256 --kind K --reason TEXT --advice TEXT``, ``withdraw SHA256``"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    about_list = "List the advisories, withdrawn ones too."
    add_json_option(actions.add_parser("list", help="list the advisories", description=about_list))
    about_add = "Tell everybody who has this file what is known of it; the file need not be here."
    add = actions.add_parser("add", help="add an advisory", description=about_add)
    about_withdraw = "Say that the file is not advised any more; the advisory is told as withdrawn."
    withdraw = actions.add_parser("withdraw", help="withdraw an advisory", description=about_withdraw)
    for action in (add, withdraw):
        action.add_argument("sha256", metavar="SHA256", help="the digest of the file, 64 hexadecimal digits")
    add_dry_run_option(add)
    add_yes_option(withdraw)
    kinds = list(AdvisoryKind)
    add.add_argument("--kind", metavar="KIND", choices=kinds, required=True, help=", ".join(kinds))
    add.add_argument(
        "--reason", metavar="TEXT", required=True, help=f"what is known, at most {ADVISORY_REASON} characters"
    )
    add.add_argument("--advice", metavar="TEXT", required=True, help=f"what to do, at most {ADVICE} characters")


def includeme(config: Configurator) -> None:
    """The command ``advisory``."""
    about = "what is known of files, for everybody who has them"
    config.add_command(AdminCommand("advisory", about, advisory_arguments, run_advisory, examples=_EXAMPLES))
