"""The second factor: time-based codes (RFC 6238) and recovery codes; a code works once (C-LIM-1; T-C3).

Adding and removing want the account's row locked by the caller; using a code is one statement that succeeds once.
"""

import hmac
import re
import secrets
from base64 import b32encode
from typing import Final

import pyotp
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.db import now
from modhub.errors import conflict, invalid
from modhub.security_log import log_event
from modhub_auth.encryption import SecretBox
from modhub_auth.models import Authenticator, RecoveryCode
from modhub_auth.signin.access_tokens import derive_key, token_digest

SECONDS: Final = 30
PROPOSAL_SECONDS: Final = 1800
"""How long a period of proposed secrets is."""
RECOVERY_CODES: Final = 10
_RECOVERY_BYTES: Final = 10
_GROUP: Final = 5
_SECRET_BYTES: Final = 20
_DIGITS: Final = re.compile(r"\A[0-9]{6}\Z")
_LATE_AND_EARLY: Final = (-1, 0, 1)
ISSUER: Final = "modhub"


class AuthenticatorProposals:
    """The secrets that pages propose: each comes from what a session alone holds, so that none needs a place.

    A session has another one in each period. A form names its period, and is good for that one and the next.
    """

    def __init__(self, secret: str) -> None:
        self._key = derive_key(secret, "authenticator proposal")

    def __repr__(self) -> str:
        return "Proposals(...)"

    def secret(self, held: str, period: int) -> str:
        """160 bits in base32 (RFC 4226, 4)."""
        source = f"{held} {period}".encode()
        return b32encode(hmac.digest(self._key, source, "sha256")[:_SECRET_BYTES]).decode()

    def period(self, sent: str = "") -> int:
        """The period that a form has ``sent`` while it is good, else the current one."""
        current = int(now().timestamp()) // PROPOSAL_SECONDS
        return current - 1 if sent == str(current - 1) else current


def add_authenticator(session: Session, seal: SecretBox, account_id: int, secret: str, code: str) -> list[str]:
    """Add the authenticator that has ``secret``, as its first code shows; answers the recovery codes, shown this once.

    409 when the account has one, 400 for a code that is not of now. The code is used up.
    """
    if has_authenticator(session, account_id):
        raise conflict("authenticator_present", "The account has an authenticator already.")
    step = matching_step(secret, code, after=0) if secret else None
    if step is None:
        raise invalid("The field %(field)s does not hold what the authenticator shows now.", field="code")
    sealed = seal.encrypt(secret, str(account_id))
    session.add(Authenticator(account_id=account_id, sealed=sealed, last_step=step, created_at=now()))
    session.flush()
    log_event("authenticator added", account=account_id)
    return renew_recovery_codes(session, account_id)


def renew_recovery_codes(session: Session, account_id: int) -> list[str]:
    """Ten new recovery codes instead of those that there were."""
    session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account_id))
    codes = [secrets.token_hex(_RECOVERY_BYTES) for _ in range(RECOVERY_CODES)]
    session.add_all(RecoveryCode(account_id=account_id, code_hash=token_digest(code)) for code in codes)
    session.flush()
    return ["-".join(code[at : at + _GROUP] for at in range(0, len(code), _GROUP)) for code in codes]


def remove_authenticator(session: Session, account_id: int) -> bool:
    """Take the authenticator and its recovery codes away; False when there was none."""
    session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account_id))
    removed = bulk.execute_bulk(session, delete(Authenticator).where(Authenticator.account_id == account_id)) == 1
    if removed:
        log_event("authenticator removed", account=account_id)
    return removed


def has_authenticator(session: Session, account_id: int) -> bool:
    """Whether signing in to the account needs a code."""
    active = select(Authenticator.account_id).where(Authenticator.account_id == account_id)
    return session.scalar(active) is not None


def matching_step(secret: str, code: str, after: int) -> int | None:
    """The time step that ``code`` is of: the previous, the current or the next, and later than ``after``."""
    digits = code.replace(" ", "")
    if not _DIGITS.match(digits):
        return None
    current = int(now().timestamp()) // SECONDS
    generator = pyotp.TOTP(secret)
    found = [
        step
        for step in (current + drift for drift in _LATE_AND_EARLY)
        if hmac.compare_digest(generator.generate_otp(step), digits)
    ]
    return next((step for step in found if step > after), None)


def use_code_of(session: Session, seal: SecretBox, account_id: int, code: str) -> bool:
    """Use up a code of the authenticator, or a recovery code: of many who try at once, one succeeds."""
    found = session.get(Authenticator, account_id)
    if found is None:
        return False
    secret = seal.decrypt(found.sealed, str(account_id))
    step = None if secret is None else matching_step(secret, code, after=found.last_step)
    if step is not None:
        later = (Authenticator.account_id == account_id, Authenticator.last_step < step)
        return bulk.execute_bulk(session, update(Authenticator).where(*later).values(last_step=step)) == 1
    held = token_digest(code.replace(" ", "").replace("-", "").lower())
    this = (RecoveryCode.account_id == account_id, RecoveryCode.code_hash == held)
    return bulk.execute_bulk(session, delete(RecoveryCode).where(*this)) == 1


def address_for_qr(secret: str, subject: str) -> str:
    """The ``otpauth://`` address that an authenticator reads from the QR code."""
    found: str = pyotp.TOTP(secret).provisioning_uri(name=subject, issuer_name=ISSUER)
    return found
