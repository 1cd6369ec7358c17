"""Publisher keys: an author's build pipeline signs in by one, and may only do what the key is for.

A key is a login of kind "Key" with a row of its own. Deleting the login ends the key and its sessions at once.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from modhub.audit import act_for_account, record
from modhub.base.errors import ApiError, conflict, invalid
from modhub.base.security_log import log_event
from modhub.content import text
from modhub.content.text import N_
from modhub.db import bulk, now
from modhub_auth.container import AuthServices
from modhub_auth.models import KEY_PLATFORM, Login, LoginKind, PublisherKey
from modhub_auth.rate_limits import rate_counter
from modhub_auth.services import CHALLENGE, blocked_account_error
from modhub_auth.tokens import ACCESS_SECONDS, token_digest

MAX_LABEL: Final = 60
"""Code points of a key's label."""
MAX_KEYS: Final = 50
"""Keys that one account may have."""
DEFAULT_DAYS: Final = 365
MAX_DAYS: Final = 3650
_PUBLIC_BYTES: Final = 6
_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True, repr=False)
class NewKey:
    """A new key: its text, which is not stored, and what the account's page calls it."""

    key: str
    subject: str


@dataclass(frozen=True, slots=True)
class KeySession:
    """A session that a key was exchanged for."""

    login_id: int
    account_id: int
    display_name: str
    seconds: int


def invalid_key() -> ApiError:
    """401, the same for a key that is unknown, revoked or expired, and for one whose mod was deleted."""
    return ApiError(401, "invalid_key", N_("This publisher key is not valid."), headers=CHALLENGE)


def create_key(session: Session, account_id: int, label: str, mod_id: int | None, days: int) -> NewKey:
    """Make a key for a locked account. ``mod_id`` None: for all its mods; ``days`` 0: it does not expire."""
    keys = select(func.count()).select_from(Login)
    keys = keys.where(Login.account_id == account_id, Login.kind == LoginKind.KEY.value)
    if (session.scalar(keys) or 0) >= MAX_KEYS:
        raise conflict("too_many_keys", N_("You have too many publisher keys. Revoke one that you no longer need."))
    time, public_id = now(), secrets.token_hex(_PUBLIC_BYTES)
    new_key = NewKey(f"mhk_{public_id}_{secrets.token_hex(_SECRET_BYTES)}", f"{label} (mhk_{public_id}…)")
    login = Login(
        account_id=account_id,
        kind=LoginKind.KEY.value,
        platform=KEY_PLATFORM,
        subject=new_key.subject,
        verified=True,
        created_at=time,
    )
    session.add(login)
    session.flush()
    key = PublisherKey(login_id=login.id, key_hash=token_digest(new_key.key), mod_id=mod_id, created_at=time)
    key.expires_at = time + timedelta(days=days) if days else None
    session.add(key)
    session.flush()
    record(session, "publisher key created", "account", account_id, login=login.id, mod=mod_id)
    return new_key


def revoke_key(session: Session, account_id: int, login_id: int | None) -> bool:
    """Delete a key of a locked account; False if it has no such key."""
    key_login = (Login.id == login_id, Login.account_id == account_id, Login.kind == LoginKind.KEY.value)
    revoked = bulk.execute_bulk(session, delete(Login).where(*key_login)) == 1
    if revoked:
        record(session, "publisher key revoked", "account", account_id, login=login_id)
    return revoked


def check_key(
    auth: AuthServices, settings: Mapping[str, Any], key: str, caller: str, mod_exists: Callable[[int], bool]
) -> KeySession:
    """Check a key, outside any transaction. 401 for an invalid one: a failed sign-in; 403 if blocked.

    A right key is never held up by the failures of others at its address, such as shared build agents: nobody guesses
    256 random bits.
    """
    stored, time = auth.account_reader.key_by_hash(token_digest(key.strip())), now()
    if stored is None or has_expired(stored.expires_at, time) or not _has_mod(stored.mod_id, mod_exists):
        with auth.rate_limiter.attempt(
            [rate_counter("sign-in caller", caller, settings["modhub_auth.failures"])]
        ) as slot:
            slot.failed = True
        log_event("publisher key refused", account=None if stored is None else stored.account_id, caller=caller)
        raise invalid_key()
    if stored.blocked:
        raise blocked_account_error(stored.account_id)
    return KeySession(stored.login_id, stored.account_id, stored.display_name, _seconds(stored.expires_at, time))


def begin_session(session: Session, key_session: KeySession) -> str:
    """Note the use of a key that was just checked, and return its login's random id; 401 if it was revoked since."""
    used = update(PublisherKey).where(PublisherKey.login_id == key_session.login_id).values(used_at=now())
    if bulk.execute_bulk(session, used) != 1:
        raise invalid_key()
    act_for_account(session, key_session.account_id)
    record(session, "signed in", "account", key_session.account_id, login=key_session.login_id, via="publisher key")
    return session.get_one(Login, key_session.login_id).random_id


def _has_mod(mod_id: int | None, mod_exists: Callable[[int], bool]) -> bool:
    """Whether a key is for all mods, or for one that has not been deleted."""
    return mod_id is None or mod_exists(mod_id)


def has_expired(expires_at: datetime | None, time: datetime) -> bool:
    """Whether a key with this end is no longer valid."""
    return expires_at is not None and expires_at <= time


def _seconds(expires_at: datetime | None, time: datetime) -> int:
    """How long an access token made now works: it ends with its key."""
    if expires_at is None:
        return ACCESS_SECONDS
    return min(ACCESS_SECONDS, int((expires_at - time).total_seconds()))


def clean_label(value: str) -> str:
    """The label of a key; 400 if it is empty."""
    label = text.line(value, MAX_LABEL)
    if not label:
        raise invalid("The field %(field)s is required.", field="label")
    return label


def parse_days(value: str) -> int:
    """The days until a key expires; 0: never. 400 for anything but a number in range."""
    digits = value.strip() or str(DEFAULT_DAYS)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 4 and int(digits) <= MAX_DAYS):
        raise invalid("The field %(field)s must be a number from 0 to %(limit)s.", field="days", limit=MAX_DAYS)
    return int(digits)
