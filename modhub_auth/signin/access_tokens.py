"""Access tokens and refresh tokens (C-TOK-2; C-TOK-1).

An access token is lower-case hex of packed fields and their HMAC-SHA256: no other spelling of it passes, as many
spellings of a base64 token would. A refresh token is random; only its hash is stored.
"""

import hashlib
import hmac
import re
import secrets
import struct
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from modhub.db import to_micros

ACCESS_SECONDS: Final = 1800
REFRESH_LIFE: Final = timedelta(days=60)
_PURPOSE: Final = "access token"
_VERSION: Final = 1
_FIELDS: Final = struct.Struct(">BQq")  # version, login, expiry in microseconds since 1970
_DIGEST: Final = hashlib.sha256().digest_size
_TOKEN_FORMAT: Final = re.compile(rf"\A[0-9a-f]{{{2 * (_FIELDS.size + _DIGEST)}}}\Z")
_LIFE_MICROS: Final = ACCESS_SECONDS * 1_000_000
_SKEW_MICROS: Final = 5 * 1_000_000
_MAX_ID: Final = 2**63 - 1
"""The last number that the databases have: they refuse even to look for a later one."""


def derive_key(secret: str, purpose: str) -> bytes:
    """The 32-byte key of ``secret`` for one purpose, so that nothing made for one purpose passes for another."""
    return hmac.digest(secret.encode(), f"modhub_auth {purpose}".encode(), "sha256")


class AccessTokens:
    """Makes and checks access tokens. The first secret makes them, all check them (C-TOK-4)."""

    def __init__(self, configured_secrets: Sequence[str]) -> None:
        self._keys = [derive_key(secret, _PURPOSE) for secret in configured_secrets]

    def __repr__(self) -> str:
        return "AccessTokens(...)"

    def make(self, login_id: int, time: datetime) -> str:
        """A token that names the login and lapses 1800 seconds after ``time``."""
        fields = _FIELDS.pack(_VERSION, login_id, to_micros(time) + _LIFE_MICROS)
        return (fields + hmac.digest(self._keys[0], fields, "sha256")).hex()

    def login_of(self, token: str, time: datetime) -> int | None:
        """The login that a valid token names; None for every other text.

        A token from the future is refused too: when the clock is set back, none lives longer for it (T-F7).
        Some seconds are granted to machines whose clocks differ.
        """
        if not _TOKEN_FORMAT.match(token):
            return None
        raw = bytes.fromhex(token)
        fields, signature = raw[: _FIELDS.size], raw[_FIELDS.size :]
        # Compared with every key, so that the time does not tell which one matches.
        matches = [hmac.compare_digest(hmac.digest(key, fields, "sha256"), signature) for key in self._keys]
        if not any(matches):
            return None
        version, login_id, expiry = _FIELDS.unpack(fields)
        remaining = int(expiry) - to_micros(time)
        if version != _VERSION or login_id > _MAX_ID or not 0 < remaining <= _LIFE_MICROS + _SKEW_MICROS:
            return None
        return int(login_id)


def new_refresh_token() -> str:
    """256 random bits."""
    return secrets.token_hex(32)


def token_digest(token: str) -> str:
    """What is stored of a random token: it is long enough that a plain hash cannot be searched."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
