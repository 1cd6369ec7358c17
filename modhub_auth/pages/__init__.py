"""Account pages, below ``/Modhub/account`` (C-PAGE-4). They work without JavaScript."""

from pyramid.config import Configurator

from modhub.base.identity import NOBODY, CredentialKind
from modhub.content.text import N_
from modhub.plugins.resources import IOwnMod, ISite
from modhub.ui.template_helpers import nav_link
from modhub.web.request import Request
from modhub_auth.pages.account import unconfirmed_notice
from modhub_auth.pages.offers import offer_panel
from modhub_auth.pages.programs import script_token
from modhub_auth.resources import AccountPages, IAccount, OwnOffer, Platforms
from modhub_auth.schemas import MAX_ACCOUNT_BODY
from modhub_auth.signin.session_cookies import LOGIN_PATH, SessionCredential

HASHING = (
    *(
        "register",
        "login",
        "reset",
        "confirm",
        "password",
        "email",
        "authenticator",
        "recovery-codes",
        "unlink",
        "delete",
    ),
    "publisher-key",
    "device",
    *("platform/{provider}", "platform/{provider}/link"),
)
"""Forms whose response may wait in the hashing queue."""


def account_navigation(_context: object, request: Request) -> object:
    """The entry in the site's navigation."""
    if request.identify(CredentialKind.ACCOUNT) is NOBODY:
        return nav_link(request, LOGIN_PATH, N_("Sign in"))
    return nav_link(request, "/Modhub/account", N_("Account"))


def includeme(config: Configurator) -> None:
    """Register the pages, the cookie credential, the panels and the body limits."""
    config.add_child(ISite, "account", AccountPages)
    config.add_child(IAccount, "platform", Platforms)
    config.add_child(IOwnMod, "offer", OwnOffer)
    config.add_credential(CredentialKind.ACCOUNT, ISite, SessionCredential())
    config.add_panel("personal", "account", account_navigation, order=900)
    config.add_robots_rule("/Modhub/account")
    config.add_body_limit("POST", "/Modhub/account/{rest...}", MAX_ACCOUNT_BODY)
    for name in HASHING:
        config.add_body_limit("POST", f"/Modhub/account/{name}", MAX_ACCOUNT_BODY, waits=True)
    config.add_body_limit("POST", "/Modhub/mine/{id}/offer", MAX_ACCOUNT_BODY, waits=True)
    config.add_panel("workshop", "offer", offer_panel, order=60)
    config.add_panel("notice", "unconfirmed", unconfirmed_notice)
    config.add_panel("workshop_script", "token", script_token)
    config.include("modhub_auth.pages.fresh_proof")
    config.scan("modhub_auth.pages")
