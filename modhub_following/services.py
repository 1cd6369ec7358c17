"""Following: the rules. Functions over a session; the caller has locked the account."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import conflict
from modhub.base.service_registry import find_service
from modhub.db import bulk, now, shared_now
from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub.plugins.events import AccountDeleted, DatabaseRestored, ModsDeleted
from modhub.web.traversal import parse_id
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import DIGEST
from modhub_auth.models import Account, Login, LoginKind
from modhub_following.models import Follow, Frequency, Reader, TargetKind

FEED_SECRET_BYTES: Final = 32
MOST_FOLLOWS: Final = 1000


class Target(NamedTuple):
    """What is followed; ``name`` is only set for a game."""

    kind: TargetKind
    key: str
    name: str = ""


def _lock_reader(session: Session, account_id: int, language: str) -> Reader:
    """Return the account's row, locked until the end of the transaction; created if there is none."""
    values = {"account_id": account_id, "frequency": Frequency.NONE.value, "language": language}
    session.execute(bulk.upsert(session, Reader).values(**values).on_conflict_do_nothing())
    return session.scalars(select(Reader).where(Reader.account_id == account_id).with_for_update()).one()


def _is_target(account_id: int, target: Target) -> Any:
    return (Follow.account_id == account_id) & (Follow.kind == target.kind.value) & (Follow.key == target.key)


def follow(session: Session, account_id: int, target: Target, language: str) -> None:
    """Follow the target; nothing happens if the account follows it already. 409 beyond `MOST_FOLLOWS`."""
    _lock_reader(session, account_id, language)
    if is_followed(session, account_id, target):
        return
    if count_follows(session, account_id) >= MOST_FOLLOWS:
        raise conflict(
            "too_many_follows",
            "You already follow %(count)s mods, authors and games. That is the limit.",
            values={"count": MOST_FOLLOWS},
        )
    values = {
        "account_id": account_id,
        "kind": target.kind.value,
        "key": target.key,
        "name": target.name,
        "created_at": shared_now(session),
    }
    session.execute(bulk.upsert(session, Follow).values(**values).on_conflict_do_nothing())


def unfollow(session: Session, account_id: int, target: Target) -> None:
    """End following the target, if the account follows it."""
    session.execute(delete(Follow).where(_is_target(account_id, target)))


def is_followed(session: Session, account_id: int, target: Target) -> bool:
    """Whether the account follows the target."""
    return session.scalar(select(Follow.id).where(_is_target(account_id, target))) is not None


def count_followers(session: Session, target: Target) -> int:
    """How many accounts follow it."""
    followers = select(func.count()).where(Follow.kind == target.kind.value, Follow.key == target.key)
    return session.scalar(followers) or 0


def count_follows(session: Session, account_id: int) -> int:
    """How many things the account follows."""
    return session.scalar(select(func.count(Follow.id)).where(Follow.account_id == account_id)) or 0


def follows_of(session: Session, account_id: int) -> Sequence[Follow]:
    """What the account follows, the latest first."""
    return session.scalars(select(Follow).where(Follow.account_id == account_id).order_by(Follow.id.desc())).all()


def frequency_of(session: Session, account_id: int) -> Frequency:
    """How often the account gets a digest."""
    chosen = session.scalar(select(Reader.frequency).where(Reader.account_id == account_id))
    return Frequency(chosen) if chosen else Frequency.NONE


def choose_frequency(session: Session, account_id: int, frequency: Frequency, language: str) -> None:
    """Choose how often the account gets a digest, and in which language. What was there before the first is not new."""
    reader = _lock_reader(session, account_id, language)
    if reader.frequency == Frequency.NONE.value:
        reader.told_until = shared_now(session)
    reader.frequency, reader.language = frequency.value, language
    session.flush()


def mark_seen(session: Session, account_id: int, until: datetime, language: str) -> None:
    """Nothing that changed until then is unread any more. A form that was open for long undoes no later one."""
    reader = _lock_reader(session, account_id, language)
    if reader.seen_at is None or reader.seen_at < until:
        reader.seen_at = until
        session.flush()


def renew_feed(session: Session, account_id: int, language: str) -> str:
    """Make the address of the account's private feed, in place of an earlier one; returns its secret.

    The secret has 256 random bits and is not stored: nobody can show it again.
    """
    reader, secret = _lock_reader(session, account_id, language), secrets.token_urlsafe(FEED_SECRET_BYTES)
    reader.feed_hash, reader.feed_made_at = feed_digest(secret), now()
    session.flush()
    record(session, "feed address created", "account", account_id)
    return secret


