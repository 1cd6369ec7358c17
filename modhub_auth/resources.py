"""The resources of accounts, with their ACLs."""

from pyramid.authorization import Allow, Authenticated
from zope.interface import implementer

from modhub.base.identity import CredentialKind, Permission
from modhub.web.traversal import Resource
from modhub_auth.interfaces import IAccount, IAuth, ILoginPlatform


class AccountPermission(Permission):
    """What an account may do with itself."""

    READ = "account:read", CredentialKind.ACCOUNT, True
    CHANGE = "account:change", CredentialKind.ACCOUNT


@implementer(IAccount)
class AccountPages(Resource):
    """``/Modhub/account``"""

    __acl__ = [(Allow, Authenticated, (AccountPermission.READ, AccountPermission.CHANGE))]


class Platforms(Resource):
    """``/Modhub/account/platform``"""

    def get_member(self, name: str) -> "PlatformPage":
        """The platform of this name, whether or not it is enabled."""
        return PlatformPage(self, name)


@implementer(ILoginPlatform)
class PlatformPage(Resource):
    """``/Modhub/account/platform/{provider}``"""


@implementer(IAuth)
class Auth(Resource):
    """``/api/auth``"""

    __acl__ = [(Allow, Authenticated, AccountPermission.READ)]
