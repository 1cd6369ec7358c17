"""The checks before somebody is signed in: limits and password. No transaction is held meanwhile, none is left open.

Programs and pages sign in by the same function, so that a rule holds for both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from modhub.errors import ApiError
from modhub.security_log import log_event
from modhub_auth import email_addresses, services
from modhub_auth.container import AuthServices
from modhub_auth.rate_limits import RateCounter, rate_counter
from modhub_auth.services import Checked
from modhub_auth.signin import totp
from modhub_auth.signin.passwords import normalize_password


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """What somebody signs in with, as sent, and who calls."""

    email: str
    password: str
    code: str
    caller: str


def use_code(own: AuthServices, account_id: int, code: str) -> bool:
    """Use up a code of the account's authenticator, in a transaction of its own."""
    with own.databases.write_session.begin() as session:
        return totp.use_code_of(session, own.seal, account_id, code)


def _counters(given: Credentials, address: str | None, most: int) -> list[RateCounter]:
    # What is no address has a counter too: nothing may tell it from one that is unknown.
    key = address or given.email.strip().lower()
    return [rate_counter("sign-in address", key, most), rate_counter("sign-in caller", given.caller, most)]


def authenticate(own: AuthServices, settings: dict[str, Any], given: Credentials) -> Checked:
    """Judge a sign-in (C-LIM-1, C-ACC-7, C-ACC-11). A code is used up by it.

    401 with one answer for a wrong address and a wrong password, 403 for a blocked account and for an address that must
    be confirmed first, 429 after too many failures, 503 while too many are being checked.
    """
    password = normalize_password(given.password)
    address = email_addresses.parse_address(given.email)
    with own.limits.attempt(_counters(given, address, settings["modhub_auth.failures"])) as place:
        found = own.finder.by_address(address)
        known = None if found is None else found.password_hash
        if not own.passwords.verify(known, password) or found is None or known is None:
            place.failed = True
            log_event("password refused", account=None if found is None else found.account_id, caller=given.caller)
            raise services.invalid_credentials()
        if found.factor and not given.code:
            raise services.second_factor_required()
        if found.factor and not use_code(own, found.account_id, given.code):
            place.failed = True
            log_event("code refused", account=found.account_id, caller=given.caller)
            raise services.second_factor_required()
        if found.blocked:
            raise services.refused_blocked(found.account_id)
        if settings["modhub_auth.require_verified"] and not found.verified:
            raise services.email_not_confirmed()
        return Checked(found.login_id, found.account_id, known, found.factor)


def reauthenticate(
    own: AuthServices, settings: Mapping[str, Any], account_id: int, password: str, caller: str
) -> Checked | None:
    """Have somebody who is signed in prove that it is still them, by the password; it counts as a sign-in (C4).

    403 when it is wrong; None for an account that has no password to prove anything by.
    """
    login = own.finder.password_of(account_id)
    if login is None or login.password_hash is None:
        return None
    given = Credentials(login.subject, password, "", caller)
    with own.limits.attempt(_counters(given, login.subject, settings["modhub_auth.failures"])) as place:
        if not own.passwords.verify(login.password_hash, normalize_password(password)):
            place.failed = True
            log_event("password refused", account=account_id, caller=caller)
            raise wrong_password()
        return Checked(login.login_id, account_id, login.password_hash, factor=True)


def wrong_password() -> ApiError:
    """403 for somebody who is signed in."""
    return ApiError(403, "wrong_password", "The currentPassword is not the one of your account.")
