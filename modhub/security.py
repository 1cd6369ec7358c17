"""Who may do what: identities, permissions that name their credential, one policy over declarative ACLs."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pyramid.authorization import ACLHelper, Authenticated, Everyone
from zope.interface import implementer, providedBy

from modhub.errors import Refusal, not_found
from modhub.interfaces import IApi, ICredential, ISite
from modhub.request import Request


class Credential(StrEnum):
    """The kinds of credential of the contract ("Authentication")."""

    NONE = "none"
    ACCOUNT = "account"
    MACHINE = "machine"
    ADDRESS = "address"


class Permission(StrEnum):
    """A permission that also says which kind of credential it asks for. Features subclass it with their own members."""

    credential: Credential

    def __new__(cls, value: str, credential: Credential = Credential.NONE) -> "Permission":
        """Members are written ``EDIT = "mod:edit", Credential.ACCOUNT``."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.credential = credential
        return member


class CorePermission(Permission):
    """The permissions that belong to no feature."""

    CLOSED = "closed"
    KEY_TEST = "key:test", Credential.MACHINE


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller: its principals, and where it is an account, which one and how it signed in."""

    principals: frozenset[str] = frozenset({Everyone})
    account_id: int | None = None
    details: Any = field(default=None, compare=False)


NOBODY = Identity()


def account_identity(account_id: int, details: Any = None) -> Identity:
    """A signed-in account; ``details`` is the feature's own record of the sign-in."""
    return Identity(frozenset({Everyone, Authenticated, f"account:{account_id}"}), account_id, details)


def bearer_challenge(request: Request) -> Refusal:
    """401 for a bearer address, one for anonymous and stranger; a bad token alone adds its error (decisions 1.7)."""
    scheme, _, token = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    presented = scheme.lower() == "bearer" and token.strip()
    invalid = presented and request.identify(Credential.ACCOUNT) is NOBODY
    challenge = 'Bearer realm="modhub"' + (', error="invalid_token"' if invalid else "")
    message = "This needs the access token of the account that it belongs to."
    return Refusal(401, "unauthorized", message, headers={"WWW-Authenticate": challenge})


@implementer(ICredential)
class NoAccounts:
    """Stands where no feature gives accounts: nobody is signed in; programs get 401, pages 404 (decisions 9)."""

    def __init__(self, *, api: bool) -> None:
        self.api = api

    def identify(self, request: Request) -> Identity | None:  # noqa: ARG002 - the interface's signature
        """Nobody."""
        return None

    def challenge(self, request: Request) -> Refusal:
        """401 or 404."""
        return bearer_challenge(request) if self.api else not_found()


def face_of(resource: Any) -> Any:
    """``IApi`` or ``ISite``, whichever is nearest above ``resource``: the wiki's API lies below the site."""
    while resource is not None:
        for face in (IApi, ISite):
            if face.providedBy(resource):
                return face
        resource = getattr(resource, "__parent__", None)
    return ISite


class Policy:
    """Pyramid's security policy: permissions pick the credential, ACLs judge its principals."""

    def __init__(self, credentials: dict[tuple[str, Any], Any]) -> None:
        """``credentials`` maps (kind, face) to an :class:`ICredential`; it is filled by ``config.add_credential``."""
        self.credentials = credentials
        self.acl = ACLHelper()

    def _credential(self, request: Request, kind: Credential) -> Any:
        face = IApi if request.is_api else ISite
        return self.credentials.get((kind, face)) or NoAccounts(api=request.is_api)

    def identify(self, request: Request, kind: Credential) -> Identity:
        """The caller by this kind of credential, :data:`NOBODY` when it is absent or wrong."""
        if kind is Credential.NONE:
            return NOBODY
        return self._credential(request, kind).identify(request) or NOBODY

    def challenge(self, request: Request, kind: Credential) -> Any:
        """The answer for a caller without the right to do this."""
        return self._credential(request, kind).challenge(request)

    def identity(self, request: Request) -> Identity:
        """Pyramid's ``request.identity``: the account."""
        return request.identify(Credential.ACCOUNT)

    def authenticated_userid(self, request: Request) -> int | None:
        """The account's id."""
        return self.identity(request).account_id

    def permits(self, request: Request, context: Any, permission: str) -> Any:
        """Judge the caller's principals by the ACLs of the context's lineage."""
        kind = permission.credential if isinstance(permission, Permission) else Credential.NONE
        return self.acl.permits(context, request.identify(kind).principals, permission)

    def remember(self, _request: Request, _userid: Any, **_kw: Any) -> list[tuple[str, str]]:
        """Sessions belong to the accounts feature."""
        return []

    def forget(self, _request: Request, **_kw: Any) -> list[tuple[str, str]]:
        """Sessions belong to the accounts feature."""
        return []


def provides(resource: Any) -> tuple[Any, ...]:
    """The interfaces of a resource, most specific first."""
    return tuple(providedBy(resource))