def revoke_feed(session: Session, account_id: int) -> None:
    """End the address of the account's private feed, if there is one."""
    has_feed = Reader.account_id == account_id, Reader.feed_hash.is_not(None)
    if bulk.execute_bulk(session, update(Reader).where(*has_feed).values(feed_hash=None, feed_made_at=None)):
        record(session, "feed address revoked", "account", account_id)


def feed_made_at(session: Session, account_id: int) -> datetime | None:
    """When the address of the account's private feed was made; None if there is none."""
    return session.scalar(select(Reader.feed_made_at).where(Reader.account_id == account_id))


def feed_digest(secret: str) -> str:
    """What is stored of the secret of a private feed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def leave_digest(session: Session, account_id: int) -> None:
    """End the digests of the account, which keeps following; nothing happens if it gets none."""
    none = update(Reader).where(Reader.account_id == account_id).values(frequency=Frequency.NONE.value)
    bulk.execute_bulk(session, none)


def find_contact(session: Session, account_id: int) -> str | None:
    """The confirmed email address of an account that is not blocked, or None."""
    address = select(Login.subject).join(Account, Account.id == Login.account_id)
    confirmed = Login.kind == LoginKind.PASSWORD.value, Login.verified
    address = address.where(Login.account_id == account_id, *confirmed, Account.blocked_at.is_(None))
    return session.scalar(address.order_by(Login.id).limit(1))


def leave_token(account_id: int, random_id: str) -> str:
    """What is in the addresses that end the digests of the account, whose :class:`Reader` has this random id.

    It can end digests, and nothing else. It does not expire: an email may be old.
    """
    return f"{account_id}.{random_id}"


def account_of_token(session: Session, token: str) -> int | None:
    """The account of a token; None for any other text, and for a lost account with the same number."""
    account_id = parse_id(token.partition(".")[0])
    random_id = session.scalar(select(Reader.random_id).where(Reader.account_id == (account_id or 0)))
    if account_id is None or random_id is None or not token.isascii():
        return None
    return account_id if hmac.compare_digest(token, leave_token(account_id, random_id)) else None


_READER = Reader.frequency, Reader.language, Reader.sent_at, Reader.told_until, Reader.seen_at, Reader.feed_made_at


def collect_following(session: Session, account_id: int) -> AccountData | None:
    """What the account follows, and its choice of emails and feed."""
    follows = select(Follow.kind, Follow.key, Follow.name, Follow.created_at).where(Follow.account_id == account_id)
    followed = row_documents(session, follows.order_by(Follow.id))
    readers = row_documents(session, select(*_READER).where(Reader.account_id == account_id))
    return AccountData({"follows": followed, "emails": readers}) if followed or readers else None


def forget_mods(event: ModsDeleted) -> None:
    """End all follows of the mods."""
    keys = [str(mod_id) for mod_id in event.mod_ids]
    event.session.execute(delete(Follow).where(Follow.kind == TargetKind.MOD.value, Follow.key.in_(keys)))


def forget_account(event: AccountDeleted) -> None:
    """End what the account follows and who follows it, and take back a digest that has not been sent."""
    session, account_id = event.session, event.account_id
    contact = find_contact(session, account_id)
    if contact is not None:
        find_service(event.registry, AuthServices).outbox.withdraw(session, DIGEST, contact)
    of_author = Follow.kind == TargetKind.AUTHOR.value, Follow.key == str(account_id)
    session.execute(delete(Follow).where(*of_author))
    for model in (Follow, Reader):
        session.execute(delete(model).where(model.account_id == account_id))


def begin_digests(event: DatabaseRestored) -> None:
    """A digest may have been sent since the backup: what it may have said is not said again."""
    gets_digests = Reader.frequency != Frequency.NONE.value
    begun = update(Reader).where(gets_digests).values(told_until=shared_now(event.session))
    if bulk.execute_bulk(event.session, begun):
        event.notes.append("Digests begin with what is new from now on: earlier changes may have been sent already.")


def end_feeds(event: DatabaseRestored) -> None:
    """The address of a private feed may have been revoked since the backup."""
    has_feed = Reader.feed_hash.is_not(None)
    ended = bulk.execute_bulk(event.session, update(Reader).where(has_feed).values(feed_hash=None, feed_made_at=None))
    if ended:
        event.notes.append(f"All addresses of private feeds are ended ({ended}): their readers create new ones.")
