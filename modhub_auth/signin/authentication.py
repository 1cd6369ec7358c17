"""Who signs in or proves to be there: by password and code, or by a bearer token."""

from enum import StrEnum

from zope.interface import implementer

from modhub.audit import act_for_account
from modhub.base.errors import ApiError
from modhub.base.identity import Identity, KeyScope, account_identity
from modhub.base.security_log import log_event
from modhub.db import now
from modhub.plugins.resources import ICredential
from modhub.plugins.security import bearer_challenge
from modhub.web.request import Request, act_for_request
from modhub_auth import email_addresses, services
from modhub_auth.container import AuthServices, auth_services
from modhub_auth.models import LoginKind
from modhub_auth.rate_limits import RateCounter, Slot, caller_of, rate_counter
from modhub_auth.read_service import LoginRecord, has_expired
from modhub_auth.services import PasswordLogin
from modhub_auth.signin import sessions, totp
from modhub_auth.signin.passwords import normalize_password

# The checks before a sign-in: rate limits, password and code. No transaction is open during them.
#
# Programs and pages share this code, so that every rule holds for both.


def _use_up_code(request: Request, account_id: int, code: str) -> bool:
    """Use up a code of the account's authenticator in its own transaction; False for a wrong code."""
    auth = auth_services(request)
    with auth.databases.write_session.begin() as session:
        act_for_request(session, request)
        act_for_account(session, account_id)
        return totp.use_code(session, auth.secret_box, account_id, code)


def _failure_counters(request: Request, address: str) -> list[RateCounter]:
    limit = request.registry.settings["modhub_auth.failures"]
    return [
        rate_counter("sign-in address", address, limit),
        rate_counter("sign-in caller", caller_of(request), limit),
    ]


def authenticate(request: Request, email: str, password: str, code: str) -> PasswordLogin:
    """Check a sign-in and use up its code (C-LIM-1, C-ACC-7, C-ACC-11).

    401, the same for a wrong address and a wrong password; 403 for a blocked account and for an address that must be
    confirmed first; 429 after too many failures; 503 while too many are being checked.
    """
    auth, normalized = auth_services(request), normalize_password(password)
    address = email_addresses.parse_address(email)
    # Malformed addresses are counted too, so that responses do not reveal whether an address exists.
    counters = _failure_counters(request, address or email.strip().lower())
    with auth.rate_limiter.attempt(counters) as slot:
        login = auth.account_reader.password_login_by_address(address)
        password_hash = None if login is None else login.password_hash
        if not auth.passwords.verify(password_hash, normalized) or login is None or password_hash is None:
            slot.failed = True
            account_id = None if login is None else login.account_id
            log_event("password refused", account=account_id, caller=caller_of(request))
            raise services.invalid_credentials()
        _check_after_password(request, login, code, slot)
        return login


def authenticate_code(request: Request, login: PasswordLogin, code: str) -> None:
    """Check the code of a login whose password was right in an earlier step; it counts as :func:`authenticate` does."""
    with auth_services(request).rate_limiter.attempt(_failure_counters(request, login.subject)) as slot:
        _check_after_password(request, login, code, slot)


def _check_after_password(request: Request, login: PasswordLogin, code: str, slot: Slot) -> None:
    if login.has_authenticator and not code:
        raise services.second_factor_required()
    if login.has_authenticator and not _use_up_code(request, login.account_id, code):
        slot.failed = True
        log_event("code refused", account=login.account_id, caller=caller_of(request))
        raise services.second_factor_required()
    if login.blocked:
        raise services.blocked_account_error(login.account_id)
    if request.registry.settings["modhub_auth.require_verified"] and not login.verified:
        raise services.email_not_confirmed()


def reauthenticate(request: Request, account_id: int, password: str) -> PasswordLogin | None:
    """Check the password of a signed-in user again. A failure counts as a failed sign-in (T-C17).

    403 when it is wrong; None for an account without a password.
    """
    auth = auth_services(request)
    login = auth.account_reader.password_login(account_id)
    if login is None or login.password_hash is None:
        return None
    with auth.rate_limiter.attempt(_failure_counters(request, login.subject)) as slot:
        if not auth.passwords.verify(login.password_hash, normalize_password(password)):
            slot.failed = True
            log_event("password refused", account=account_id, caller=caller_of(request))
            raise wrong_password()
        return login


def wrong_password() -> ApiError:
    """403 for a user who is signed in."""
    return ApiError(403, "wrong_password", "The field currentPassword is not the password of your account.")


# Fresh proof that the signed-in user owns the account, required before sign-in data changes.
#
# The proof is what the account has: its password, else a code of its authenticator, else a sign-in at its platform.


class Proof(StrEnum):
    """What is required as proof. ``FRESH``: nothing, after a platform sign-in in this session a few minutes ago."""

    PASSWORD = "password"  # noqa: S105 - a word, not a password
    CODE = "code"
    PLATFORM = "platform"
    FRESH = "fresh"


def required_proof(auth: AuthServices, login: LoginRecord) -> Proof:
    """The proof that this visitor has to give."""
    password_login = auth.account_reader.password_login(login.account_id)
    if password_login is not None and password_login.password_hash is not None:
        return Proof.PASSWORD
    if sessions.is_fresh(login.proved_at):
        return Proof.FRESH
    return Proof.CODE if auth.account_reader.has_authenticator(login.account_id) else Proof.PLATFORM


def proof_required() -> ApiError:
    """403: the account's only proof is a sign-in at its platform, and the last one is too long ago."""
    return ApiError(403, "proof_needed", "Sign in at your game platform again, then submit this form again.")


def prove_by_code(request: Request, account_id: int, code: str) -> None:
    """Use up a code; 401 for a wrong one, which counts as a failed sign-in. Call it before any row is locked."""
    caller, limit = caller_of(request), request.registry.settings["modhub_auth.failures"]
    # By account and by caller, for all codes given without a password.
    counters = [rate_counter("sign-in code", str(account_id), limit), rate_counter("sign-in caller", caller, limit)]
    with auth_services(request).rate_limiter.attempt(counters) as slot:
        if not _use_up_code(request, account_id, code):
            slot.failed = True
            log_event("code refused", account=account_id, caller=caller)
            raise services.second_factor_required()


def presented_token(request: Request) -> str:
    """The token of ``Authorization: Bearer`` (RFC 6750, 2.1); empty when there is none."""
    scheme, _, token = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    return token.lstrip(" ") if scheme.lower() == "bearer" else ""


@implementer(ICredential)
class BearerCredential:
    """A signed-in program. ``Identity.details`` is the `modhub_auth.read_service.LoginRecord` of its login."""

    def identify(self, request: Request) -> Identity | None:
        """The account; None when the token is missing, invalid or expired, or its login was deleted or has expired."""
        token = presented_token(request)
        auth = auth_services(request)
        claim = auth.access_tokens.claim_of(token, now()) if token else None
        login = None if claim is None else auth.account_reader.claimed_login(claim)
        if login is None or has_expired(login, now()):
            return None
        key_scope = KeyScope(login.mod_id) if login.login_kind == LoginKind.KEY else None
        return account_identity(login.account_id, login, blocked=login.blocked, key_scope=key_scope)

    def challenge(self, request: Request) -> ApiError:
        """Return the 401 that names the bearer scheme (C-ERR-6)."""
        return bearer_challenge(request)
