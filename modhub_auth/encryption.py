"""Secrets at rest: encrypted with a key derived from ``modhub.secret``, so that the database alone reveals none."""

import secrets
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from modhub_auth.signin.access_tokens import derive_key

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
