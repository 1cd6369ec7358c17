"""Publisher keys: an author's build pipeline signs in by one, and may only do what the key is for.

A key is a login of kind "Key" with a row of its own. Deleting the login ends the key and its sessions at once.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from modhub.audit import act_for_account, record
from modhub.base.errors import ApiError, conflict, invalid
from modhub.base.security_log import log_event
from modhub.content import text
from modhub.content.text import N_
from modhub.db import bulk, now
from modhub.plugins.services import IMods
from modhub.web.request import Request
from modhub_auth.container import auth_services
from modhub_auth.models import KEY_PLATFORM, Login, LoginKind, PublisherKey
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.read_service import LoginRecord, has_expired
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


def invalid_key() -> ApiError:
    """401, the same for a key that is unknown, revoked or expired, and for one whose mod was deleted."""
    return ApiError(401, "invalid_key", N_("This publisher key is not valid."), headers=CHALLENGE)


def create_key(session: Session, account_id: int, label: str, mod_id: int | None, days: int) -> NewKey:
    """Make a key for a locked account. ``mod_id`` None: for all its mods; ``days`` 0: it does not expire."""
    keys = select(func.count()).select_from(Login)
    keys = keys.where(Login.account_id == account_id, Login.kind == LoginKind.KEY)
    if (session.scalar(keys) or 0) >= MAX_KEYS:
        raise conflict("too_many_keys", N_("You have too many publisher keys. Revoke one that you no longer need."))
    time, public_id = now(), secrets.token_hex(_PUBLIC_BYTES)
    new_key = NewKey(f"mhk_{public_id}_{secrets.token_hex(_SECRET_BYTES)}", f"{label} (mhk_{public_id}…)")
    login = Login(
        account_id=account_id,
        kind=LoginKind.KEY,
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
    key_login = (Login.id == login_id, Login.account_id == account_id, Login.kind == LoginKind.KEY)
    revoked = bulk.execute_bulk(session, delete(Login).where(*key_login)) == 1
    if revoked:
        record(session, "publisher key revoked", "account", account_id, login=login_id)
    return revoked


def check_key(request: Request, key: str) -> LoginRecord:
    """Check a key, outside any transaction. 401 for an invalid one: a failed sign-in; 403 if blocked.

    A right key is never held up by the failures of others at its address, such as shared build agents: nobody guesses
    256 random bits.
    """
    auth, caller = auth_services(request), caller_of(request)
    stored = auth.account_reader.key(token_digest(key.strip()))
    if stored is None or has_expired(stored, now()) or not _has_mod(request, stored.mod_id):
        failures = rate_counter("sign-in caller", caller, request.registry.settings["modhub_auth.failures"])
        with auth.rate_limiter.attempt([failures]) as slot:
            slot.failed = True
        log_event("publisher key refused", account=None if stored is None else stored.account_id, caller=caller)
        raise invalid_key()
    if stored.blocked:
        raise blocked_account_error(stored.account_id)
    return stored


def begin_session(session: Session, key: LoginRecord) -> str:
    """Note the use of a key that was just checked, and return its login's random id; 401 if it was revoked since."""
    used = update(PublisherKey).where(PublisherKey.login_id == key.login_id).values(used_at=now())
    if bulk.execute_bulk(session, used) != 1:
        raise invalid_key()
    act_for_account(session, key.account_id)
    record(session, "signed in", "account", key.account_id, login=key.login_id, via="publisher key")
    return session.get_one(Login, key.login_id).random_id


def _has_mod(request: Request, mod_id: int | None) -> bool:
    """Whether a key is for all mods, or for one that has not been deleted."""
    if mod_id is None:
        return True
    with request.databases.readonly_session() as session:
        return bool(request.find_service(IMods).get_mods(session, [mod_id]))


def seconds_left(key: LoginRecord, time: datetime) -> int:
    """How long an access token made at ``time`` works: it ends with its key."""
    if key.expires_at is None:
        return ACCESS_SECONDS
    return max(0, min(ACCESS_SECONDS, int((key.expires_at - time).total_seconds())))


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
