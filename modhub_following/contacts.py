"""The email address of an account for digests, and the signed address with which a digest is left."""

import hmac
from collections.abc import Sequence
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.web.traversal import parse_id
from modhub_auth.models import Account, Login, LoginKind
from modhub_auth.tokens import derive_key
from modhub_following.models import Reader

_PURPOSE: Final = "leave digests"


def find_contact(session: Session, account_id: int) -> str | None:
    """The confirmed email address of an account that is not blocked, or None."""
    address = select(Login.subject).join(Account, Account.id == Login.account_id)
    confirmed = Login.kind == LoginKind.PASSWORD.value, Login.verified
    address = address.where(Login.account_id == account_id, *confirmed, Account.blocked_at.is_(None))
    return session.scalar(address.order_by(Login.id).limit(1))


class LeaveTokens:
    """Makes and checks the tokens in the addresses that end digests. They do not expire: an email may be old.

    The first secret signs, all verify. A token can end digests, and nothing else.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        self._keys = [derive_key(secret, _PURPOSE) for secret in secrets]

    def __repr__(self) -> str:
        return "LeaveTokens(...)"

    def make(self, account_id: int, random_id: str) -> str:
        """The token of the account, whose :class:`Reader` has this random id."""
        return f"{account_id}.{_signature(self._keys[0], account_id, random_id)}"

    def account_of(self, token: str, session: Session) -> int | None:
        """The account of a valid token; None for any other text, and for a lost account with the same number."""
        number, _, signature = token.partition(".")
        account_id = parse_id(number)
        if account_id is None or not signature.isascii():
            return None
        random_id = session.scalar(select(Reader.random_id).where(Reader.account_id == account_id))
        if random_id is None:
            return None
        # Compared with every key, so that the time does not tell which one matches.
        matches = [hmac.compare_digest(signature, _signature(key, account_id, random_id)) for key in self._keys]
        return account_id if any(matches) else None


def _signature(key: bytes, account_id: int, random_id: str) -> str:
    return hmac.digest(key, f"{account_id} {random_id}".encode(), "sha256").hex()[:32]
