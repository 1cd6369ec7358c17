"""Fresh proof that whoever is signed in is still the account's owner, before it is changed who may enter the account.

What is asked for is what the account has: its password, else a code of its authenticator, else its platform's sign-in.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from modhub.errors import Refusal
from modhub_auth import services, sessions
from modhub_auth.finding import Found
from modhub_auth.journal import note
from modhub_auth.limits import Counter, counter
from modhub_auth.parts import Parts
from modhub_auth.signing import use_code


class Proof(StrEnum):
    """How an account is proved. ``GIVEN``: by a platform's sign-in in this session, a few minutes ago."""

    PASSWORD = "password"  # noqa: S105 - a word, not a password
    CODE = "code"
    PLATFORM = "platform"
    GIVEN = "given"


def wanted(own: Parts, found: Found) -> Proof:
    """What proves that the visitor ``found`` is still the account's owner."""
    known = own.finder.password_of(found.account_id)
    if known is not None and known.password_hash is not None:
        return Proof.PASSWORD
    if sessions.is_fresh(found.proved_at):
        return Proof.GIVEN
    return Proof.CODE if own.finder.has_factor(found.account_id) else Proof.PLATFORM


def needed() -> Refusal:
    """403: the account can be proved at its platform alone, and that was too long ago."""
    return Refusal(403, "proof_needed", "Sign in once more at your game platform first, then send this again.")


def code_counters(settings: Mapping[str, Any], account_id: int, caller: str) -> list[Counter]:
    """The counters of codes that are given without a password: by account and by caller, wherever they are given."""
    most = settings["modhub_auth.failures"]
    return [counter("sign-in code", str(account_id), most), counter("sign-in caller", caller, most)]


def by_code(own: Parts, settings: Mapping[str, Any], account_id: int, code: str, caller: str) -> None:
    """Use a code up; 401 for a wrong one, which counts as a failed sign-in. No row may be locked yet."""
    with own.limits.attempt(code_counters(settings, account_id, caller)) as place:
        if not use_code(own, account_id, code):
            place.failed = True
            note("code refused", account=account_id, caller=caller)
            raise services.second_factor_required()
