"""Secrets at rest: encrypted with a key derived from ``modhub.secret``, so that the database alone reveals none."""

import secrets
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from modhub_auth.signin.access_tokens import derive_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE: Final = 12


@cache
def _cipher() -> tuple[type["AESGCM"], type[Exception]]:
    """AES-GCM, and the error of text that it did not encrypt.

    Imported on first use: it is the largest library of a process, 7 MB, and where nobody signs in it is not used.
    """
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - see above

    return AESGCM, InvalidTag


class SecretBox:
    """Encrypts short texts. The first secret encrypts, all secrets decrypt (C-TOK-4)."""

    def __init__(self, configured_secrets: Sequence[str], purpose: str) -> None:
        self._keys = [derive_key(secret, purpose) for secret in configured_secrets]

    def encrypt(self, text: str, owner: str) -> str:
        """Encrypt ``text`` for ``owner``; it decrypts for no other owner."""
        nonce = secrets.token_bytes(_NONCE)
        cipher, _ = _cipher()
        return (nonce + cipher(self._keys[0]).encrypt(nonce, text.encode(), owner.encode())).hex()

    def decrypt(self, sealed: str, owner: str) -> str | None:
        """The text; None when no configured secret has encrypted it for ``owner``."""
        raw = bytes.fromhex(sealed)
        cipher, wrong_key = _cipher()
        for key in self._keys:
            try:
                return cipher(key).decrypt(raw[:_NONCE], raw[_NONCE:], owner.encode()).decode()
            except wrong_key:
                continue
        return None
