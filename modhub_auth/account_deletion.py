"""Deleting an account with everything that it owns, in one transaction (C-ACC-18)."""

from typing import Any

from sqlalchemy import delete, select, union
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.plugins.events import AccountDeleted
from modhub_auth.mail.sender import FAREWELL
from modhub_auth.models import (
    Account,
    ClientSession,
    Link,
    Login,
    LoginKind,
    OutgoingEmail,
    PageSession,
    ResetRequest,
)
from modhub_auth.signin.totp import remove_authenticator as remove_factor


def delete_account(session: Session, registry: Any, account: Account) -> None:
    """Delete an account whose row is locked. Other features subscribe to the event and delete their data."""
    account_id = account.id
    # First: its own personal part is erased with the others of the account.
    record(session, "account deleted", "account", account_id)
    registry.notify(AccountDeleted(account_id, session, registry))
    remove_factor(session, account_id)
    _forget_emails(session, account_id)
    for model in (ClientSession, PageSession, Link, Login):
        session.execute(delete(model).where(model.account_id == account_id))
    session.delete(account)
    session.flush()


def _forget_emails(session: Session, account_id: int) -> None:
    """Delete the emails to the account's addresses, but not the one that tells of the deletion: it is still to be sent.

    Sending that one forgets its address (:mod:`modhub_auth.mail.sender`), as does the one to an earlier address.
    """
    own = select(Login.subject).where(Login.account_id == account_id, Login.kind == LoginKind.PASSWORD.value)
    typed = select(Link.address).where(Link.account_id == account_id, Link.address.is_not(None))
    addresses = session.scalars(union(own, typed)).all()
    is_unsent_farewell = (OutgoingEmail.kind == FAREWELL) & OutgoingEmail.finished_at.is_(None)
    session.execute(delete(OutgoingEmail).where(OutgoingEmail.recipient.in_(addresses), ~is_unsent_farewell))
    session.execute(delete(ResetRequest).where(ResetRequest.address.in_(addresses)))
