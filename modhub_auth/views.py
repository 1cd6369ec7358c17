"""Accounts for programs (interface, "Accounts"). Passwords are hashed before the transaction has begun."""

from typing import Any

from pyramid.response import Response

from modhub.db import now
from modhub.errors import Refusal
from modhub.identity import Credential
from modhub.pages.tools import messages_of
from modhub.request import Request
from modhub.views import OPEN, api
from modhub_auth import addresses, joining, recovery, services
from modhub_auth.documents import AccountDocument, SessionDocument, account_document, session_document
from modhub_auth.finding import Found
from modhub_auth.interfaces import IAuth
from modhub_auth.limits import caller_of, counter
from modhub_auth.parts import parts
from modhub_auth.payloads import Forgot, Refresh, Registration, SignIn, SignOut, read
from modhub_auth.resources import AccountPermission
from modhub_auth.services import SignedIn
from modhub_auth.signing import Credentials, check


def _session(request: Request, signed_in: SignedIn) -> SessionDocument:
    return session_document(signed_in, parts(request).tokens, now())


@api(context=IAuth, name="register", request_method="POST", permission=OPEN)
def register(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/register``"""
    own = parts(request)
    joining.admit(own, request.registry.settings, caller_of(request))
    given = read(request, Registration)
    name = given.clean_display_name()
    prepared = joining.prepare(own, request.registry.settings, given.email, given.password, name)
    account, login = joining.join(request.dbsession, own.writer, prepared, name, messages_of(request))
    request.response.status_int = 201
    return _session(request, services.begin(request.dbsession, account, login, given.clean_client()))


@api(context=IAuth, name="login", request_method="POST", permission=OPEN)
def login(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/login``"""
    given = read(request, SignIn)
    credentials = Credentials(given.email, given.password, given.clean_code(), caller_of(request))
    checked = check(parts(request), request.registry.settings, credentials)
    return _session(request, services.sign_in(request.dbsession, checked, given.clean_client()))


@api(context=IAuth, name="me", request_method="GET", permission=AccountPermission.READ)
def me(_context: Any, request: Request) -> AccountDocument:
    """``GET /api/auth/me``"""
    found: Found = request.identify(Credential.ACCOUNT).details
    return account_document(found, parts(request).finder)


@api(context=IAuth, name="refresh", request_method="POST", permission=OPEN)
def refresh(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/refresh``"""
    given = read(request, Refresh)
    return _session(request, services.refresh(request.dbsession, given.refresh_token, given.clean_client()))


@api(context=IAuth, name="logout", request_method="POST", permission=OPEN)
def logout(_context: Any, request: Request) -> Response:
    """``POST /api/auth/logout``: 204 always, also without a usable body (decisions 3.7)."""
    try:
        token = read(request, SignOut).refresh_token
    except Refusal:
        return Response(status=204)
    services.sign_out(request.dbsession, token)
    return Response(status=204)


@api(context=IAuth, name="forgot", request_method="POST", permission=OPEN)
def forgot(_context: Any, request: Request) -> Response:
    """``POST /api/auth/forgot``: 204 always, whoever has an account and whatever was sent (decisions 3.7)."""
    own, most = parts(request), request.registry.settings["modhub_auth.forgot_limit"]
    own.limits.count([counter("forgot", caller_of(request), most)])
    try:
        address = addresses.parse(read(request, Forgot).email)
    except Refusal:
        address = None
    if address is not None:
        recovery.ask_reset(request.dbsession, own.limits, address, messages_of(request).language)
    return Response(status=204)
