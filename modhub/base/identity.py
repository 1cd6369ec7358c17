"""Who a caller is: kinds of credential, permissions that require one, and identities."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pyramid.authorization import Authenticated, Everyone


class CredentialKind(StrEnum):
    """The kinds of credential of the contract ("Authentication")."""

    NONE = "none"
    ACCOUNT = "account"
    MACHINE = "machine"
    ADDRESS = "address"


class KeyUse(StrEnum):
    """What a publisher key needs so that its session has a permission."""

    NONE = "none"
    """No key has it."""
    ALL_MODS = "all mods"
    """A key for all mods of the account."""
    ONE_MOD = "one mod"
    """Any key; one for a single mod only at that mod."""


class Permission(StrEnum):
    """A permission that also says which kind of credential it requires. Features subclass it with their own members."""

    credential: CredentialKind
    for_blocked: bool
    """Whether a blocked account has it as well. Only for reading one's own data."""
    for_keys: KeyUse
    """Which publisher keys have it as well."""

    def __new__(
        cls,
        value: str,
        credential: CredentialKind = CredentialKind.NONE,
        for_blocked: bool = False,
        for_keys: KeyUse = KeyUse.NONE,
    ) -> "Permission":
        """Members are written ``EDIT = "mod:edit", CredentialKind.ACCOUNT``."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.credential = credential
        member.for_blocked = for_blocked
        member.for_keys = for_keys
        return member


class CorePermission(Permission):
    """The permissions that belong to no feature."""

    CLOSED = "closed"
    KEY_TEST = "key:test", CredentialKind.MACHINE


@dataclass(frozen=True, slots=True)
class KeyScope:
    """What a publisher key is for: one mod of its account, or all of them."""

    mod_id: int | None

    def covers(self, mod_id: int | None) -> bool:
        """Whether the key is for this mod."""
        return self.mod_id is None or self.mod_id == mod_id


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller: its principals and, for an account, which one and how it signed in."""

    principals: frozenset[str] = frozenset({Everyone})
    account_id: int | None = None
    details: Any = field(default=None, compare=False)
    key: str | None = None
    """The fingerprint of the machine key, or the name of another one; None for an account."""
    blocked: bool = False
    """Whether the operator has blocked the account: it may only do what `Permission.for_blocked` allows."""
    key_scope: KeyScope | None = None
    """Of a session by a publisher key, which may only do what `Permission.for_keys` allows; None for all others."""


NOBODY = Identity()


def principal_for_account(account_id: int) -> str:
    """The principal that only this account has, for ACLs."""
    return f"account:{account_id}"


def principal_for_scope(name: str) -> str:
    """The principal of every machine key that was granted the scope ``name``, for ACLs."""
    return f"scope:{name}"


def account_identity(
    account_id: int, details: Any = None, *, blocked: bool = False, key_scope: KeyScope | None = None
) -> Identity:
    """A signed-in account; ``details`` is the feature's own record of the sign-in."""
    principals = frozenset({Everyone, Authenticated, principal_for_account(account_id)})
    return Identity(principals, account_id, details, blocked=blocked, key_scope=key_scope)
