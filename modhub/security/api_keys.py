"""Machine keys with scopes, and the address key: both come in ``X-Api-Key``, and neither is valid for the other."""

import hashlib
import hmac
from collections.abc import Iterable

from zope.interface import implementer

from modhub.base.errors import ApiError
from modhub.base.identity import Identity, principal_for_scope
from modhub.base.settings import MachineKey
from modhub.http.request import Request
from modhub.interfaces import ICredential
from modhub.security.credentials import ADDRESS_KEY_REALM, MACHINE_KEY_REALM, presented_key


class ApiKeyError(ApiError):
    """401 whose body is exactly ``{"error": code}`` (C-ERR-2)."""

    def __init__(self, code: str) -> None:
        super().__init__(401, code, code, headers={"WWW-Authenticate": 'ApiKey realm="modhub"'})

    def body(self) -> dict[str, object]:
        """The code alone."""
        return {"error": self.code}


def key_digest(key: str) -> bytes:
    """Digests are compared instead of keys: all of equal length, so that timing reveals nothing about a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


@implementer(ICredential)
class ApiKey:
    """Recognises callers by a key; each configured key has its principals."""

    def __init__(self, keys: Iterable[tuple[str, str, frozenset[str]]]) -> None:
        """``keys`` holds (key, fingerprint, principals); blank keys match nothing."""
        self._digests = [(key_digest(key), fingerprint, principals) for key, fingerprint, principals in keys if key]

    def identify(self, request: Request) -> Identity | None:
        """Compare with every key, even after a match, so that timing reveals nothing."""
        key = presented_key(request)
        if not key:
            return None
        digest = key_digest(key)
        granted = [candidate for candidate in self._digests if hmac.compare_digest(candidate[0], digest)]
        if not granted:
            return None
        return Identity(frozenset().union(*(principals for _, _, principals in granted)), key=granted[0][1])

    def challenge(self, request: Request) -> ApiError:
        """``no_api_key`` only when no header arrived (C-KEY-2)."""
        return ApiKeyError("no_api_key" if presented_key(request) is None else "unknown_api_key")


def key_fingerprint(key: str, secret: str) -> str:
    """What stands for a machine key, which has no name, in the audit trail.

    Keyed with ``modhub.secret``, so that nobody else can test keys against it.
    """
    message = "machine key: " + key
    return hmac.digest(secret.encode(), message.encode("utf-8", "surrogateescape"), "sha256").hex()[:12]


def machine_credential(keys: Iterable[MachineKey], default_scopes: Iterable[str], secret: str) -> ApiKey:
    """The machine keys: the principal ``machine`` plus one for each granted scope (C-KEY-1)."""
    default = frozenset(default_scopes)
    return ApiKey(
        (
            key.key,
            key_fingerprint(key.key, secret),
            frozenset({MACHINE_KEY_REALM, *(principal_for_scope(scope) for scope in key.scopes or default)}),
        )
        for key in keys
    )


def address_credential(key: str) -> ApiKey:
    """The address key; if none is configured, every key is rejected."""
    return ApiKey([(key, "storage address", frozenset({ADDRESS_KEY_REALM}))])
