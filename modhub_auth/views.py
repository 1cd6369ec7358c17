"""The account API (C-ACC-1). Passwords are hashed before the transaction begins."""

from collections.abc import Callable
from typing import Any, Final

from pyramid.response import Response

from modhub.base.errors import ApiError
from modhub.base.identity import CredentialKind
from modhub.base.operations import Operation, Refusal, body_over
from modhub.db import now
from modhub.web.request import Request
from modhub.web.views import OPEN, F, api
from modhub_auth import email_addresses, publisher_keys
from modhub_auth.container import auth_services
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.read_service import LoginRecord
from modhub_auth.resources import AccountPermission, IAuth, IDevice
from modhub_auth.schemas import (
    MAX_ACCOUNT_BODY,
    AccountDocument,
    DeviceCodesDocument,
    DevicePoll,
    DeviceSignIn,
    Exchange,
    Forgot,
    KeySessionDocument,
    Refresh,
    Registration,
    SecondFactorDocument,
    SessionDocument,
    SignIn,
    SignOut,
    read_account_body,
)
from modhub_auth.signin import device_codes, registration, sessions
from modhub_auth.signin.authentication import authenticate
from modhub_auth.signin.sessions import SignedIn
from modhub_auth.tokens import ACCESS_SECONDS

TOO_MANY: Final = Refusal(
    429, "too_many_attempts", "Too many attempts of this caller or for this account; see [rates](#rates)."
)
BLOCKED: Final = Refusal(403, "account_blocked", "The operator has blocked the account.")
TOO_LARGE: Final = body_over(MAX_ACCOUNT_BODY)


REGISTER: Final = Operation(
    id="register",
    about="Create an account.",
    takes=Registration,
    returns=SessionDocument,
    status=201,
    refusals=(
        Refusal(400, "invalid_input", "No address, or a password that is too short or too long."),
        Refusal(
            400,
            "common_password",
            "The password is one of the first that attackers try; the operator says whether these are refused.",
        ),
        Refusal(403, "registration_closed", "Registration is closed."),
        Refusal(409, "address_taken", "The address has an account."),
        TOO_LARGE,
        TOO_MANY,
    ),
    clauses=("C-ACC-1", "C-ACC-2", "C-ACC-4", "C-ACC-5", "C-ACC-21", "C-LIM-8"),
)
LOGIN: Final = Operation(
    id="login",
    about="Sign in with address and password.",
    takes=SignIn,
    returns=SessionDocument,
    refusals=(
        Refusal(400, "invalid_input", "A field is missing or not a string."),
        Refusal(401, "invalid_credentials", "Unknown address or wrong password: one answer for both."),
        Refusal(
            401,
            "second_factor_required",
            "The password was right; the code is missing, wrong or already used.",
            SecondFactorDocument,
        ),
        Refusal(
            403,
            "account_blocked",
            "Password and code were right, but the operator has blocked the account. Its refresh "
            "tokens no longer work; an access token still reads the account, until it expires.",
        ),
        Refusal(
            403,
            "email_not_confirmed",
            "Password and code were right, but this service wants the address confirmed first.",
        ),
        TOO_LARGE,
        TOO_MANY,
        Refusal(503, "busy", "Too many are signing in at this moment; try again after `Retry-After`."),
    ),
    clauses=("C-ACC-1", "C-ACC-7", "C-ACC-8", "C-ACC-9", "C-ACC-11", "C-LIM-1", "C-LIM-3"),
)
EXCHANGE_PUBLISHER_KEY: Final = Operation(
    id="exchange_publisher_key",
    about="A session for a publisher key, which ends with its access token.",
    takes=Exchange,
    returns=KeySessionDocument,
    refusals=(
        Refusal(400, "invalid_input", "No `key`."),
        Refusal(401, "invalid_key", "Unknown, revoked or expired, or for a mod that was deleted."),
        BLOCKED,
        TOO_LARGE,
        TOO_MANY,
    ),
    clauses=("C-TOK-5", "C-TOK-6", "C-TOK-7"),
)
READ_ACCOUNT: Final = Operation(
    id="read_account",
    about="The account of the token.",
    returns=AccountDocument,
    blocked_too=True,
    clauses=("C-ACC-13", "C-ACC-20"),
)
REFRESH_SESSION: Final = Operation(
    id="refresh_session",
    about="New tokens for a refresh token, which is used up.",
    takes=Refresh,
    returns=SessionDocument,
    refusals=(
        Refusal(400, "invalid_input", "No `refreshToken`."),
        Refusal(401, "invalid_refresh_token", "Used, expired, signed out or unknown."),
        TOO_LARGE,
    ),
    clauses=("C-ACC-1", "C-ACC-14", "C-TOK-1", "C-TOK-3"),
)
BEGIN_DEVICE_SIGN_IN: Final = Operation(
    id="begin_device_sign_in",
    about="Begin a sign-in that a person allows on the website, by whatever way they sign in there.",
    takes=DeviceSignIn,
    returns=DeviceCodesDocument,
    refusals=(Refusal(400, "invalid_input", "`client` is not a string."), TOO_LARGE, TOO_MANY),
    clauses=("C-ACC-27", "C-LIM-8"),
)
FINISH_DEVICE_SIGN_IN: Final = Operation(
    id="finish_device_sign_in",
    about="The session, once the person has allowed the sign-in; until then ask again after each interval.",
    takes=DevicePoll,
    returns=SessionDocument,
    refusals=(
        Refusal(400, "invalid_input", "No `deviceCode`."),
        Refusal(400, "expired_token", "Unknown, used, old, or ended with the account's sessions: begin again."),
        Refusal(429, "slow_down", "Asked too early. The code stays good; wait for `retryAfterSeconds`."),
        Refusal(400, "authorization_pending", "Nobody has decided yet."),
        Refusal(400, "access_denied", "Denied."),
        Refusal(
            403,
            "email_not_confirmed",
            "Allowed, but this service wants the address confirmed first. The code stays good.",
        ),
        TOO_LARGE,
    ),
    clauses=("C-ACC-1", "C-ACC-28", "C-ACC-29", "C-ACC-31"),
)
LOGOUT: Final = Operation(
    id="logout",
    about="End a session. Always succeeds.",
    takes=SignOut,
    takes_anything=True,
    status=204,
    clauses=("C-ACC-16",),
)
REQUEST_PASSWORD_RESET: Final = Operation(
    id="request_password_reset",
    about="Send an email with a link to a new password, if the account exists.",
    takes=Forgot,
    takes_anything=True,
    status=204,
    refusals=(TOO_MANY,),
    clauses=("C-ACC-16", "C-LIM-8", "C-LIM-9"),
)


