"""Fresh proof that the signed-in user owns the account, required before sign-in data changes.

The proof is what the account has: its password, else a code of its authenticator, else a sign-in at its platform.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from modhub.base.errors import ApiError
from modhub.base.security_log import log_event
from modhub_auth import services
from modhub_auth.container import AuthServices
from modhub_auth.rate_limits import RateCounter, rate_counter
from modhub_auth.read_service import LoginRecord
from modhub_auth.signin import page_sessions
from modhub_auth.signin.authentication import use_up_code


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
    if page_sessions.is_fresh(login.proved_at):
        return Proof.FRESH
    return Proof.CODE if auth.account_reader.has_authenticator(login.account_id) else Proof.PLATFORM


def proof_required() -> ApiError:
    """403: the account's only proof is a sign-in at its platform, and the last one is too long ago."""
    return ApiError(403, "proof_needed", "Sign in at your game platform again, then submit this form again.")


def code_counters(settings: Mapping[str, Any], account_id: int, caller: str) -> list[RateCounter]:
    """The counters, by account and by caller, of all codes given without a password."""
    limit = settings["modhub_auth.failures"]
    return [rate_counter("sign-in code", str(account_id), limit), rate_counter("sign-in caller", caller, limit)]


def prove_by_code(auth: AuthServices, settings: Mapping[str, Any], account_id: int, code: str, caller: str) -> None:
    """Use up a code; 401 for a wrong one, which counts as a failed sign-in. Call it before any row is locked."""
    with auth.rate_limiter.attempt(code_counters(settings, account_id, caller)) as slot:
        if not use_up_code(auth, account_id, code):
            slot.failed = True
            log_event("code refused", account=account_id, caller=caller)
            raise services.second_factor_required()
