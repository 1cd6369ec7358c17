"""The resources of accounts."""

from modhub.interfaces import IResource


class IAccount(IResource):
    """``/Modhub/account``"""


class ILoginPlatform(IResource):
    """``/Modhub/account/platform/{provider}``"""


class IAuth(IResource):
    """``/api/auth``"""
