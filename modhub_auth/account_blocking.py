"""Blocking and unblocking accounts (``modhub-admin account block``)."""

from datetime import datetime

from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.content import text
from modhub.db import now
from modhub_auth.models import BLOCK_REASON, Account
from modhub_auth.signin.recovery import end_sessions


def block_account(session: Session, account: Account, reason: str = "", at: datetime | None = None) -> bool:
    """Block an account whose row is locked, and end its sessions; False if it was blocked before.

    No login signs in to it any more. Its access tokens stay valid until they expire, but give no access to anything
    that requires an account. ``reason`` replaces an earlier one; ``at`` is the moment of a batch.
    """
    newly_blocked = account.blocked_at is None
    if newly_blocked:
        account.blocked_at = at or now()
    if reason:
        account.block_reason = text.line(reason, BLOCK_REASON)
    end_sessions(session, account.id)
    session.flush()
    if newly_blocked:
        record(session, "account blocked", "account", account.id)
    return newly_blocked


def unblock_account(session: Session, account: Account) -> bool:
    """Unblock an account whose row is locked; False if it was not blocked. Ended sessions stay ended."""
    if account.blocked_at is None:
        return False
    account.blocked_at, account.block_reason = None, None
    session.flush()
    record(session, "account unblocked", "account", account.id)
    return True
