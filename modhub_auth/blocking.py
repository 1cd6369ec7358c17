"""Blocking accounts, one or many by a command, and undoing it."""

import argparse
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import find_batch, record, record_batch
from modhub.base.service_registry import find_optional_service
from modhub.base.settings import StartRefused
from modhub.content import text
from modhub.db import bulk, now
from modhub.plugins.commands import read_names
from modhub.plugins.moderation import IModeration
from modhub.plugins.services import ISnapshots
from modhub.web.traversal import parse_id
from modhub_auth import email_addresses
from modhub_auth.models import BLOCK_REASON, BY_PASSWORD, Account, Login
from modhub_auth.services import lock_accounts
from modhub_auth.signin.recovery import end_sessions


def block_accounts(
    session: Session, accounts: Sequence[Account], reason: str = "", at: datetime | None = None
) -> list[Account]:
    """Block accounts whose rows are locked, end their sessions, and return those that were not blocked before.

    No login signs in to them any more. Their access tokens stay valid until they expire, but give no access to anything
    that requires an account. ``reason`` replaces an earlier one; ``at`` is the moment of a batch.
    """
    moment = at or now()
    newly_blocked = [account for account in accounts if account.blocked_at is None]
    for account in newly_blocked:
        account.blocked_at = moment
    if reason:
        for account in accounts:
            account.block_reason = text.line(reason, BLOCK_REASON)
    end_sessions(session, [account.id for account in accounts])
    for account in newly_blocked:
        record(session, "account blocked", "account", account.id)
    session.flush()
    return newly_blocked


def unblock_accounts(session: Session, accounts: Iterable[Account]) -> list[Account]:
    """Unblock accounts whose rows are locked, and return those that were blocked. Ended sessions stay ended."""
    blocked = [account for account in accounts if account.blocked_at is not None]
    for account in blocked:
        account.blocked_at, account.block_reason = None, None
        record(session, "account unblocked", "account", account.id)
    session.flush()
    return blocked


def find_blocked(session: Session, account_ids: Iterable[int]) -> set[int]:
    """Those of these accounts that are blocked."""
    blocked = select(Account.id).where(Account.blocked_at.is_not(None))
    batches = bulk.batches(account_ids)
    return {number for batch in batches for number in session.scalars(blocked.where(Account.id.in_(batch)))}


BLOCKED_TOGETHER: Final = "accounts blocked"
"""The action of the entry for several accounts, or for one with its mods."""


def find_account_ids(session: Session, names: Sequence[str]) -> dict[str, int]:
    """The ids that these names are, or those of the accounts with these addresses, by the names; one need not exist."""
    ids = {name: parse_id(name) for name in names if name.isascii() and name.isdigit()}
    addresses = {name: email_addresses.parse_address(name) or "" for name in names if name not in ids}
    by_address: dict[str, int] = {}
    for batch in bulk.batches(addresses.values()):
        logins = select(Login.subject, Login.account_id).where(Login.subject.in_(batch), *BY_PASSWORD)
        by_address.update((address, account_id) for address, account_id in session.execute(logins))
    ids |= {name: by_address.get(address) for name, address in addresses.items()}
    return {name: number for name, number in ids.items() if number is not None}


def block_named(admin: Any, arguments: argparse.Namespace) -> int:
    """Block accounts, and hide their mods if that was asked for, in one transaction; the exit code."""
    at, names, mods = now(), read_names(arguments.account), list[int]()
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        accounts, problems = _lock_named(session, names)
        blocked = [account.id for account in block_accounts(session, accounts, arguments.reason, at)]
        newly_blocked = set(blocked)
        lines = [_blocked_line(account, account.id in newly_blocked, arguments) for account in accounts]
        if arguments.hide_mods:
            ids = [account.id for account in accounts]
            mods = admin.find_service(IModeration).hide_of_accounts(session, ids, at)
            lines.append(f"{len(mods)} mods {'would be' if arguments.dry_run else 'are now'} hidden.")
        is_batch = bool(mods) or len(blocked) > 1
        number = record_batch(session, BLOCKED_TOGETHER, at, accounts=blocked, mods=mods) if is_batch else None
    admin.say_outcome(lines, problems)
    if number is not None:
        admin.say(f"To undo all of it: account unblock --batch {number}")
    snapshots = find_optional_service(admin.registry, ISnapshots)
    if snapshots is not None and mods and not arguments.dry_run:
        snapshots.replace_hidden()
    return 1 if problems else 0


def unblock_named(admin: Any, arguments: argparse.Namespace) -> int:
    """Unblock accounts; those of a batch with the mods that it hid; the exit code."""
    names = read_names(arguments.account)
    with admin.writing(dry_run=arguments.dry_run) as (session, _):
        accounts, problems = _lock_named(session, names)
        restored = None
        if arguments.batch is not None:
            batch = find_batch(session, arguments.batch)
            if batch is None:
                raise StartRefused(f"entry {arguments.batch} of the audit trail is no batch")
            of_batch = lock_accounts(session, batch.accounts).values()
            accounts += [account for account in of_batch if account.blocked_at == batch.at]
            restored = admin.find_service(IModeration).release(session, batch.mods, {batch.at})
        accounts = list(dict.fromkeys(accounts))
        unblocked = {account.id for account in unblock_accounts(session, accounts)}
        lines = [_unblocked_line(account, account.id in unblocked, arguments) for account in accounts]
        if restored is not None:
            lines.append(f"{len(restored)} mods {'would be' if arguments.dry_run else 'are'} hidden no longer.")
    admin.say_outcome(lines, problems)
    return 1 if problems else 0


def _lock_named(session: Session, names: Sequence[str]) -> tuple[list[Account], list[str]]:
    """The accounts with these names, locked in the order of their ids; and a sentence for each name of none."""
    ids = find_account_ids(session, names)
    accounts = lock_accounts(session, ids.values())
    return list(accounts.values()), [f"There is no account {name}." for name in names if ids.get(name) not in accounts]


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
