"""The pages of accounts, below ``/Modhub/account`` (decisions 3.10, 9). They work without JavaScript."""

from pyramid.config import Configurator

from modhub.identity import NOBODY, Credential
from modhub.interfaces import ISite
from modhub.pages.tools import link
from modhub.request import Request
from modhub_auth.cookies import LOGIN, Cookie
from modhub_auth.interfaces import IAccount
from modhub_auth.payloads import BODY
from modhub_auth.resources import AccountPages, Platforms

HASHING = ("register", "login", "reset", "password", "authenticator", "delete")
"""Forms whose answer may wait its turn to hash."""


def navigation(_context: object, request: Request) -> object:
    """The entry of the site's navigation."""
    if request.identify(Credential.ACCOUNT) is NOBODY:
        return link(request, LOGIN, "Sign in")
    return link(request, "/Modhub/account", "Account")


def includeme(config: Configurator) -> None:
    """The place of the pages, how their visitors are recognised, their entry in the navigation."""
    config.add_child(ISite, "account", AccountPages)
    config.add_child(IAccount, "platform", Platforms)
    config.add_credential(Credential.ACCOUNT, ISite, Cookie())
    config.add_static("modhub_auth:static")
    config.add_messages("modhub_auth:messages")
    config.add_panel("navigation", "account", navigation, order=900)
    config.add_body_limit("POST", "/Modhub/account/{rest...}", BODY)
    config.add_body_limit("POST", "/Modhub/account/platform/{provider}", BODY, waits=True)
    for name in HASHING:
        config.add_body_limit("POST", f"/Modhub/account/{name}", BODY, waits=True)
    config.scan("modhub_auth.pages")
