"""What is hashed of an entry, and how: the same for writing, sealing and verifying."""

import hashlib
import hmac
import json
from collections.abc import Iterable
from typing import Final

from modhub.audit.models import AuditEntry, PersonalPart
from modhub.db import to_micros

FIRST_DIGEST: Final = "0" * 64
"""What the first entry is chained to."""


def canonical_json(value: object) -> str:
    """JSON with one spelling for each value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _content(entry: AuditEntry) -> bytes:
    """All that an entry says."""
    fields = (
        entry.token,
        to_micros(entry.at),
        *(entry.actor_kind, entry.actor_id),
        entry.action,
        *(entry.target_kind, entry.target_id),
        entry.details,
        entry.request_id,
        entry.personal_digest,
    )
    return canonical_json(fields).encode()


def chained_digest(previous: str, number: int, entry: AuditEntry) -> str:
    """The digest of the entry at its place in the chain: SHA-256 of the previous digest, the number and the content."""
    return hashlib.sha256(f"{previous}\n{number}\n".encode() + _content(entry)).hexdigest()


def personal_digest(personal: PersonalPart) -> str:
    """The salted hash of a personal part; without the salt, which is erased with it, nobody can guess what it was."""
    return hashlib.sha256(canonical_json([personal.salt, personal.address, personal.name]).encode()).hexdigest()


class EntryMac:
    """Proves that an entry was written by a service with one of the secrets, until the chain protects it."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._keys = [hmac.digest(secret.encode(), b"audit entries", "sha256") for secret in secrets]

    def sign(self, entry: AuditEntry) -> str:
        """The MAC by the first secret."""
        return hmac.digest(self._keys[0], _content(entry), "sha256").hex()

    def is_valid(self, entry: AuditEntry) -> bool:
        """Whether the entry's MAC is that of any of the secrets."""
        content = _content(entry)
        return any(hmac.compare_digest(hmac.digest(key, content, "sha256").hex(), entry.mac) for key in self._keys)
