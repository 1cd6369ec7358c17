"""``modhub-admin mod ...``: find, show, hide, restore and delete mods."""

import argparse
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import find_batch, record_batch
from modhub.base.service_registry import find_optional_service
from modhub.base.settings import StartRefused
from modhub.catalogue.documents import in_order
from modhub.catalogue.models import Mod
from modhub.catalogue.moderating import hiding
from modhub.catalogue.moderating.reads import (
    STATES,
    deletion_summary,
    describe_mod,
    filtered_mods,
    find_whole_mod,
    state_of,
    users_of,
    versions_of,
)
from modhub.catalogue.owning.services import hand_over
from modhub.content import limits, text
from modhub.db import iso, now
from modhub.plugins.commands import (
    AdminCommand,
    add_batch_option,
    add_dry_run_option,
    add_ids_option,
    add_json_option,
    add_yes_option,
    end_rehearsal,
    is_rehearsal,
    parse_count,
    read_names,
)
from modhub.plugins.services import IAccounts, ISnapshots


def line_document(mod: Mod) -> dict[str, Any]:
    """A mod in a list."""
    return {
        "id": mod.id,
        "guid": mod.guid,
        "title": mod.title,
        "owner": mod.owner,
        "state": state_of(mod),
        "published": mod.published,
        "hiddenAt": mod.hidden_at and iso(mod.hidden_at),
        "updatedAt": iso(mod.updated_at),
        "games": list(mod.games),
    }


def operator_document(session: Session, mod: Mod) -> dict[str, Any]:
    """Everything about the mod."""
    return line_document(mod) | {
        "hiddenReason": mod.hidden_reason,
        "createdAt": iso(mod.created_at),
        "version": mod.version,
        "description": mod.description,
        "requires": list(mod.requires),
        "conflictsWith": list(mod.conflicts),
        "ups": mod.ups,
        "downs": mod.downs,
        "changelog": versions_of(session, mod),
        "files": [_file_document(asset) for asset in in_order(mod.assets)],
    }


def _file_document(asset: Any) -> dict[str, Any]:
    return {
        "kind": asset.kind,
        "name": asset.name,
        "bytes": asset.size,
        "contentType": asset.content_type,
        "storedAt": iso(asset.stored_at),
        "sha256": asset.blob.sha256,
        "key": asset.blob.key,
        "url": f"/Modhub/file/{asset.id}",
    }


MODS_PER_PAGE: Final = 50
"""Default page size of ``mod list``."""
_EXAMPLES: Final = """\
mod list --owner 7                        all mods of account 7
mod list --state hidden --json            all hidden mods, one JSON object per line
mod list free coins                       both words in the title or in a game's name
mod list free coins --ids --limit 5000    their ids, which mod hide - reads from standard input
mod list --sha256 HEX                     mods with exactly this file
mod show 12                               everything about mod 12
mod hide 12 --dry-run                     says which mod that is
mod hide 12 13 --reason "Malware"         hides them from everybody but their owners
mod hide --owner 7                        hides all mods of account 7
mod restore 12                            makes it visible again
mod restore --batch 512                   undoes what mod hide did to many, which printed this number
mod delete 13 --dry-run                   says what would be deleted
mod delete 13 --yes                       deletes it permanently
mod transfer 12 7                         makes it a mod of account 7, whoever owns it

MOD is the number or the GUID of a mod."""


HELP: Final = {
    "show": (
        "show everything about mods",
        "Show everything about mods: state, owner, files, requirements and dependent mods.",
    ),
    "hide": (
        "hide mods from everybody but their owners",
        "Hide mods: everybody but the owner gets 404, as for a mod that does not exist. The owner can still edit the "
        "mod, but cannot make it visible again. Hiding a hidden mod can change the reason.",
    ),
    "restore": ("undo hiding", "Undo hiding. A mod that was never published is a draft again."),
    "delete": (
        "permanently delete mods",
        "Permanently delete mods, with their files, changelogs and votes. "
        "Without --yes: say what would go, and exit 1.",
    ),
}


def delete_named(admin: Any, name: str, arguments: argparse.Namespace) -> int:
    """Permanently delete one mod in its own transaction, or say what would be deleted; the exit code."""
    rehearses = is_rehearsal(arguments)
    with admin.writing(dry_run=rehearses) as (session, _):
        mods, problems = lock_named(session, [name])
        if problems:
            admin.say_problem(problems[0])
            return 1
        (mod,) = mods
        title, summary, users = describe_title(mod), deletion_summary(session, mod), users_of(session, mod)
        owner = mod.owner
        if not rehearses:
            hiding.remove_mod(session, mod)
    if rehearses:
        admin.say(f"{title} of account {owner} would be permanently deleted, with {summary}.")
        if users:
            admin.say(users)
    else:
        admin.say(f"{title} was deleted, with {summary}. A sweep removes the files after two days.")
    return 0


