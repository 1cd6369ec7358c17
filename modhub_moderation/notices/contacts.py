"""Where the emails to a reporter go, and whether the address is known to be theirs."""

from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub_auth.models import Login, LoginKind
from modhub_moderation.cases.models import Notice


class Contact(NamedTuple):
    """An email address. ``confirmed``: its owner has shown that it is theirs."""

    address: str
    confirmed: bool


def find_reporter(session: Session, notice: Notice) -> Contact | None:
    """The address of who sent the notice; None without one, and once it was erased."""
    if notice.account_id is not None:
        logins = select(Login.subject, Login.verified)
        logins = logins.where(Login.account_id == notice.account_id, Login.kind == LoginKind.PASSWORD.value)
        row = session.execute(logins.order_by(Login.verified.desc(), Login.id).limit(1)).first()
        return None if row is None else Contact(row[0], bool(row[1]))
    return Contact(notice.email, confirmed=False) if notice.email else None
