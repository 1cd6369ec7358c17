"""The resources of accounts with their ACLs, and what another feature may provide to them."""

from typing import Any, Protocol

from pyramid.authorization import Allow, Authenticated
from zope.interface import implementer

from modhub.base.identity import CredentialKind, Permission
from modhub.plugins.resources import IResource
from modhub.web.traversal import OwnModChild, Resource


class IBlockedAccounts(Protocol):
    """The service that knows why accounts are blocked, for the person who cannot sign in; absent without such."""

    def find_reasons(self, request: Any, account_id: int) -> str | None:
        """The path of a page with the reasons, for this browser alone; None if there is nothing to show.

        The caller has just shown that the account is theirs: by the password, or a platform, and the code.
        """


class IAccount(IResource):
    """``/Modhub/account``"""


class ILoginPlatform(IResource):
    """``/Modhub/account/platform/{provider}``"""


class IOwnOffer(IResource):
    """``/Modhub/mine/{id}/offer``"""


class IAuth(IResource):
    """``/api/auth``"""


class IDevice(IResource):
    """``/api/auth/device``"""


class AccountPermission(Permission):
    """What an account may do with itself."""

    READ = "account:read", CredentialKind.ACCOUNT, True
    CHANGE = "account:change", CredentialKind.ACCOUNT


@implementer(IAccount)
class AccountPages(Resource):
    """``/Modhub/account``"""

    __acl__ = [(Allow, Authenticated, (AccountPermission.READ, AccountPermission.CHANGE))]


@implementer(ILoginPlatform)
class PlatformPage(Resource):
    """``/Modhub/account/platform/{provider}``"""


class Platforms(Resource):
    """``/Modhub/account/platform``"""

    member = PlatformPage


@implementer(IOwnOffer)
class OwnOffer(OwnModChild):
    """``/Modhub/mine/{id}/offer``"""

    owner_permissions = (AccountPermission.CHANGE,)


@implementer(IAuth)
class Auth(Resource):
    """``/api/auth``"""

    __acl__ = [(Allow, Authenticated, AccountPermission.READ)]


@implementer(IDevice)
class Device(Resource):
    """``/api/auth/device``"""
