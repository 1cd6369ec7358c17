"""``modhub-admin mod ...``: what the operator does the day something bad is uploaded."""

import argparse
import re
from collections.abc import Callable
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy.orm import Session

from modhub import limits, text
from modhub.catalogue import moderation
from modhub.catalogue.models import Mod
from modhub.catalogue.moderation_queries import (
    STATES,
    ModFilter,
    deletion_summary,
    describe_mod,
    filtered_mods,
    users_of,
)
from modhub.db import iso
from modhub.declarations import AdminCommand

ON_A_PAGE: Final = 50
"""Mods that ``mod list`` shows at once."""
_EXAMPLES: Final = """\
examples (after modhub-admin -c my.ini):
  mod list --owner 7                    all mods of account 7
  mod list --state hidden               what is hidden now
  mod list free coins                   both words in the title or in a game's name
  mod list --sha256 HEX                 who has uploaded this very file
  mod show 12                           all about one mod
  mod hide 12 13 --reason "Malware"     nobody but its owner sees it any more
  mod restore 12                        everybody sees it again
  mod delete 13                         says what would go, deletes nothing
  mod delete 13 --yes                   deletes it for good

A mod is named by its number or its GUID.
"""


CommandResult = tuple[int, list[str]]
"""The exit code, and what is said once the transaction is over."""


def _title(mod: Mod) -> str:
    return f"Mod {mod.id} ({mod.title})"


def run_hide(session: Session, mod: Mod, arguments: argparse.Namespace) -> CommandResult:
    """Hide one mod, or give another reason for what is hidden already."""
    is_new = moderation.hide_mod(session, mod, arguments.reason)
    why = f" Reason: {mod.hidden_reason}" if mod.hidden_reason else ""
    return 0, [f"{_title(mod)} is {'hidden now' if is_new else 'hidden already'}.{why}"]


def run_restore(session: Session, mod: Mod, _arguments: argparse.Namespace) -> CommandResult:
    """Undo hiding."""
    if not moderation.restore_mod(session, mod):
        return 0, [f"{_title(mod)} is not hidden."]
    if mod.published:
        return 0, [f"{_title(mod)} is public again."]
    return 0, [f"{_title(mod)} is no longer hidden; it is a draft, so only its owner sees it."]


def run_delete(session: Session, mod: Mod, arguments: argparse.Namespace) -> CommandResult:
    """Delete for good with ``--yes``; without it, say what would go."""
    name, goes = _title(mod), deletion_summary(session, mod)
    if not arguments.yes:
        told = [f"{name} of account {mod.owner} would be deleted for good, with {goes}.", users_of(session, mod)]
        return 1, [*filter(None, told), "Nothing was deleted. Add --yes to delete it."]
    moderation.remove_mod(session, mod)
    return 0, [f"{name} is deleted, with {goes}. The files go with a sweep in an hour or later."]


MOD_ACTIONS: Final[dict[str, Callable[[Session, Mod, argparse.Namespace], CommandResult]]] = {
    "hide": run_hide,
    "restore": run_restore,
    "delete": run_delete,
}
HELP: Final = {
    "show": (
        "show everything about mods",
        "Show everything about mods: state, owner, files, what they require and what requires them.",
    ),
    "hide": (
        "hide mods from everybody but their owners",
        "Hide mods: from now on everybody but the owner gets 404, as for a mod that does not exist. "
        "The owner can go on editing; that does not show a mod again. Hiding one that is hidden can change the reason.",
    ),
    "restore": ("undo hiding", "Undo hiding. A mod that was never published is a draft again."),
    "delete": (
        "delete mods for good",
        "Delete mods for good, with their files, changelogs and votes. Without --yes: say what would go, and exit 1.",
    ),
}


