"""A stand-in for the accounts feature, for tests of the core.

Programs send ``Authorization: Bearer account-7``, browsers the cookie ``account=7``, or ``account=7-blocked`` for a
blocked account.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from pyramid.config import Configurator
from zope.interface import implementer

from modhub.base.errors import ApiError, not_found
from modhub.base.identity import CredentialKind, Identity, account_identity
from modhub.plugins.resources import IApi, ICredential, ISite
from modhub.plugins.security import bearer_challenge
from modhub.plugins.services import IProfiles, Profile
from modhub.ui.xml_responses import Redirect
from modhub.web.request import Request

COOKIE = "account"
_TOKEN = re.compile(r"\ABearer account-([0-9]{1,9})\Z")
_COOKIE = re.compile(r"\A([0-9]{1,9})(-blocked)?\Z")


@implementer(ICredential)
class NumberedAccounts:
    """Bearer tokens that contain the account's id."""

    def identify(self, request: Request) -> Identity | None:
        """Return the account of the token."""
        match = _TOKEN.match(request.environ.get("HTTP_AUTHORIZATION", ""))
        return account_identity(int(match[1])) if match else None

    def challenge(self, request: Request) -> ApiError:
        """Return the challenge of any bearer credential."""
        return bearer_challenge(request)


@implementer(ICredential)
class CookieAccounts:
    """Cookies that contain the account's id."""

    def identify(self, request: Request) -> Identity | None:
        """Return the account of the cookie."""
        match = _COOKIE.match(request.cookies.get(COOKIE, ""))
        return account_identity(int(match[1]), blocked=bool(match[2])) if match else None

    def challenge(self, request: Request) -> Any:
        """Redirect visitors to the sign-in page; 404 for signed-in accounts."""
        if self.identify(request) is not None:
            return not_found()
        return Redirect("/Modhub/account/login?" + urlencode({"next": request.path}))


class NumberedProfiles:
    """A profile for every account."""

    columns = None

    def get_profiles(self, account_ids: Iterable[int]) -> dict[int, Profile]:
        """Return ``Person 7``, created at the beginning of 2026."""
        return {number: Profile(f"Person {number}", datetime(2026, 1, 1, tzinfo=UTC)) for number in account_ids}


def includeme(config: Configurator) -> None:
    """Include the core and the test accounts."""
    config.include("modhub")
    config.add_credential(CredentialKind.ACCOUNT, IApi, NumberedAccounts())
    config.add_credential(CredentialKind.ACCOUNT, ISite, CookieAccounts())
    config.add_service(IProfiles, NumberedProfiles())
