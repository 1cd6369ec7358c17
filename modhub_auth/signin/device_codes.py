"""Sign-in by another device (C-ACC-27; after RFC 8628): a program shows a code, and a person who is signed in types it.

Whatever ends sessions ends the codes that the account has allowed, while it has the account's row locked.
"""

import math
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Row, delete, select, update
from sqlalchemy.orm import Session

from modhub.base.errors import ApiError
from modhub.content.text import N_
from modhub.db import Databases, now
from modhub_auth.models import DeviceCode, Login
from modhub_auth.services import email_not_confirmed, lock_account
from modhub_auth.signin.sessions import SignedIn, issue_tokens
from modhub_auth.tokens import CLOCK_SKEW, keyed_digests, new_refresh_token, token_digest

CODE_SECONDS: Final = 600
INTERVAL_SECONDS: Final = 5
_LIFE: Final = timedelta(seconds=CODE_SECONDS)
_SHORTEST_PAUSE: Final = timedelta(seconds=INTERVAL_SECONDS - 1)
"""A timer of the program may be a little early."""
_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
_CODE_LENGTH: Final = 8
_MAX_ADDRESS: Final = 64
_ONCE: Final = {"synchronize_session": False}
"""For the statements that one of several callers wins."""


class NewCodes(NamedTuple):
    """The codes of a sign-in that begins, which are not stored."""

    device_code: str
    user_code: str


PendingCode = Row[str, str]
"""What a person is told who is asked to allow a program: its ``label`` and ``address``."""


class Poll(NamedTuple):
    """A poll in time: whose code it is, if somebody has allowed it, or that it was denied."""

    account_id: int | None
    denied: bool


def unknown_code() -> ApiError:
    """400, the same for a code that is wrong, decided or expired."""
    message = N_("This code is wrong or has expired. Check it, or start again in the program.")
    return ApiError(400, "unknown_code", message)


def expired_token() -> ApiError:
    """400, the same for a code that is unknown, used, killed or old."""
    return ApiError(400, "expired_token", "This sign-in has expired or was already used. Start again.")


def authorization_pending() -> ApiError:
    """400 while nobody has decided."""
    return ApiError(400, "authorization_pending", "Nobody has allowed this sign-in yet. Ask again later.")


def access_denied() -> ApiError:
    """400 for a code that was denied."""
    return ApiError(400, "access_denied", "This sign-in was denied.")


def slow_down(pause: timedelta) -> ApiError:
    """429 for a poll that is too early by ``pause``."""
    wait = max(1, math.ceil(pause.total_seconds()))
    message = N_("Ask again later, and no more often than the interval says.")
    return ApiError(429, "slow_down", message, headers={"Retry-After": str(wait)}, retryAfterSeconds=wait)


def _user_hashes(settings: Mapping[str, Any], user_code: str) -> list[str]:
    """The stored hash of what a person types, by each secret.

    Keyed, because all codes can be tried on a plain hash in a moment.
    """
    letters = user_code.upper().replace("-", "")
    message = "".join(letters.split()).encode("utf-8", "surrogatepass")
    return keyed_digests(settings["modhub.secret"], "device code", message)


def _is_alive(time: datetime) -> tuple[ColumnElement[bool], ...]:
    """A code from the future is not, so that setting the clock back extends no code's life (T-F7)."""
    return DeviceCode.expires_at > time, DeviceCode.expires_at <= time + _LIFE + CLOCK_SKEW


def begin(session: Session, settings: Mapping[str, Any], label: str, address: str) -> NewCodes:
    """Begin the sign-in of a program, and return its codes."""
    user_hashes: list[str] = []
    user_code = ""
    while not user_hashes or session.scalar(select(DeviceCode.id).where(DeviceCode.user_hash.in_(user_hashes))):
        user_code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
        user_hashes = _user_hashes(settings, user_code)
    device_code = new_refresh_token()
    session.add(
        DeviceCode(
            device_hash=token_digest(device_code),
            user_hash=user_hashes[0],
            label=label,
            address=address[:_MAX_ADDRESS],
            expires_at=now() + _LIFE,
        )
    )
    session.flush()
    half = _CODE_LENGTH // 2
    return NewCodes(device_code, f"{user_code[:half]}-{user_code[half:]}")


def _is_pending(settings: Mapping[str, Any], user_code: str) -> tuple[ColumnElement[bool], ...]:
    is_undecided = (DeviceCode.account_id.is_(None), DeviceCode.denied.is_(False))
    return DeviceCode.user_hash.in_(_user_hashes(settings, user_code)), *is_undecided, *_is_alive(now())


def find_pending(session: Session, settings: Mapping[str, Any], user_code: str) -> PendingCode | None:
    """The program that shows this code; None for a wrong code, and for one that is decided or has expired."""
    pending = select(DeviceCode.label, DeviceCode.address).where(*_is_pending(settings, user_code))
    return session.execute(pending).one_or_none()


def allow(session: Session, settings: Mapping[str, Any], user_code: str, account_id: int, login_id: int) -> PendingCode:
    """Let the program sign in to a locked account as by this login. Of several decisions one counts, others get 400."""
    return _decide(session, settings, user_code, account_id=account_id, login_id=login_id)


def deny(session: Session, settings: Mapping[str, Any], user_code: str) -> None:
    """Deny it. The row tells nothing of who did."""
    _decide(session, settings, user_code, denied=True)


def _decide(session: Session, settings: Mapping[str, Any], user_code: str, **decision: int | bool) -> PendingCode:
    decided = update(DeviceCode).where(*_is_pending(settings, user_code)).values(decision)
    row = session.execute(
        decided.returning(DeviceCode.label, DeviceCode.address), execution_options=_ONCE
    ).one_or_none()
    if row is None:
        raise unknown_code()
    return row


def poll(databases: Databases, device_code: str) -> Poll:
    """Note a poll, in a transaction of its own since refusals count too. 400 for a dead code, 429 for an early poll."""
    time = now()
    with databases.write_session.begin() as session:
        alive = select(DeviceCode).where(DeviceCode.device_hash == token_digest(device_code), *_is_alive(time))
        code = session.scalars(alive.with_for_update()).one_or_none()
        if code is None:
            raise expired_token()
        # A poll from the future predates a change of the clock.
        since = None if code.polled_at is None else time - code.polled_at
        if since is not None and -CLOCK_SKEW <= since < _SHORTEST_PAUSE:
            raise slow_down(_SHORTEST_PAUSE - since)
        code.polled_at = time
        return Poll(code.account_id, code.denied)


def redeem(session: Session, settings: Mapping[str, Any], device_code: str, account_id: int) -> SignedIn:
    """Sign the program in to the account that allowed it, and use the code up. Of concurrent calls one succeeds.

    403, the code unharmed, while the address must be confirmed first.
    """
    account = lock_account(session, account_id)
    this_code = (DeviceCode.device_hash == token_digest(device_code), DeviceCode.account_id == account_id)
    used = delete(DeviceCode).where(*this_code, *_is_alive(now())).returning(DeviceCode.login_id, DeviceCode.label)
    code = session.execute(used, execution_options=_ONCE).one_or_none()
    if account is None or code is None:
        raise expired_token()
    login = session.get_one(Login, code.login_id, populate_existing=True)
    if settings["modhub_auth.require_verified"] and not login.verified:
        raise email_not_confirmed()
    return issue_tokens(session, account, login, code.label)
