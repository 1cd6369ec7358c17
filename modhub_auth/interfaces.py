"""The resources of accounts, and what another feature may provide to them."""

from typing import Any, Protocol

from modhub.plugins.resources import IResource


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


class IAuth(IResource):
    """``/api/auth``"""
