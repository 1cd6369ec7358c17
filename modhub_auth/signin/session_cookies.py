"""The cookie credential of people signed in on pages (C-HTTP-5: not of the API), and the names of browsers."""

import logging
import re
from datetime import datetime
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from pyramid.csrf import new_csrf_token
from zope.interface import implementer

from modhub.base.errors import ApiError, not_found
from modhub.base.identity import NOBODY, CredentialKind, Identity, account_identity
from modhub.db import is_transient, now
from modhub.plugins.resources import ICredential
from modhub.ui.i18n import Translations
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.own_cookies import own_cookie, set_own_cookie
from modhub.web.request import Request
from modhub.web.views import allowed_methods
from modhub_auth.container import auth_services
from modhub_auth.signin.sessions import TOUCH_INTERVAL, touch_page_session
from modhub_auth.tokens import token_digest

BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS: Final = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
"""Marks in a User-Agent and the names that they stand for; the first match counts."""
_LABEL: Final = re.compile(
    rf"\A({'|'.join(name for _, name in BROWSERS)}) on ({'|'.join(name for _, name in SYSTEMS)})\Z"
)


def label_of(user_agent: str) -> str:
    """The label of a browser's session: ``Firefox on Linux``, or its whole User-Agent."""
    browser = next((name for token, name in BROWSERS if token in user_agent), "")
    system = next((name for token, name in SYSTEMS if token in user_agent), "")
    return f"{browser} on {system}" if browser and system else user_agent


def user_agent_label(request: Request) -> str:
    """The label of the request's browser."""
    header: str = request.environ.get("HTTP_USER_AGENT", "")
    return label_of(header.encode("latin-1", "replace").decode("utf-8", "replace"))


def browser_name(request: Request) -> str:
    """The request's browser and system in the reader's language, never its raw User-Agent."""
    messages, label = translations_for(request), user_agent_label(request)
    return describe_client(label if _LABEL.match(label) else "", messages)


def describe_client(label: str, messages: Translations) -> str:
    """The translated label."""
    match = _LABEL.match(label)
    if match is None:
        return label or messages.gettext("A browser")
    return messages.gettext("%(browser)s on %(system)s", browser=match[1], system=match[2])


log = logging.getLogger(__name__)
LOGIN_PATH: Final = "/Modhub/account/login"
SESSION_COOKIE: Final = "modhub"
SIGN_IN_COOKIE: Final = "modhub-sign-in"
"""Between the two steps of signing in."""
NEXT_LENGTH: Final = 2000
_SECRET: Final = re.compile(r"\A[0-9a-f]{64}\Z")
_PATH: Final = re.compile(r"\A/(?![/\\])[!-\[\]-~]*\Z")
"""A path of this site: printable ASCII without a backslash, and not ``//host``, which names another site."""


def safe_next(path: str | None) -> str | None:
    """``path`` if it is a path of this site, else None (T-C14)."""
    return path if path and len(path) <= NEXT_LENGTH and _PATH.match(path) else None


def set_session_cookie(request: Request, response: Any, secret: str) -> Any:
    """Set the session cookie and change the CSRF token with it."""
    set_own_cookie(request, response, SESSION_COOKIE, secret)
    new_csrf_token(request)
    return response


def clear_session_cookie(request: Request, response: Any) -> Any:
    """Remove the session cookie and everything else that the browser stores for this site."""
    response.headers["Clear-Site-Data"] = '"cache", "cookies", "storage"'
    set_own_cookie(request, response, SESSION_COOKIE, "", max_age=0)
    return response


@implementer(ICredential)
class SessionCredential:
    """A visitor of pages. ``Identity.details`` is a `modhub_auth.read_service.LoginRecord` with the session's id."""

    def identify(self, request: Request) -> Identity | None:
        """The account; None without a valid session or when the account is blocked."""
        secret = own_cookie(request, SESSION_COOKIE)
        if not _SECRET.match(secret):
            return None
        time, secret_hash = now(), token_digest(secret)
        login = auth_services(request).account_reader.page_session(secret_hash)
        if login is None or login.blocked:
            return None
        if login.used_at is not None and time - login.used_at > TOUCH_INTERVAL:
            # Deferred: the request's own transaction may have begun, and this would wait for its end.
            request.add_finished_callback(partial(_record_use, secret_hash=secret_hash, time=time))
        return account_identity(login.account_id, login)

    def challenge(self, request: Request) -> ApiError | Redirect:
        """The sign-in page for a visitor who is not signed in; 404 for what belongs to another account (C-PAGE-4)."""
        if request.identify(CredentialKind.ACCOUNT) is not NOBODY:
            return not_found()
        path = request.path_qs if request.is_safe else _previous_page(request)
        next_path = safe_next(quote(path, safe="/?&=%+:@!$'()*,;~._-"))
        return Redirect(f"{LOGIN_PATH}?next={quote(next_path, safe='/')}" if next_path else LOGIN_PATH)


def _previous_page(request: Request) -> str:
    """The page of this site in ``Referer``, else the form's own path if it answers GET."""
    base_url: str = request.registry.settings["modhub.base_url"]
    referrer: str = request.environ.get("HTTP_REFERER", "")
    if referrer.startswith(f"{base_url}/"):
        return referrer.removeprefix(base_url)
    return str(request.path) if "GET" in allowed_methods(request) else ""


def _record_use(request: Request, secret_hash: str, time: datetime) -> None:
    """Record the use after the request's transaction. If that would have to wait, the next use is recorded instead.

    Nothing is raised: the response is complete, and other finished callbacks run after this one.
    """
    try:
        with auth_services(request).databases.best_effort_session.begin() as session:
            touch_page_session(session, secret_hash, time)
    except Exception as error:
        if not is_transient(error):
            log.error("the use of a page session cannot be recorded", exc_info=error)
