"""Names of secrets that do not reveal them: in backups, and where machines and times are compared."""

import hmac
from collections.abc import Iterable
from typing import Final

_LENGTH: Final = 16


def secret_fingerprint(secret: str) -> str:
    """A keyed digest of a fixed word, made with the secret: 16 hexadecimal digits."""
    digest = hmac.digest(secret.encode(), b"modhub backup fingerprint", "sha256")
    return digest.hex()[:_LENGTH]


def fingerprints(secrets: Iterable[str]) -> list[str]:
    """The fingerprint of each secret, in order."""
    return [secret_fingerprint(secret) for secret in secrets]
