"""Who a caller is and what they may do: credentials and their challenges, API keys, the security policy."""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any, Final

from pyramid.authorization import ACLHelper
from pyramid.security import Denied
from pyramid.traversal import find_interface
from zope.interface import implementer

from modhub.base.errors import ApiError, OwnershipLost, not_found
from modhub.base.identity import NOBODY, CredentialKind, Identity, KeyScope, KeyUse, Permission, principal_for_scope
from modhub.base.service_registry import find_optional_service
from modhub.base.settings import MachineKey
from modhub.db.unit_of_work import unit_of_work
from modhub.plugins.resources import IApi, ICredential, IMod, ISite
from modhub.plugins.services import IAccounts

MACHINE_KEY_REALM: Final = "machine"
"""The principal of every caller with a machine key."""
ADDRESS_KEY_REALM: Final = "address"
"""The principal of the caller with the address key."""


def presented_key(request: Any) -> str | None:
    """The ``X-Api-Key`` header as sent, None when there is none."""
    value = request.environ.get("HTTP_X_API_KEY")
    # WSGI hands over latin-1; keys are configured as UTF-8.
    return None if value is None else value.encode("latin-1").decode("utf-8", "surrogateescape")


def lock_account(session: Any, account_id: int) -> None:
    """Keep an account that acts from being blocked or deleted until the transaction ends: 403, or `OwnershipLost`.

    The view has asked before, but a body may take minutes to arrive. The account is locked first, then the mod, as
    blocking does. Without a feature that provides accounts there is nothing to lock.
    """
    registry = unit_of_work(session).registry
    accounts = None if registry is None else find_optional_service(registry, IAccounts)
    if accounts is not None and not accounts.lock_active(session, account_id):
        raise OwnershipLost


def lock_caller(request: Any) -> int:
    """The number of the account that calls, locked by :func:`lock_account`."""
    account_id: int = request.authenticated_userid
    lock_account(request.dbsession, account_id)
    return account_id


def bearer_challenge(request: Any) -> ApiError:
    """401 for bearer tokens, the same for anonymous callers and strangers; only a bad token adds an error (C-ERR-6)."""
    scheme, _, token = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    presented = scheme.lower() == "bearer" and token.strip()
    invalid = presented and request.identify(CredentialKind.ACCOUNT) is NOBODY
    challenge = 'Bearer realm="modhub"' + (', error="invalid_token"' if invalid else "")
    message = "This needs the access token of the account that it belongs to."
    return ApiError(401, "unauthorized", message, headers={"WWW-Authenticate": challenge})


class ApiKeyError(ApiError):
    """401 whose body is exactly ``{"error": code}`` (C-KEY-2)."""

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

    def identify(self, request: Any) -> Identity | None:
        """Compare with every key, even after a match, so that timing reveals nothing."""
        key = presented_key(request)
        if not key:
            return None
        digest = key_digest(key)
        granted = [candidate for candidate in self._digests if hmac.compare_digest(candidate[0], digest)]
        if not granted:
            return None
        return Identity(frozenset().union(*(principals for _, _, principals in granted)), key=granted[0][1])

    def challenge(self, request: Any) -> ApiError:
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


class Blocked(Denied):
    """The denial for a blocked account; no ACL was checked."""


def key_allows(scope: KeyScope, context: Any, permission: Any) -> bool:
    """Whether a publisher key includes the permission at this context; the ACLs must allow it as well."""
    use = permission.for_keys if isinstance(permission, Permission) else KeyUse.NONE
    if use is KeyUse.ONE_MOD:
        mod = find_interface(context, IMod)
        return mod is None or scope.covers(mod.id)
    return use is KeyUse.ALL_MODS and scope.mod_id is None


class SecurityPolicy:
    """Pyramid's security policy: permissions pick the credential, ACLs check its principals."""

    def __init__(self, credentials: dict[tuple[CredentialKind, Any], Any]) -> None:
        """``credentials`` maps (kind, side) to an :class:`ICredential`; it is filled by ``config.add_credential``."""
        self.credentials = credentials
        self.acl = ACLHelper()

    def _credential(self, request: Any, kind: CredentialKind) -> Any:
        """None if no feature recognises callers of this kind."""
        return self.credentials.get((kind, IApi if request.is_api else ISite))

    def identify(self, request: Any, kind: CredentialKind) -> Identity:
        """The caller by this kind of credential, :data:`NOBODY` if it is absent or wrong."""
        credential = self._credential(request, kind)
        return NOBODY if credential is None else credential.identify(request) or NOBODY

    def challenge(self, request: Any, kind: CredentialKind) -> Any:
        """The error or response for a caller without permission.

        If no feature provides accounts, nobody is signed in: programs get 401, pages 404 (C-PAGE-2).
        """
        credential = self._credential(request, kind)
        if credential is None:
            return bearer_challenge(request) if request.is_api else not_found()
        return credential.challenge(request)

    def identity(self, request: Any) -> Identity:
        """Pyramid's ``request.identity``: the account."""
        account: Identity = request.identify(CredentialKind.ACCOUNT)
        return account

    def authenticated_userid(self, request: Any) -> int | None:
        """The account's id."""
        return self.identity(request).account_id

    def permits(self, request: Any, context: Any, permission: str) -> Any:
        """Check the caller's principals against the ACLs of the context's lineage.

        A blocked account is denied before that, so that it learns nothing about the context. Outside its key, the
        session of a publisher key is a stranger.
        """
        kind = permission.credential if isinstance(permission, Permission) else CredentialKind.NONE
        identity = request.identify(kind)
        if identity.blocked and not (isinstance(permission, Permission) and permission.for_blocked):
            return Blocked("the account is blocked")
        if identity.key_scope is not None and not key_allows(identity.key_scope, context, permission):
            identity = NOBODY
        return self.acl.permits(context, identity.principals, permission)

    def remember(self, _request: Any, _userid: Any, **_kw: Any) -> list[tuple[str, str]]:
        """Sessions belong to the accounts feature."""
        return []

    def forget(self, _request: Any, **_kw: Any) -> list[tuple[str, str]]:
        """Sessions belong to the accounts feature."""
        return []