def run_show(admin: Any, names: list[str], *, as_json: bool = False) -> int:
    """Print everything about each mod; the exit code."""
    code = 0
    for name in names:
        with admin.reading() as session:
            mod = find_whole_mod(session, name)
            if mod is None:
                admin.say_problem(f"There is no mod {name}.")
                code = 1
            elif as_json:
                admin.say_json(operator_document(session, mod))
            else:
                for line in describe_mod(session, admin.registry, mod):
                    admin.say(line)
    return code


def run_list(admin: Any, arguments: argparse.Namespace) -> int:
    """Print one line per mod, last changed first."""
    first = (arguments.page - 1) * arguments.limit
    with admin.reading() as session:
        matching = filtered_mods(session, arguments.owner, arguments.state, arguments.sha256, arguments.word)
        mods = list(islice(matching, first, first + arguments.limit + 1))
    if arguments.json or arguments.ids:
        for mod in mods[: arguments.limit]:
            admin.say_json(line_document(mod) if arguments.json else mod.id)
        if len(mods) > arguments.limit and arguments.ids:
            admin.say_problem(f"There are more: --page {arguments.page + 1}")
        return 0
    for mod in mods[: arguments.limit]:
        admin.say(f"{mod.id} {state_of(mod)}, account {mod.owner}, changed {iso(mod.updated_at)}: {mod.title}")
    if len(mods) > arguments.limit:
        admin.say(f"There are more: --page {arguments.page + 1}")
    elif not mods:
        admin.say("No matching mods." if arguments.page == 1 else "There are no more.")
    return 0


def run_transfer(admin: Any, arguments: argparse.Namespace) -> int:
    """Make a mod another account's at once; the exit code. Accounts are always locked before mods."""
    accounts = find_optional_service(admin.registry, IAccounts)
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        is_known = accounts is not None and accounts.lock(session, arguments.account)
        mods, problems = lock_named(session, [arguments.mod])
        if problems or not is_known:
            admin.say_problem(problems[0] if is_known else f"There is no account {arguments.account}.")
            return 1
        (mod,) = mods
        former, title = mod.owner, describe_title(mod)
        if former != arguments.account:
            hand_over(session, mod, arguments.account)
    if former == arguments.account:
        admin.say(f"{title} is account {former}'s already.")
    else:
        verb = "would be" if arguments.dry_run else "is"
        admin.say(f"{title} of account {former} {verb} account {arguments.account}'s now.")
    return 0


def run_mod(admin: Any, arguments: argparse.Namespace) -> int:
    """``mod list|show``, or an action on each named mod; exit code 1 if one does not exist."""
    if arguments.action == "list":
        return run_list(admin, arguments)
    if arguments.action == "transfer":
        return run_transfer(admin, arguments)
    names_many = getattr(arguments, "owner", None) is not None or getattr(arguments, "batch", None) is not None
    if not arguments.mod and not names_many:
        arguments.complain("name a mod")
    if arguments.action == "show":
        return run_show(admin, read_names(arguments.mod), as_json=arguments.json)
    names = read_names(arguments.mod)
    if arguments.action == "hide":
        code = run_hide(admin, names, arguments)
    elif arguments.action == "restore":
        code = run_restore(admin, names, arguments)
    else:
        code = max([delete_named(admin, name, arguments) for name in names], default=0)
    return max(code, end_rehearsal(admin, arguments)) if is_rehearsal(arguments) else code


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
    """``list``, ``show MOD...`` and the actions on mods"""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    list_help = "list mods, including drafts and hidden ones, last changed first"
    lister = actions.add_parser("list", help=list_help, description=f"{list_help[0].upper()}{list_help[1:]}.")
    lister.add_argument("word", nargs="*", metavar="WORD", help="must be in the title or a game's name")
    lister.add_argument("--owner", type=parse_count, metavar="ACCOUNT", help="only mods of this account")
    lister.add_argument("--state", choices=STATES, help="only mods in this state")
    lister.add_argument("--sha256", type=_digest, metavar="HEX", help="only mods with a file that has this SHA-256")
    lister.add_argument(
        "--limit", type=parse_count, default=MODS_PER_PAGE, metavar="N", help="at most this many (default: %(default)s)"
    )
    lister.add_argument("--page", type=parse_count, default=1, metavar="N", help="the first page is 1")
    parsers = {}
    for name, (summary, description) in HELP.items():
        parsers[name] = actions.add_parser(name, help=summary, description=description)
    for action in parsers.values():
        action.set_defaults(complain=action.error)
        action.add_argument(
            "mod", nargs="*", metavar="MOD", help="its number or GUID; -: read them from standard input"
        )
    parsers["hide"].add_argument("--reason", type=_reason, help="why; shown to the owner on the mod's workshop page")
    parsers["hide"].add_argument("--owner", type=parse_count, metavar="ACCOUNT", help="all mods of this account")
    add_batch_option(parsers["restore"])
    for name in ("hide", "restore"):
        add_dry_run_option(parsers[name], "say what would happen, change nothing, and exit 0")
    add_yes_option(parsers["delete"])
    about_transfer = "Make a mod another account's at once. Its former owner can change it no longer; nobody is told."
    transfer = actions.add_parser("transfer", help="make a mod another account's", description=about_transfer)
    transfer.add_argument("mod", metavar="MOD", help="its number or GUID")
    transfer.add_argument("account", type=parse_count, metavar="ACCOUNT", help="the number of the new owner")
    add_dry_run_option(transfer, "say what would happen, change nothing, and exit 0")
    add_json_option(lister)
    add_ids_option(lister)
    add_json_option(parsers["show"])


