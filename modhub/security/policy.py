"""The security policy: picks the credential that a permission requires, and checks its principals against ACLs."""

from typing import Any

from pyramid.authorization import ACLHelper
from pyramid.security import Denied
from pyramid.traversal import find_interface
from zope.interface import implementer, providedBy

from modhub.base.errors import ApiError, not_found
from modhub.base.identity import NOBODY, CredentialKind, Identity, KeyScope, KeyUse, Permission
from modhub.http.request import Request
from modhub.interfaces import IApi, ICredential, IMod, ISite
from modhub.security.credentials import bearer_challenge


@implementer(ICredential)
class AnonymousCredential:
    """Used if no feature provides accounts: nobody is signed in; programs get 401, pages 404 (C-PAGE-12)."""

    def __init__(self, *, api: bool) -> None:
        self.api = api

    def identify(self, request: Request) -> Identity | None:  # noqa: ARG002 - the interface's signature
        """Return None: no caller presents this kind of credential."""
        return None

    def challenge(self, request: Request) -> ApiError:
        """401 or 404."""
        return bearer_challenge(request) if self.api else not_found()


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

    def _credential(self, request: Request, kind: CredentialKind) -> Any:
        side = IApi if request.is_api else ISite
        return self.credentials.get((kind, side)) or AnonymousCredential(api=request.is_api)

    def identify(self, request: Request, kind: CredentialKind) -> Identity:
        """The caller by this kind of credential, :data:`NOBODY` if it is absent or wrong."""
        if kind is CredentialKind.NONE:
            return NOBODY
        return self._credential(request, kind).identify(request) or NOBODY

    def challenge(self, request: Request, kind: CredentialKind) -> Any:
        """The error or response for a caller without permission."""
        return self._credential(request, kind).challenge(request)

    def identity(self, request: Request) -> Identity:
        """Pyramid's ``request.identity``: the account."""
        return request.identify(CredentialKind.ACCOUNT)

    def authenticated_userid(self, request: Request) -> int | None:
        """The account's id."""
        return self.identity(request).account_id

    def permits(self, request: Request, context: Any, permission: str) -> Any:
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

    def remember(self, _request: Request, _userid: Any, **_kw: Any) -> list[tuple[str, str]]:
        """Sessions belong to the accounts feature."""
        return []

    def forget(self, _request: Request, **_kw: Any) -> list[tuple[str, str]]:
        """Sessions belong to the accounts feature."""
        return []


def provided_interfaces(resource: Any) -> tuple[Any, ...]:
    """The interfaces of a resource, most specific first."""
    return tuple(providedBy(resource))
