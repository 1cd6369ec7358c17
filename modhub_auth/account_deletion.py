"""Deleting an account with everything that it owns, in one transaction (C-ACC-18)."""

from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.events import AccountDeleted
from modhub_auth.models import Account, ClientSession, Link, Login, PageSession
from modhub_auth.signin.totp import remove_authenticator as remove_factor


def delete_account(session: Session, registry: Any, account: Account) -> None:
    """Delete an account whose row is locked. Other features subscribe to the event and delete their data."""
    account_id = account.id
    # First: its own personal part is erased with the others of the account.
    record(session, "account deleted", "account", account_id)
    registry.notify(AccountDeleted(account_id, session, registry))
    remove_factor(session, account_id)
    for model in (ClientSession, PageSession, Link, Login):
        session.execute(delete(model).where(model.account_id == account_id))
    session.delete(account)
    session.flush()
