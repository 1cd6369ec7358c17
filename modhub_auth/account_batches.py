"""``modhub-admin account block|unblock``: any number of accounts, with their mods, undone by an audit number."""

import argparse
from collections.abc import Callable, Iterable
from typing import Any, Final

from sqlalchemy.orm import Session

from modhub.audit import find_batch, newest_batch, record_batch
from modhub.base.settings import StartRefused
from modhub.db import now
from modhub.declarations import read_names
from modhub.events import ModsHidden
from modhub.interfaces import IMods
from modhub_auth.account_blocking import block_account, unblock_account
from modhub_auth.models import Account
from modhub_auth.services import lock_account

BLOCKED_TOGETHER: Final = "accounts blocked"
"""The action of the entry for several accounts, or for one with its mods."""
FindId = Callable[[Session, str], int | None]
"""The id of the account with this id or address."""


def block_accounts(admin: Any, arguments: argparse.Namespace, find_id: FindId) -> int:
    """Block accounts, and hide their mods if that was asked for, in one transaction; the exit code."""
    at, names, mods, blocked = now(), read_names(arguments.account), list[int](), list[int]()
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        accounts, problems = _lock_named(session, names, find_id)
        lines = []
        for account in accounts:
            is_new = block_account(session, account, arguments.reason, at)
            blocked += [account.id] if is_new else []
            lines.append(_blocked_line(account, is_new, arguments))
        if arguments.hide_mods:
            mods = admin.find_service(IMods).hide_mods_of_accounts(session, [account.id for account in accounts], at)
            lines.append(f"{len(mods)} mods {'would be' if arguments.dry_run else 'are now'} hidden.")
        is_batch = bool(mods) or len(blocked) > 1
        if is_batch:
            record_batch(session, BLOCKED_TOGETHER, at, accounts=blocked, mods=mods)
    _print_outcome(admin, lines, problems)
    if is_batch and not arguments.dry_run:
        number = newest_batch(admin, BLOCKED_TOGETHER, at)
        admin.say(f"To undo all of it: account unblock --batch {number or 'NUMBER (audit list names it)'}")
    if mods and not arguments.dry_run:
        admin.registry.notify(ModsHidden(tuple(mods), admin.registry))
    return 1 if problems else 0


def unblock_accounts(admin: Any, arguments: argparse.Namespace, find_id: FindId) -> int:
    """Unblock accounts; those of a batch with the mods that it hid; the exit code."""
    names = read_names(arguments.account)
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        accounts, problems = _lock_named(session, names, find_id)
        restored = None
        if arguments.batch is not None:
            batch = find_batch(session, arguments.batch)
            if batch is None:
                raise StartRefused(f"entry {arguments.batch} of the audit trail is no batch")
            locked = (lock_account(session, account_id) for account_id in sorted(batch.accounts))
            accounts += [account for account in locked if account is not None and account.blocked_at == batch.at]
            restored = admin.find_service(IMods).restore_mods_hidden_at(session, batch.mods, batch.at)
        lines = [
            _unblocked_line(account, unblock_account(session, account), arguments)
            for account in dict.fromkeys(accounts)
        ]
        if restored is not None:
            lines.append(f"{len(restored)} mods {'would be' if arguments.dry_run else 'are'} hidden no longer.")
    _print_outcome(admin, lines, problems)
    return 1 if problems else 0


def _lock_named(session: Session, names: Iterable[str], find_id: FindId) -> tuple[list[Account], list[str]]:
    """The accounts with these names, locked in the order of their ids; and a sentence for each name of none."""
    ids = {name: find_id(session, name) for name in names}
    locked = {number: lock_account(session, number) for number in sorted(filter(None, {*ids.values()}))}
    accounts = [account for account in locked.values() if account is not None]
    known_ids = {account.id for account in accounts}
    return accounts, [f"There is no account {name}." for name, number in ids.items() if number not in known_ids]


def _blocked_line(account: Account, is_new: bool, arguments: argparse.Namespace) -> str:
    dry_run = arguments.dry_run
    if is_new:
        effect = "" if dry_run else "; its access tokens change nothing now"
        return f"Account {account.id} {'would be' if dry_run else 'is'} blocked and signed out everywhere{effect}."
    remark = "; the reason would be replaced" if dry_run else "; the reason was replaced"
    return f"Account {account.id} was blocked already{remark if arguments.reason else ''}."


def _unblocked_line(account: Account, was_blocked: bool, arguments: argparse.Namespace) -> str:
    if not was_blocked:
        return f"Account {account.id} is not blocked."
    verbs = ("would no longer be", "could") if arguments.dry_run else ("is no longer", "can")
    return f"Account {account.id} {verbs[0]} blocked; its owner {verbs[1]} sign in again."


def _print_outcome(admin: Any, lines: list[str], problems: list[str]) -> None:
    for problem in problems:
        admin.say_problem(problem)
    for line in lines:
        admin.say(line)
