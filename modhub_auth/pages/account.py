"""The account's pages: its name, logins, sessions and history, and its deletion (C-PAGE-4, C-ACC-18, C-ACC-26)."""

from datetime import timedelta
from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render
from sqlalchemy import delete, select

from modhub.audit import read_own_entries, record
from modhub.base.errors import not_found
from modhub.base.identity import CredentialKind
from modhub.content import text
from modhub.content.text import N_
from modhub.db import now, to_micros
from modhub.plugins.services import IMods
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect, previous_page
from modhub.web.own_cookies import own_cookie, set_own_cookie
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import OPEN, page
from modhub_auth.container import auth_services
from modhub_auth.models import MAX_DISPLAY_NAME, ClientSession, Login, LoginKind
from modhub_auth.offers import find_received
from modhub_auth.pages.form_pages import (
    HOME,
    MESSAGE_TEMPLATE,
    YOUR_ACCOUNT,
    FormPage,
    form_value,
    message_page,
    never_store,
    never_stored,
    platform_title,
)
from modhub_auth.pages.fresh_proof import (
    current_login,
    locked_account,
    proven_account,
    proven_page,
    send_security_email,
)
from modhub_auth.read_service import LoginRecord, read_overview
from modhub_auth.resources import AccountPermission, IAccount
from modhub_auth.services import delete_account
from modhub_auth.signin import platform_logins, recovery, sessions
from modhub_auth.signin.session_cookies import clear_session_cookie, describe_client

OVERVIEW: Final = "modhub_auth:templates/account/overview.jinja2"
DONE_MESSAGES: Final = {
    "name": N_("Your name was changed."),
    "password": N_("Your password was changed."),
    "email": N_("Your email address was changed."),
    "removed": N_("The authenticator was removed."),
    "linked": N_("The sign-in method was linked."),
    "unlinked": N_("The sign-in method was unlinked."),
    "ended": N_("Session signed out."),
    "revoked": N_("The publisher key was revoked."),
    "accepted": N_("The mod now belongs to your account."),
    "declined": N_("The offer was declined."),
    "letter": N_("Another email is on its way, unless you have requested too many."),
}
"""The page's message about the last action, by the query's ``done``."""


@page(context=IAccount, request_method="GET", permission=AccountPermission.READ, renderer=OVERVIEW)
def account_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account``"""
    never_store(request)
    current = current_login(request)
    messages = translations_for(request)
    overview = read_overview(request.dbsession, current.account_id)
    # At most 50 keys: one look-up takes 100 mods.
    key_mods = {key.mod_id for key in overview.keys if key.mod_id is not None}
    return {
        "current": current,
        "overview": overview,
        "pages": [(session, describe_client(session.label, messages)) for session in overview.pages],
        "done": query(request, "done"),
        "messages": DONE_MESSAGES,
        "offers": find_received(request.dbsession, request.find_service(IMods), current.account_id).values(),
        "unconfirmed": [login.subject for login in overview.logins if not login.verified],
        "limit": MAX_DISPLAY_NAME,
        "key_mods": request.find_service(IMods).get_mods(request.dbsession, key_mods) if key_mods else {},
        "titles": {platform.name: platform.title for platform in auth_services(request).platforms.values()},
    }


def account_done(action: str) -> Any:
    """Redirect to the account's page, which says what has been done."""
    return never_stored(Redirect(f"{HOME}?done={action}"))


@page(context=IAccount, name="name", request_method="POST", permission=AccountPermission.CHANGE)
def rename_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/name``: an empty name changes nothing."""
    account = locked_account(request)
    name = text.line(form_value(request, "displayName"), MAX_DISPLAY_NAME)
    if not name:
        return Redirect(HOME)
    account.display_name = name
    record(request.dbsession, "display name changed", "account", account.id)
    request.dbsession.flush()
    return account_done("name")


@page(context=IAccount, name="letter", request_method="POST", permission=AccountPermission.CHANGE)
def resend_confirmation_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/letter``: send the confirmation email again. Its link replaces the earlier one."""
    auth, session = auth_services(request), request.dbsession
    account = locked_account(request)
    unconfirmed = select(Login).where(Login.account_id == account.id, Login.verified.is_(False))
    for login in session.scalars(unconfirmed).all():
        if recovery.may_send(session, auth.rate_limiter, login.subject):
            recovery.queue_confirmation(session, auth.outbox, login, translations_for(request))
    return account_done("letter")


@page(context=IAccount, name="sign-out", request_method="POST", permission=AccountPermission.CHANGE)
def sign_out_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/sign-out``: one ``client``, one page ``session``, or all but this page."""
    session, login = request.dbsession, current_login(request)
    locked_account(request)
    # An invalid id matches nothing: it must not end all other sessions.
    client_id, session_id = form_value(request, "clientId"), form_value(request, "sessionId")
    if client_id:
        session.execute(
            delete(ClientSession).where(
                ClientSession.id == (parse_id(client_id) or 0), ClientSession.account_id == login.account_id
            )
        )
    elif session_id:
        sessions.end_page_session(session, login.account_id, parse_id(session_id) or 0)
    else:
        recovery.end_sessions(session, [login.account_id], keep=login.session_id)
        record(session, "signed out everywhere else", "account", login.account_id)
    return account_done("ended")


def unlink_form(_context: Any, request: Request) -> FormPage:
    """The form to unlink ``loginId``; 404 unless it is a platform login of the visitor."""
    login_id = parse_id(form_value(request, "loginId") or query(request, "loginId") or "")
    own = (Login.account_id == current_login(request).account_id, Login.kind == LoginKind.PLATFORM)
    with request.databases.readonly_session() as session:
        login = session.scalars(select(Login).where(Login.id == login_id, *own)).one_or_none()
    if login is None:
        raise not_found()
    return FormPage(
        N_("Unlink a sign-in method"),
        "Unlink",
        [],
        lead=[
            f"{login.subject} ({platform_title(request, login.platform)})",
            N_("You will no longer be able to sign in with it."),
        ],
        hidden={"loginId": str(login.id)},
        links=[YOUR_ACCOUNT],
        danger=True,
    )


@proven_page(unlink_form, name="unlink")
def unlink_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/unlink``: ``loginId`` is a platform login, never the last login."""
    account, _ = proven_account(request)
    if platform_logins.unlink_login(request.dbsession, account.id, parse_id(form_value(request, "loginId"))):
        send_security_email(request, "login unlinked")
    return account_done("unlinked")


