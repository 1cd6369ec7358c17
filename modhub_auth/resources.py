"""The resources of accounts, their ACLs beside them."""

from pyramid.authorization import Allow, Authenticated
from zope.interface import implementer

from modhub.identity import Credential, Permission
from modhub.tree import Resource
from modhub_auth.interfaces import IAccount, IAuth, IPlatform


class AccountPermission(Permission):
    """What an account may do with itself."""

    READ = "account:read", Credential.ACCOUNT, True
    CHANGE = "account:change", Credential.ACCOUNT


@implementer(IAccount)
class AccountPages(Resource):
    """``/Modhub/account``"""

    __acl__ = [(Allow, Authenticated, (AccountPermission.READ, AccountPermission.CHANGE))]


class Platforms(Resource):
    """``/Modhub/account/platform``"""

    def member(self, name: str) -> "PlatformPage":
        """The platform of this name, whether it is switched on or not."""
        return PlatformPage(self, name)


@implementer(IPlatform)
class PlatformPage(Resource):
    """``/Modhub/account/platform/{provider}``"""


@implementer(IAuth)
class Auth(Resource):
    """``/api/auth``"""

    __acl__ = [(Allow, Authenticated, AccountPermission.READ)]
