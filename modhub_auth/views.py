"""The account API (C-ACC-1). Passwords are hashed before the transaction begins."""

from functools import partial
from typing import Any

from pyramid.response import Response

from modhub.base.errors import ApiError
from modhub.base.identity import CredentialKind
from modhub.db import Databases, now
from modhub.plugins.services import IMods
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub.web.views import OPEN, api
from modhub_auth import email_addresses, operations, publisher_keys, services
from modhub_auth.container import auth_services
from modhub_auth.interfaces import IAuth
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.read_service import LoginRecord
from modhub_auth.request_schemas import Exchange, Forgot, Refresh, Registration, SignIn, SignOut, read_account_body
from modhub_auth.resources import AccountPermission
from modhub_auth.response_schemas import (
    AccountDocument,
    KeySessionDocument,
    SessionDocument,
    account_document,
    session_document,
)
from modhub_auth.services import SignedIn
from modhub_auth.signin import recovery, registration
from modhub_auth.signin.authentication import Credentials, authenticate


def _session(request: Request, signed_in: SignedIn) -> SessionDocument:
    return session_document(signed_in, auth_services(request).access_tokens, now())


@api(context=IAuth, name="register", request_method="POST", permission=OPEN, operation=operations.REGISTER)
def register_view(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/register``"""
    auth = auth_services(request)
    registration.check_open(auth, request.registry.settings, caller_of(request))
    body = read_account_body(request, Registration)
    display_name = body.clean_display_name()
    validated = registration.validate_registration(
        auth, request.registry.settings, body.email, body.password, display_name
    )
    account, login = registration.create_account(
        request.dbsession, auth.outbox, validated, display_name, translations_for(request)
    )
    request.response.status_int = 201
    return _session(request, services.issue_tokens(request.dbsession, account, login, body.clean_client()))


@api(context=IAuth, name="login", request_method="POST", permission=OPEN, operation=operations.LOGIN)
def login_view(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/login``"""
    body = read_account_body(request, SignIn)
    credentials = Credentials(body.email, body.password, body.clean_code(), caller_of(request))
    checked_login = authenticate(auth_services(request), request.registry.settings, credentials)
    return _session(request, services.sign_in(request.dbsession, checked_login, body.clean_client()))


@api(
    context=IAuth, name="exchange", request_method="POST", permission=OPEN, operation=operations.EXCHANGE_PUBLISHER_KEY
)
def exchange_view(_context: Any, request: Request) -> KeySessionDocument:
    """``POST /api/auth/exchange``"""
    key, auth = read_account_body(request, Exchange).key, auth_services(request)
    mod_exists = partial(_mod_exists, request)
    key_session = publisher_keys.check_key(auth, request.registry.settings, key, caller_of(request), mod_exists)
    random_id = publisher_keys.begin_session(request.dbsession, key_session)
    token = auth.access_tokens.make(key_session.login_id, random_id, now())
    return KeySessionDocument(token, key_session.seconds, key_session.account_id, key_session.display_name)


def _mod_exists(request: Request, mod_id: int) -> bool:
    with request.find_service(Databases).readonly_session() as session:
        return bool(request.find_service(IMods).get_mods(session, [mod_id]))


@api(
    context=IAuth, name="me", request_method="GET", permission=AccountPermission.READ, operation=operations.READ_ACCOUNT
)
def me_view(_context: Any, request: Request) -> AccountDocument:
    """``GET /api/auth/me``"""
    login: LoginRecord = request.identify(CredentialKind.ACCOUNT).details
    return account_document(login, auth_services(request).account_reader)


@api(context=IAuth, name="refresh", request_method="POST", permission=OPEN, operation=operations.REFRESH_SESSION)
def refresh_view(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/refresh``"""
    body = read_account_body(request, Refresh)
    return _session(request, services.refresh_session(request.dbsession, body.refresh_token, body.clean_client()))


@api(context=IAuth, name="logout", request_method="POST", permission=OPEN, operation=operations.LOGOUT)
def logout_view(_context: Any, request: Request) -> Response:
    """``POST /api/auth/logout``: always 204, even without a valid body (C-MAIL-4)."""
    try:
        token = read_account_body(request, SignOut).refresh_token
    except ApiError:
        return Response(status=204)
    services.revoke_session(request.dbsession, token)
    return Response(status=204)


@api(context=IAuth, name="forgot", request_method="POST", permission=OPEN, operation=operations.REQUEST_PASSWORD_RESET)
def forgot_view(_context: Any, request: Request) -> Response:
    """``POST /api/auth/forgot``: always 204, whatever the body and whether or not the account exists (C-MAIL-4)."""
    auth, limit = auth_services(request), request.registry.settings["modhub_auth.forgot_limit"]
    auth.rate_limiter.count([rate_counter("forgot", caller_of(request), limit)])
    try:
        address = email_addresses.parse_address(read_account_body(request, Forgot).email)
    except ApiError:
        address = None
    if address is not None:
        recovery.request_reset(request.dbsession, auth.rate_limiter, address, translations_for(request).language)
    return Response(status=204)
