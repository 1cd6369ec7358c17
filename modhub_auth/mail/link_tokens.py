"""Links in emails: a random secret, stored as a hash, bound to one purpose, valid once (C-MAIL-4)."""

from datetime import timedelta
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub.db import bulk, now
from modhub_auth.models import Link
from modhub_auth.tokens import CLOCK_SKEW, new_refresh_token, token_digest

CONFIRM_LINK: Final = "confirm"
RESET_LINK: Final = "reset"
ADD_PASSWORD_LINK: Final = "add"  # noqa: S105 - a kind of link
CHANGE_ADDRESS_LINK: Final = "change"
LINK_LIFETIMES: Final = {
    CONFIRM_LINK: timedelta(days=7),
    RESET_LINK: timedelta(minutes=60),
    ADD_PASSWORD_LINK: timedelta(days=7),
    CHANGE_ADDRESS_LINK: timedelta(minutes=60),
}


def create_link(
    session: Session,
    purpose: str,
    account_id: int,
    *,
    login_id: int | None = None,
    address: str | None = None,
    password_hash: str | None = None,
) -> str:
    """Create a link and return its secret, which is not stored. It replaces an older link of the same purpose."""
    session.execute(delete(Link).where(Link.account_id == account_id, Link.purpose == purpose))
    secret = new_refresh_token()
    session.add(
        Link(
            purpose=purpose,
            account_id=account_id,
            login_id=login_id,
            address=address,
            password_hash=password_hash,
            secret_hash=token_digest(secret),
            expires_at=now() + LINK_LIFETIMES[purpose],
        )
    )
    session.flush()
    return secret


def find_link(session: Session, secret: str, *purposes: str) -> Link | None:
    """The valid link with this secret and one of these purposes, or None.

    A link from the future is invalid, so setting the clock back extends no link's life (T-F7).
    """
    time = now()
    matches = (Link.secret_hash == token_digest(secret), Link.purpose.in_(purposes), Link.expires_at > time)
    link = session.scalars(select(Link).where(*matches)).one_or_none()
    if link is None or link.expires_at > time + LINK_LIFETIMES[link.purpose] + CLOCK_SKEW:
        return None
    return link


def consume_link(session: Session, link: Link) -> bool:
    """Use up the link. Of several concurrent calls, one returns True."""
    return bulk.execute_bulk(session, delete(Link).where(Link.id == link.id)) == 1


def delete_expired_links(session: Session) -> None:
    """Delete expired links."""
    session.execute(delete(Link).where(Link.expires_at <= now()))
