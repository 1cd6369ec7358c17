"""Blocking and unblocking accounts: ``modhub-admin account block``, and decisions of moderators."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.content import text
from modhub.db import bulk, now
from modhub.plugins.moderation import BlockOutcome
from modhub.plugins.services import IMods
from modhub_auth.models import BLOCK_REASON, Account
from modhub_auth.services import lock_accounts
from modhub_auth.signin.recovery import end_all_sessions


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
    end_all_sessions(session, [account.id for account in accounts])
    for account in newly_blocked:
        record(session, "account blocked", "account", account.id)
    session.flush()
    return newly_blocked


def unblock_accounts(session: Session, accounts: Sequence[Account]) -> list[Account]:
    """Unblock accounts whose rows are locked, and return those that were blocked. Ended sessions stay ended."""
    blocked = [account for account in accounts if account.blocked_at is not None]
    for account in blocked:
        account.blocked_at, account.block_reason = None, None
        record(session, "account unblocked", "account", account.id)
    session.flush()
    return blocked


class AccountBlocking:
    """See :class:`modhub.plugins.moderation.IAccountBlocking`."""

    def __init__(self, mods: IMods) -> None:
        self._mods = mods

    def get_blocked(self, session: Session, account_ids: Collection[int]) -> dict[int, datetime]:
        """The moments, by account."""
        blocked = select(Account.id, Account.blocked_at).where(Account.blocked_at.is_not(None))
        batches = bulk.batches(account_ids)
        rows = [row for batch in batches for row in session.execute(blocked.where(Account.id.in_(batch)))]
        return {account_id: at for account_id, at in rows if at is not None}

    def block(self, session: Session, account_id: int, reason: str, *, hide_mods: bool) -> BlockOutcome | None:
        """Lock the account first, then its mods."""
        accounts = list(lock_accounts(session, [account_id]).values())
        if not accounts:
            return None
        at = now()
        is_new = bool(block_accounts(session, accounts, reason, at))
        mods = self._mods.hide_mods_of_accounts(session, [account_id], at) if hide_mods else []
        return BlockOutcome(is_new, mods, at)

    def unblock(
        self, session: Session, account_id: int, mod_ids: Collection[int] = (), at: datetime | None = None
    ) -> list[int] | None:
        """In the same order."""
        accounts = list(lock_accounts(session, [account_id]).values())
        if not accounts:
            return None
        unblock_accounts(session, accounts)
        return [] if at is None else self._mods.restore_mods_hidden_at(session, mod_ids, at)
