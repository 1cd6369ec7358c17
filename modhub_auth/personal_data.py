"""What this feature has of an account, for the person whose account it is (C-DAT-2). No secrets, no hashes."""

from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub_auth.models import (
    Account,
    Authenticator,
    ClientSession,
    Login,
    OutgoingEmail,
    PageSession,
    PublisherKey,
    RecoveryCode,
)

_ACCOUNT: Final = select(Account.id, Account.kind, Account.display_name, Account.created_at, Account.blocked_at)
_LOGINS: Final = select(Login.id, Login.kind, Login.platform, Login.subject, Login.verified, Login.created_at)
_PROGRAMS: Final = select(
    ClientSession.label, ClientSession.created_at, ClientSession.used_at, ClientSession.expires_at
)
_PAGES: Final = select(PageSession.label, PageSession.created_at, PageSession.used_at, PageSession.proved_at)
_KEYS: Final = (
    select(
        Login.subject.label("label"),
        PublisherKey.mod_id,
        PublisherKey.created_at,
        PublisherKey.used_at,
        PublisherKey.expires_at,
    )
    .select_from(PublisherKey)
    .join(Login, Login.id == PublisherKey.login_id)
)
_EMAILS: Final = select(
    OutgoingEmail.kind, OutgoingEmail.recipient, OutgoingEmail.created_at, OutgoingEmail.finished_at
)


def collect_account(session: Session, account_id: int) -> AccountData | None:
    """The account, its ways to sign in, what is signed in, and the emails to its addresses."""
    account: dict[str, Any] = next(iter(row_documents(session, _ACCOUNT.where(Account.id == account_id))), {})
    if not account:
        return None
    addresses = select(Login.subject).where(Login.account_id == account_id)
    codes = select(func.count(RecoveryCode.id)).where(RecoveryCode.account_id == account_id)
    factor = select(Authenticator.created_at).where(Authenticator.account_id == account_id)
    account |= {
        "logins": row_documents(session, _LOGINS.where(Login.account_id == account_id).order_by(Login.id)),
        "programs": row_documents(session, _PROGRAMS.where(ClientSession.account_id == account_id)),
        "pageSessions": row_documents(session, _PAGES.where(PageSession.account_id == account_id)),
        "publisherKeys": row_documents(session, _KEYS.where(Login.account_id == account_id)),
        "authenticators": row_documents(session, factor),
        "recoveryCodesLeft": session.scalar(codes),
        "emails": row_documents(session, _EMAILS.where(OutgoingEmail.recipient.in_(addresses))),
    }
    return AccountData(account)