DELETE: Final = "modhub_auth:templates/account/delete.jinja2"


def delete_account_form(_context: Any, request: Request) -> FormPage:
    """The form to confirm the deletion, with the mods that are deleted too."""
    with request.databases.readonly_session() as session:
        mods = request.find_service(IMods).get_mods_of_account(session, current_login(request).account_id)
    return FormPage(
        "Delete your account",
        N_("Delete my account"),
        [],
        lead=[N_("This deletes your mods, their files and your votes right away. It can't be undone.")],
        links=[(HOME, N_("Cancel"))],
        danger=True,
        template_values={"mods": mods},
    )


@proven_page(delete_account_form, name="delete", renderer=DELETE)
def delete_account_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/delete``"""
    account, _ = proven_account(request)
    # First, while the account still has its addresses.
    send_security_email(request, "account deleted")
    delete_account(request.dbsession, request.registry, account)
    return never_stored(clear_session_cookie(request, Redirect(f"{HOME}/deleted")))


@page(context=IAccount, name="deleted", request_method="GET", permission=OPEN, renderer=MESSAGE_TEMPLATE)
def account_deleted_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/deleted``: nobody need wonder whether it worked."""
    return message_page(request, "account_deleted", N_("Your account was deleted"), links=[("/Modhub", "All mods")])


HISTORY: Final = "modhub_auth:templates/account/history.jinja2"
SHOWN: Final = 100
"""Entries on the page."""
ACTION_TITLES: Final = {
    "registered": N_("Account created"),
    "signed in": N_("Signed in"),
    "signed out everywhere else": N_("Signed out everywhere else"),
    "password added": N_("Password added"),
    "password changed": N_("Password changed"),
    "password reset": N_("Password reset by a link in an email"),
    "address confirmed": N_("Email address confirmed"),
    "email address change requested": N_("Change of the email address requested"),
    "email address changed": N_("Email address changed"),
    "authenticator added": N_("Authenticator added"),
    "authenticator removed": N_("Authenticator removed"),
    "recovery code used": N_("Recovery code used"),
    "recovery codes renewed": N_("New recovery codes created"),
    "login linked": N_("Sign-in method linked"),
    "login unlinked": N_("Sign-in method unlinked"),
    "other logins unlinked": N_("Other sign-in methods unlinked"),
    "publisher key created": N_("Publisher key created"),
    "publisher key revoked": N_("Publisher key revoked"),
    "display name changed": N_("Name changed"),
}
"""The actions of the audit trail that the page shows, and their words."""
WAYS: Final = {
    "pages": N_("on this site"),
    "program": N_("by a program"),
    "publisher key": N_("by a publisher key"),
}
"""How somebody signed in, by the entry's detail ``via``."""


@page(context=IAccount, name="history", request_method="GET", permission=AccountPermission.READ, renderer=HISTORY)
def history_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/history``: the newest entries of the days for which addresses are kept (C-ACC-26)."""
    never_store(request)
    account_id = current_login(request).account_id
    return {
        "entries": read_own_entries(request.dbsession, account_id, ACTION_TITLES, SHOWN),
        "titles": ACTION_TITLES,
        "ways": WAYS,
        "shown": SHOWN,
        "days": request.registry.settings["modhub.audit_days"],
    }


REMINDER_TIME: Final = timedelta(hours=1)
"""How long after signing in pages show the reminder; the account's page shows it until the address is confirmed."""
REMINDER: Final = "modhub_auth:templates/account/unconfirmed.jinja2"
HIDDEN_COOKIE: Final = "modhub-notice-hidden"


def unconfirmed_notice(_context: Any, request: Request) -> Markup | None:
    """The reminder to follow the link in the confirmation email, or None."""
    login: LoginRecord | None = request.identify(CredentialKind.ACCOUNT).details
    if login is None or login.verified or login.signed_in_at is None or request.path.startswith(HOME):
        return None
    if now() - login.signed_in_at > REMINDER_TIME or own_cookie(request, HIDDEN_COOKIE) == _sign_in_of(login):
        return None
    return Markup(render(REMINDER, {"address": login.subject}, request=request))  # noqa: S704 - our template escapes


def _sign_in_of(login: LoginRecord) -> str:
    """What the cookie names: the reminder comes back with the next sign-in."""
    return "" if login.signed_in_at is None else str(to_micros(login.signed_in_at))


@page(context=IAccount, name="hide-notice", request_method=("GET", "POST"), permission=AccountPermission.READ)
def hide_notice_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/hide-notice``: the reminder is not shown again until the next sign-in of this browser.

    ``GET`` is where a visitor returns to after signing in again.
    """
    if request.is_safe:
        return Redirect(HOME)
    response = Redirect(previous_page(request))
    value = _sign_in_of(current_login(request))
    set_own_cookie(request, response, HIDDEN_COOKIE, value, int(REMINDER_TIME.total_seconds()))
    return never_stored(response)
