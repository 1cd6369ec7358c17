"""Access tokens of programs, and encryption of what is kept for a while (C-TOK)."""

import hashlib
import hmac
import re
import secrets
import struct
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pyramid.csrf import get_csrf_token

from modhub.db import from_micros, now, to_micros
from modhub.web.request import Request

CLOCK_SKEW: Final = timedelta(seconds=5)
"""The tolerated difference."""


def is_recent(moment: datetime, life: timedelta) -> bool:
    """Whether this was less than ``life`` ago. What is in the future predates a change of the clock and is not."""
    return -CLOCK_SKEW <= now() - moment < life


# Access tokens and refresh tokens (C-TOK-2; C-TOK-1).
#
# An access token is the lower-case hex of packed fields and their HMAC-SHA256. Exactly one spelling of it is valid;
# of a base64 token many would be. A refresh token is random; only its hash is stored.


ACCESS_SECONDS: Final = 1800
REFRESH_LIFE: Final = timedelta(days=60)
_PURPOSE: Final = "access token"
_VERSION: Final = 2
_FIELDS: Final = struct.Struct(">BQ16sq")  # version, login, its random id, expiry in microseconds since 1970
_DIGEST_BYTES: Final = hashlib.sha256().digest_size
_HEX: Final = re.compile(rf"\A[0-9a-f]{{{2 * (_FIELDS.size + _DIGEST_BYTES)}}}\Z")
_LIFE_MICROS: Final = ACCESS_SECONDS * 1_000_000
_SKEW_MICROS: Final = CLOCK_SKEW // timedelta(microseconds=1)
_MAX_ID: Final = 2**63 - 1
"""The largest integer of the databases: they refuse even a query for a larger one."""


def derive_key(secret: str, purpose: str) -> bytes:
    """Derive the 32-byte key of ``secret`` for one purpose, so that nothing signed for one is valid for another."""
    return hmac.digest(secret.encode(), f"modhub_auth {purpose}".encode(), "sha256")


class LoginClaim(NamedTuple):
    """The login that a token names. After a failover that lost rows, a new login may have the number of a lost one."""

    login_id: int
    random_id: str


class AccessTokens:
    """Makes and checks access tokens. The first secret signs, all secrets verify (C-TOK-4)."""

    def __init__(self, configured_secrets: Sequence[str]) -> None:
        self._keys = [derive_key(secret, _PURPOSE) for secret in configured_secrets]

    def __repr__(self) -> str:
        return "AccessTokens(...)"

    def make(self, login_id: int, random_id: str, time: datetime) -> str:
        """A token that names the login and expires 1800 seconds after ``time``."""
        fields = _FIELDS.pack(_VERSION, login_id, bytes.fromhex(random_id), to_micros(time) + _LIFE_MICROS)
        return (fields + hmac.digest(self._keys[0], fields, "sha256")).hex()

    def claim_of(self, token: str, time: datetime) -> LoginClaim | None:
        """The login that a valid token names; None for any other text.

        A token from the future is invalid, so setting the clock back extends no token's life (T-F7).
        Clocks of two machines may differ by a few seconds.
        """
        if not _HEX.match(token):
            return None
        raw = bytes.fromhex(token)
        fields, signature = raw[:-_DIGEST_BYTES], raw[-_DIGEST_BYTES:]
        # Compared with every key, so that the time does not tell which one matches.
        matches = [hmac.compare_digest(hmac.digest(key, fields, "sha256"), signature) for key in self._keys]
        if not any(matches):
            return None
        version, login_id, random_id, expiry = _FIELDS.unpack(fields)
        remaining = int(expiry) - to_micros(time)
        if version != _VERSION or login_id > _MAX_ID or not 0 < remaining <= _LIFE_MICROS + _SKEW_MICROS:
            return None
        return LoginClaim(login_id, random_id.hex())


def new_refresh_token() -> str:
    """256 random bits."""
    return secrets.token_hex(32)


def token_digest(token: str) -> str:
    """The stored hash of a random token, which is too long for a brute-force search of a plain hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def keyed_digests(configured_secrets: Sequence[str], purpose: str, message: bytes) -> list[str]:
    """The HMAC of a message by each secret, in hexadecimal: the first makes it, all check it (C-TOK-4)."""
    return [hmac.digest(derive_key(secret, purpose), message, "sha256").hex() for secret in configured_secrets]


_NONCE: Final = 12


class SecretBox:
    """Encrypts short texts. The first secret encrypts, all secrets decrypt (C-TOK-4)."""

    def __init__(self, configured_secrets: Sequence[str], purpose: str) -> None:
        self._keys = [derive_key(secret, purpose) for secret in configured_secrets]

    def encrypt(self, text: str, owner: str) -> str:
        """Encrypt ``text`` for ``owner``; it decrypts for no other owner."""
        nonce = secrets.token_bytes(_NONCE)
        return (nonce + AESGCM(self._keys[0]).encrypt(nonce, text.encode(), owner.encode())).hex()

    def decrypt(self, sealed: str, owner: str) -> str | None:
        """The text; None when no configured secret has encrypted it for ``owner``."""
        raw = bytes.fromhex(sealed)
        for key in self._keys:
            try:
                return AESGCM(key).decrypt(raw[:_NONCE], raw[_NONCE:], owner.encode()).decode()
            except InvalidTag:
                continue
        return None

    def seal_note(self, request: Request, purpose: str, *facts: object) -> str:
        """Encrypt facts without spaces, and the time, for this browser: they are bound to its form token."""
        return self.encrypt(" ".join(map(str, (to_micros(now()), *facts))), f"{purpose} {get_csrf_token(request)}")

    def read_note(self, request: Request, purpose: str, sealed: str, life: timedelta) -> list[str] | None:
        """The facts of :meth:`seal_note`; None for another purpose or text, in another browser, and after its life."""
        try:
            note = self.decrypt(sealed, f"{purpose} {get_csrf_token(request)}")
        except ValueError:
            return None
        if note is None:
            return None
        sealed_at, *facts = note.split(" ")
        return facts if is_recent(from_micros(int(sealed_at)), life) else None
