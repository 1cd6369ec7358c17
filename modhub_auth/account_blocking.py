"""Blocking an account: the operator's way to keep somebody out (``modhub-admin account block``)."""

from sqlalchemy.orm import Session

from modhub import text
from modhub.db import now
from modhub.security_log import log_event
from modhub_auth.models import BLOCK_REASON, Account
from modhub_auth.signin.recovery import end_sessions


def block_account(session: Session, account: Account, reason: str = "") -> bool:
    """Block an account whose row is locked, and end its sessions; False when it was blocked before.

    Nobody signs in to it from now on, whatever the way. Its access tokens live until they expire, but open nothing that
    belongs to an account. ``reason`` replaces an earlier one.
    """
    newly_blocked = account.blocked_at is None
    if newly_blocked:
        account.blocked_at = now()
    if reason:
        account.block_reason = text.line(reason, BLOCK_REASON)
    end_sessions(session, account.id)
    session.flush()
    if newly_blocked:
        log_event("account blocked", account=account.id)
    return newly_blocked


def unblock_account(session: Session, account: Account) -> bool:
    """Let a blocked account, whose row is locked, sign in again; False when it was not blocked. No session returns."""
    if account.blocked_at is None:
        return False
    account.blocked_at, account.block_reason = None, None
    session.flush()
    log_event("account unblocked", account=account.id)
    return True
