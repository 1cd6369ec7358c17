"""The second factor: time-based codes (RFC 6238) and recovery codes. Each code works once (C-LIM-1; T-C3).

To add or remove an authenticator the caller locks the account's row. Using a code is one statement that succeeds once.
"""

import hmac
import re
import secrets
from base64 import b32encode
from collections.abc import Sequence
from typing import Final

import pyotp
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import conflict, invalid
from modhub.db import bulk, now
from modhub_auth.models import Authenticator, RecoveryCode
from modhub_auth.tokens import SecretBox, derive_key, token_digest

STEP_SECONDS: Final = 30
PROPOSAL_SECONDS: Final = 1800
"""How long a period of proposed secrets is."""
RECOVERY_CODES: Final = 10
_RECOVERY_BYTES: Final = 14
"""112 bits: with fewer, the hash that is stored would have to be slow (ASVS 6.5.2)."""
_GROUP_LENGTH: Final = 7
_SECRET_BYTES: Final = 20
_DIGITS: Final = re.compile(r"\A[0-9]{6}\Z")
_ALLOWED_DRIFT: Final = (-1, 0, 1)


class AuthenticatorProposals:
    """The secrets that pages propose, each derived from the session's own secret, so that none is stored.

    The secret changes with each period. A form names its period and is valid in that one and the next. The first
    configured secret proposes; what another one proposed is accepted as well (C-TOK-4).
    """

    def __init__(self, configured_secrets: Sequence[str]) -> None:
        self._keys = [derive_key(secret, "authenticator proposal") for secret in configured_secrets]

    def __repr__(self) -> str:
        return "AuthenticatorProposals(...)"

    def secret(self, session_secret: str, period: int) -> str:
        """160 bits in base32 (RFC 4226, 4)."""
        return self._proposed(session_secret, period)[0]

    def _proposed(self, session_secret: str, period: int) -> list[str]:
        source = f"{session_secret} {period}".encode()
        return [b32encode(hmac.digest(key, source, "sha256")[:_SECRET_BYTES]).decode() for key in self._keys]

    def proven_secret(self, session_secret: str, period: int, code: str) -> str:
        """The proposed secret whose current code this is; the one that is proposed now if it is of none."""
        proposed = self._proposed(session_secret, period)
        return next((secret for secret in proposed if matching_step(secret, code, after=0) is not None), proposed[0])

    def period(self, form_period: str = "") -> int:
        """The ``form_period`` of a submitted form while it is valid, else the current period."""
        current = int(now().timestamp()) // PROPOSAL_SECONDS
        return current - 1 if form_period == str(current - 1) else current


def add_authenticator(session: Session, secret_box: SecretBox, account_id: int, secret: str, code: str) -> list[str]:
    """Add an authenticator with ``secret``, proved by its first code, and return the recovery codes to show once.

    409 if the account has one, 400 for a code that is not current. The code is used up.
    """
    if has_authenticator(session, account_id):
        raise conflict("authenticator_present", "The account already has an authenticator.")
    step = matching_step(secret, code, after=0) if secret else None
    if step is None:
        raise invalid("The field %(field)s is not the code that the authenticator shows now.", field="code")
    sealed = secret_box.encrypt(secret, str(account_id))
    session.add(Authenticator(account_id=account_id, sealed=sealed, last_step=step, created_at=now()))
    session.flush()
    record(session, "authenticator added", "account", account_id)
    return renew_recovery_codes(session, account_id)


def renew_recovery_codes(session: Session, account_id: int) -> list[str]:
    """Replace the recovery codes by ten new ones and return these."""
    session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account_id))
    codes = [secrets.token_hex(_RECOVERY_BYTES) for _ in range(RECOVERY_CODES)]
    session.add_all(RecoveryCode(account_id=account_id, code_hash=token_digest(code)) for code in codes)
    session.flush()
    group_starts = range(0, 2 * _RECOVERY_BYTES, _GROUP_LENGTH)
    return ["-".join(code[start : start + _GROUP_LENGTH] for start in group_starts) for code in codes]


def remove_authenticator(session: Session, account_id: int) -> bool:
    """Remove the authenticator and its recovery codes; False if there was none."""
    session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account_id))
    removed = bulk.execute_bulk(session, delete(Authenticator).where(Authenticator.account_id == account_id)) == 1
    if removed:
        record(session, "authenticator removed", "account", account_id)
    return removed


def has_authenticator(session: Session, account_id: int) -> bool:
    """Whether signing in to the account needs a code."""
    statement = select(Authenticator.account_id).where(Authenticator.account_id == account_id)
    return session.scalar(statement) is not None


def matching_step(secret: str, code: str, after: int) -> int | None:
    """The time step of ``code``: the previous, current or next one, later than ``after``; None for a wrong code."""
    digits = code.replace(" ", "")
    if not _DIGITS.match(digits):
        return None
    current = int(now().timestamp()) // STEP_SECONDS
    generator = pyotp.TOTP(secret)
    steps = [
        step
        for step in (current + drift for drift in _ALLOWED_DRIFT)
        if hmac.compare_digest(generator.generate_otp(step), digits)
    ]
    return next((step for step in steps if step > after), None)


def use_code(session: Session, secret_box: SecretBox, account_id: int, code: str) -> bool:
    """Use up a code of the authenticator, or a recovery code; False for a wrong one, and for all but one of many."""
    authenticator = session.get(Authenticator, account_id)
    if authenticator is None:
        return False
    secret = secret_box.decrypt(authenticator.sealed, str(account_id))
    step = None if secret is None else matching_step(secret, code, after=authenticator.last_step)
    if secret is not None and step is not None:
        is_unused = (Authenticator.account_id == account_id, Authenticator.last_step < step)
        # Sealed by the first of the configured secrets from now on (C-TOK-4).
        used = {"last_step": step, "sealed": secret_box.encrypt(secret, str(account_id))}
        return bulk.execute_bulk(session, update(Authenticator).where(*is_unused).values(used)) == 1
    code_hash = token_digest(code.replace(" ", "").replace("-", "").lower())
    matches = (RecoveryCode.account_id == account_id, RecoveryCode.code_hash == code_hash)
    is_found = bulk.execute_bulk(session, delete(RecoveryCode).where(*matches)) == 1
    if is_found:
        record(session, "recovery code used", "account", account_id)
    return is_found


def provisioning_uri(secret: str, subject: str, issuer: str) -> str:
    """The ``otpauth://`` address in the QR code for an authenticator, which lists it by the names of both."""
    uri: str = pyotp.TOTP(secret).provisioning_uri(name=subject, issuer_name=issuer)
    return uri