def includeme(config: Configurator) -> None:
    """Register the command."""
    config.add_command(
        AdminCommand(
            "mod", "the mods: find, show, hide, restore, delete, transfer", mod_arguments, run_mod, examples=_EXAMPLES
        )
    )


HIDDEN_TOGETHER: Final = "mods hidden"
"""The action of the entry for several mods."""


def describe_title(mod: Mod) -> str:
    """``Mod 12 (Calm HUD)``"""
    return f"Mod {mod.id} ({mod.title})"


def lock_named(session: Session, names: Sequence[str]) -> tuple[list[Mod], list[str]]:
    """The mods with these names, locked, in the order of the names; and a sentence for each name of no mod."""
    ids = hiding.find_mod_ids(session, names)
    mods = hiding.lock_mods(session, ids.values())
    named_ids = dict.fromkeys(ids[name] for name in names if name in ids)
    problems = [f"There is no mod {name}." for name in names if ids.get(name) not in mods]
    return [mods[mod_id] for mod_id in named_ids if mod_id in mods], problems


def run_hide(admin: Any, names: list[str], arguments: argparse.Namespace) -> int:
    """Hide mods, or change the reason of hidden ones; the exit code."""
    at = now()
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        mods, problems = lock_named(session, names)
        if arguments.owner is not None:
            owned = select(Mod.id).where(Mod.owner == arguments.owner, Mod.hidden_at.is_(None))
            mods += hiding.lock_mods(session, {*session.scalars(owned)} - {mod.id for mod in mods}).values()
        newly_hidden = {mod.id for mod in hiding.hide_mods(session, mods, arguments.reason, at)}
        is_batch = len(newly_hidden) > 1
        number = record_batch(session, HIDDEN_TOGETHER, at, mods=sorted(newly_hidden)) if is_batch else None
        lines = [_hidden_line(mod, mod.id in newly_hidden, arguments) for mod in mods]
    admin.say_outcome(lines, problems)
    if number is not None:
        admin.say(f"To undo all of it: mod restore --batch {number}")
    snapshots = find_optional_service(admin.registry, ISnapshots)
    if snapshots is not None and newly_hidden and not arguments.dry_run:
        snapshots.replace_hidden()
    return 1 if problems else 0


def _hidden_line(mod: Mod, is_new: bool, arguments: argparse.Namespace) -> str:
    reason = f" Reason: {mod.hidden_reason}" if mod.hidden_reason else ""
    state = "is already" if not is_new else "would be" if arguments.dry_run else "is now"
    return f"{describe_title(mod)} {state} hidden.{reason}"


def run_restore(admin: Any, names: list[str], arguments: argparse.Namespace) -> int:
    """Restore hidden mods, those of a batch that are hidden since it too; the exit code."""
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        (mods, problems), summary = lock_named(session, names), ""
        if arguments.batch is not None:
            batch = find_batch(session, arguments.batch)
            if batch is None or not batch.mods:
                raise StartRefused(f"entry {arguments.batch} of the audit trail is no batch of hidden mods")
            locked = hiding.lock_mods(session, batch.mods).values()
            # Not those that were dealt with since.
            still_hidden = [mod for mod in locked if mod.hidden_at == batch.at]
            mods += [mod for mod in still_hidden if mod not in mods]
            summary = f"Of the {len(batch.mods)} mods of the batch, {len(still_hidden)} were still hidden by it."
        restored = {mod.id for mod in hiding.restore_mods(session, mods)}
        lines = [_restored_line(mod, mod.id in restored, arguments) for mod in mods]
        if summary:
            lines.append(summary)
    admin.say_outcome(lines, problems)
    return 1 if problems else 0


def _restored_line(mod: Mod, was_hidden: bool, arguments: argparse.Namespace) -> str:
    if not was_hidden:
        return f"{describe_title(mod)} is not hidden."
    be = "would be" if arguments.dry_run else "is"
    if mod.published:
        return f"{describe_title(mod)} {be} public again."
    return f"{describe_title(mod)} {be} hidden no longer; it is a draft, so only its owner sees it."
