"""Registering, for programs and pages alike. The password is hashed before the transaction begins."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from modhub_auth import addresses, recovery, services
from modhub_auth.common import common_password, is_common, words_of
from modhub_auth.letters import Writer
from modhub_auth.limits import counter
from modhub_auth.models import Account, Login
from modhub_auth.parts import Parts
from modhub_auth.passwords import accepted


@dataclass(frozen=True, slots=True, repr=False)
class Prepared:
    """A registration that may be written."""

    address: str
    password_hash: str


def admit(own: Parts, settings: Mapping[str, Any], caller: str) -> None:
    """403 while registration is switched off, 429 for a caller who has registered too often (decisions 3.4, 3.8)."""
    if not settings["modhub_auth.registration"]:
        raise services.registration_closed()
    own.limits.count([counter("register", caller, settings["modhub_auth.register_limit"])])


def prepare(own: Parts, settings: Mapping[str, Any], email: str, password: str, name: str = "") -> Prepared:
    """Judge what somebody registers with: 400 by the rules, 409 for an address that has an account."""
    address = addresses.require(email)
    chosen = accepted(password)
    if settings["modhub_auth.refuse_common_passwords"] and is_common(
        chosen, words_of(settings["modhub.base_url"], address, name)
    ):
        raise common_password()
    if own.finder.by_address(address) is not None:
        raise services.address_taken()
    return Prepared(address, own.passwords.hash(chosen))


def join(
    session: Session, writer: Writer, prepared: Prepared, display_name: str, messages: Any
) -> tuple[Account, Login]:
    """The new account and its login, with the letter that confirms its address."""
    account, login = services.register(session, prepared.address, prepared.password_hash, display_name)
    recovery.welcome(session, writer, login, messages)
    return account, login