def act(admin: Any, name: str, arguments: argparse.Namespace) -> int:
    """Act on one mod, in a transaction of its own."""
    code, lines = 1, [f"There is no mod {name}."]
    with admin.writing() as (session, _):
        mod = moderation.find_mod(session, name)
        if mod is not None:
            code, lines = MOD_ACTIONS[arguments.action](session, mod, arguments)
    for line in lines:
        admin.say(line)
    return code


def run_show(admin: Any, names: list[str]) -> int:
    """All that there is to know about each mod."""
    code = 0
    for name in names:
        with admin.reading() as session:
            lines = list(describe_mod(session, admin.registry, name))
        for line in lines or [f"There is no mod {name}."]:
            admin.say(line)
        code |= not lines
    return code


def run_list(admin: Any, arguments: argparse.Namespace) -> int:
    """One line a mod, last changed first."""
    sought = ModFilter(arguments.owner, arguments.state, tuple(arguments.word), arguments.sha256)
    with admin.reading() as session:
        found = filtered_mods(session, sought, (arguments.page - 1) * arguments.limit, arguments.limit + 1)
    for one in found[: arguments.limit]:
        admin.say(f"{one.id} {one.state}, account {one.owner}, changed {iso(one.updated_at)}: {one.title}")
    if len(found) > arguments.limit:
        admin.say(f"There are more: --page {arguments.page + 1}")
    elif not found:
        admin.say("No mod is like that." if arguments.page == 1 else "There are no more.")
    return 0


def run_mod(admin: Any, arguments: argparse.Namespace) -> int:
    """``mod list|show``, or an action on each mod that is named; 1 when one of them is not there."""
    if arguments.action == "list":
        return run_list(admin, arguments)
    if arguments.action == "show":
        return run_show(admin, arguments.mod)
    return max([act(admin, name, arguments) for name in dict.fromkeys(arguments.mod)])


def _number(value: str) -> int:
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", value, re.ASCII):
        raise argparse.ArgumentTypeError(f"{value!r} is not a number from 1 to 999999999")
    return int(value)


def _digest(value: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", value):
        raise argparse.ArgumentTypeError(f"{value!r} is not a SHA-256 of 64 hexadecimal digits")
    return value.lower()


def _reason(value: str) -> str:
    cleaned = text.line(value, limits.REASON + 1)
    if len(cleaned) > limits.REASON:
        raise argparse.ArgumentTypeError(f"a reason has at most {limits.REASON} characters")
    return cleaned


def mod_arguments(parser: argparse.ArgumentParser) -> None:
    """``list``, ``show``, and each action with the mods that it is for"""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EXAMPLES
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    every = "list mods, drafts and hidden ones too, last changed first"
    seek = actions.add_parser("list", help=every, description=f"{every[0].upper()}{every[1:]}.")
    seek.add_argument("word", nargs="*", metavar="WORD", help="must stand in the title or in a game's name")
    seek.add_argument("--owner", type=_number, metavar="ACCOUNT", help="mods of this account alone")
    seek.add_argument("--state", choices=STATES, help="mods in this state alone")
    seek.add_argument("--sha256", type=_digest, metavar="HEX", help="mods with a file that has this SHA-256")
    seek.add_argument("--limit", type=_number, default=ON_A_PAGE, metavar="N", help="at most so many (%(default)s)")
    seek.add_argument("--page", type=_number, default=1, metavar="N", help="the first page is 1")
    added = {}
    for name, (meaning, told) in HELP.items():
        added[name] = actions.add_parser(name, help=meaning, description=told)
    for one in added.values():
        one.add_argument("mod", nargs="+", metavar="MOD", help="its number or GUID")
    added["hide"].add_argument("--reason", type=_reason, help="why; the owner reads it on the mod's workshop page")
    added["delete"].add_argument("--yes", action="store_true", help="really delete; without it nothing is deleted")


def includeme(config: Configurator) -> None:
    """The command."""
    config.add_command(AdminCommand("mod", "the mods: find, show, hide, restore, delete", mod_arguments, run_mod))