def open_call(name: str, operation: Operation, context: Any = IAuth) -> Callable[[F], F]:
    """Declare a call that needs no token."""
    return api(context=context, name=name, request_method="POST", permission=OPEN, operation=operation)


def _session(request: Request, signed_in: SignedIn) -> SessionDocument:
    return SessionDocument(
        access_token=auth_services(request).access_tokens.make(signed_in.login_id, signed_in.random_id, now()),
        expires_in_seconds=ACCESS_SECONDS,
        refresh_token=signed_in.refresh_token,
        account_id=signed_in.account_id,
        display_name=signed_in.display_name,
    )


@open_call("register", REGISTER)
def register_view(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/register``"""
    registration.check_open(request)
    body = read_account_body(request, Registration)
    account, login = registration.register(request, body.email, body.password, body.clean_display_name())
    request.response.status_int = 201
    return _session(request, sessions.issue_tokens(request.dbsession, account, login, body.clean_client()))


@open_call("login", LOGIN)
def login_view(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/login``"""
    body = read_account_body(request, SignIn)
    checked_login = authenticate(request, body.email, body.password, body.clean_code())
    return _session(request, sessions.sign_in(request.dbsession, checked_login, body.clean_client()))


@open_call("exchange", EXCHANGE_PUBLISHER_KEY)
def exchange_view(_context: Any, request: Request) -> KeySessionDocument:
    """``POST /api/auth/exchange``"""
    key = publisher_keys.check_key(request, read_account_body(request, Exchange).key)
    random_id = publisher_keys.begin_session(request.dbsession, key)
    time = now()
    token = auth_services(request).access_tokens.make(key.login_id, random_id, time)
    seconds = publisher_keys.seconds_left(key, time)
    return KeySessionDocument(token, seconds, key.account_id, key.display_name)


@api(context=IAuth, name="me", request_method="GET", permission=AccountPermission.READ, operation=READ_ACCOUNT)
def me_view(_context: Any, request: Request) -> AccountDocument:
    """``GET /api/auth/me``: with the login that the account was created with, whichever the token names (C-ACC-13)."""
    login: LoginRecord = request.identify(CredentialKind.ACCOUNT).details
    subject, verified = auth_services(request).account_reader.original_login(login)
    return AccountDocument(login.account_id, login.kind, subject, login.display_name, verified)


@open_call("refresh", REFRESH_SESSION)
def refresh_view(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/refresh``"""
    body = read_account_body(request, Refresh)
    return _session(request, sessions.refresh_session(request.dbsession, body.refresh_token, body.clean_client()))


@open_call("", BEGIN_DEVICE_SIGN_IN, IDevice)
def begin_device_view(_context: Any, request: Request) -> DeviceCodesDocument:
    """``POST /api/auth/device``"""
    settings = request.registry.settings
    limit = settings["modhub_auth.register_limit"]
    auth_services(request).rate_limiter.count([rate_counter("device", caller_of(request), limit)])
    label = read_account_body(request, DeviceSignIn).clean_client()
    codes = device_codes.begin(request.dbsession, settings, label, request.environ.get("REMOTE_ADDR") or "")
    return DeviceCodesDocument(
        device_code=codes.device_code,
        user_code=codes.user_code,
        verification_url=f"{settings['modhub.base_url']}/Modhub/account/device",
        expires_in_seconds=device_codes.CODE_SECONDS,
        interval_seconds=device_codes.INTERVAL_SECONDS,
    )


@open_call("token", FINISH_DEVICE_SIGN_IN, IDevice)
def finish_device_view(_context: Any, request: Request) -> SessionDocument:
    """``POST /api/auth/device/token``"""
    device_code = read_account_body(request, DevicePoll).device_code
    poll = device_codes.poll(auth_services(request).databases, device_code)
    if poll.denied:
        raise device_codes.access_denied()
    if poll.account_id is None:
        raise device_codes.authorization_pending()
    settings = request.registry.settings
    return _session(request, device_codes.redeem(request.dbsession, settings, device_code, poll.account_id))


@open_call("logout", LOGOUT)
def logout_view(_context: Any, request: Request) -> Response:
    """``POST /api/auth/logout``: always 204, even without a valid body (C-MAIL-4)."""
    try:
        token = read_account_body(request, SignOut).refresh_token
    except ApiError:
        return Response(status=204)
    sessions.revoke_session(request.dbsession, token)
    return Response(status=204)


@open_call("forgot", REQUEST_PASSWORD_RESET)
def forgot_view(_context: Any, request: Request) -> Response:
    """``POST /api/auth/forgot``: always 204, whatever the body and whether or not the account exists (C-MAIL-4)."""
    registration.count_forgot(request)
    try:
        address = email_addresses.parse_address(read_account_body(request, Forgot).email)
    except ApiError:
        address = None
    if address is not None:
        registration.request_reset(request, address)
    return Response(status=204)
