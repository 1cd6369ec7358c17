"""Blocking and unblocking accounts (``modhub-admin account block``)."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.content import text
from modhub.db import now
from modhub_auth.models import BLOCK_REASON, Account
from modhub_auth.signin.recovery import end_all_sessions


def block_account(session: Session, account: Account, reason: str = "") -> bool:
    """As :func:`block_accounts`, for one; False if it was blocked before."""
    return bool(block_accounts(session, [account], reason))


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


def unblock_account(session: Session, account: Account) -> bool:
    """As :func:`unblock_accounts`, for one; False if it was not blocked."""
    return bool(unblock_accounts(session, [account]))


def unblock_accounts(session: Session, accounts: Sequence[Account]) -> list[Account]:
    """Unblock accounts whose rows are locked, and return those that were blocked. Ended sessions stay ended."""
    blocked = [account for account in accounts if account.blocked_at is not None]
    for account in blocked:
        account.blocked_at, account.block_reason = None, None
        record(session, "account unblocked", "account", account.id)
    session.flush()
    return blocked
