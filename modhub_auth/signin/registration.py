"""Registration, for programs and pages. The password is hashed before the transaction begins."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from modhub_auth import email_addresses, services
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import Outbox
from modhub_auth.models import Account, Login
from modhub_auth.rate_limits import rate_counter
from modhub_auth.signin import recovery
from modhub_auth.signin.common_passwords import common_password_error, guessable_words, is_common
from modhub_auth.signin.passwords import validate_password


@dataclass(frozen=True, slots=True, repr=False)
class ValidatedRegistration:
    """A registration that passed the checks."""

    address: str
    password_hash: str


def check_open(auth: AuthServices, settings: Mapping[str, Any], caller: str) -> None:
    """403 while registration is switched off, 429 when the caller has registered too often (C-LIM-1, C-ACC-11)."""
    if not settings["modhub_auth.registration"]:
        raise services.registration_closed()
    auth.rate_limiter.count([rate_counter("register", caller, settings["modhub_auth.register_limit"])])


def validate_registration(
    auth: AuthServices, settings: Mapping[str, Any], email: str, password: str, name: str = ""
) -> ValidatedRegistration:
    """Check the input and hash the password; 400 for invalid input, 409 for an address that has an account."""
    address = email_addresses.require_address(email)
    normalized = validate_password(password)
    if settings["modhub_auth.refuse_common_passwords"] and is_common(
        normalized, guessable_words(settings, address, name)
    ):
        raise common_password_error()
    if auth.account_reader.password_login_by_address(address) is not None:
        raise services.address_taken()
    return ValidatedRegistration(address, auth.passwords.hash(normalized))


def create_account(
    session: Session, outbox: Outbox, registration: ValidatedRegistration, display_name: str, messages: Any
) -> tuple[Account, Login]:
    """Create the account and its login, and queue the email that confirms its address."""
    account, login = services.register_account(session, registration.address, registration.password_hash, display_name)
    recovery.queue_confirmation(session, outbox, login, messages)
    return account, login
