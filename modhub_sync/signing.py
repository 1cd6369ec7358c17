"""Signatures of snapshots: Ed25519 (RFC 8032) over the pointer, with a key of the ini."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from modhub.base.settings import Setting, whole_number
from modhub.web.payload import encode

KEY_BYTES = 32
HOURS_MOST: Final = 8784
"""A year."""


class SigningKey:
    """The private key, or none: then nothing is signed."""

    def __init__(self, key: bytes = b"") -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(key) if key else None

    def __repr__(self) -> str:
        return "SigningKey(...)"

    @property
    def public(self) -> str | None:
        """The public key, 32 bytes in base64; None without a key."""
        return None if self._private is None else b64encode(self._private.public_key().public_bytes_raw()).decode()

    def sign(self, fields: Mapping[str, Any]) -> str | None:
        """Sign the canonical JSON of ``fields``: names in order, no spaces, UTF-8. Base64; None without a key."""
        if self._private is None:
            return None
        return b64encode(self._private.sign(encode(dict(sorted(fields.items()))))).decode()


def signing_key(value: str) -> SigningKey:
    """The kind of the setting: 32 random bytes in base64, or nothing."""
    try:
        key = b64decode(value, validate=True)
    except ValueError:
        key = b"?"
    if len(key) not in {0, KEY_BYTES}:
        raise ValueError(f"must be {KEY_BYTES} random bytes in base64, as `openssl rand -base64 {KEY_BYTES}` prints")
    return SigningKey(key)


SYNC_SETTINGS: Final = (
    Setting(
        "modhub_sync.snapshot_hours",
        whole_number(0, HOURS_MOST),
        "0",
        "hours between two snapshots of the server; 0: only by command",
    ),
    Setting(
        "modhub_sync.signing_key",
        signing_key,
        "",
        "signs snapshots with Ed25519: 32 random bytes in base64; empty: they are not signed",
    ),
)
