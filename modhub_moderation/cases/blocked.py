"""The statement for a blocked account: who signs in to it may read why it is blocked, and appeal (C-APL-4).

Its link is sealed for the browser that signed in, so nothing is stored, and the link in the email stays valid.
"""

from collections.abc import Sequence
from typing import Final

from pyramid.config import Configurator
from pyramid.csrf import get_csrf_token
from sqlalchemy import select

from modhub.db import now, to_micros
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub_auth.resources import IBlockedAccounts
from modhub_auth.signin.page_sessions import SESSION_IDLE
from modhub_auth.tokens import SecretBox, is_recent
from modhub_moderation.cases.effects import BLOCKS, IN_FORCE
from modhub_moderation.cases.models import Appeal, Case, Decision
from modhub_moderation.cases.statements import APPEAL_PAGE

LINK_MICROS: Final = SESSION_IDLE.total_seconds() * 1_000_000
"""How long the link is valid."""


class BlockedAccounts:
    """See :class:`modhub_auth.resources.IBlockedAccounts`."""

    def __init__(self, configured_secrets: Sequence[str]) -> None:
        self._box = SecretBox(configured_secrets, "statement for a blocked account")

    def find_reasons(self, request: Request, account_id: int) -> str | None:
        """The statement of the last decision that blocks the account, first of one that it has not appealed."""
        blocking = select(Decision.id).join(Case, Case.id == Decision.case_id)
        blocking = blocking.where(Case.owner_id == account_id, BLOCKS, IN_FORCE)
        blocking = blocking.outerjoin(Appeal, Appeal.decision_id == Decision.id)
        with request.databases.readonly_session() as session:
            newest = blocking.order_by(Appeal.id.is_not(None), Decision.id.desc()).limit(1)
            decision_id = session.scalar(newest)
        if decision_id is None:
            return None
        sealed = self._box.encrypt(f"{decision_id} {to_micros(now())}", get_csrf_token(request))
        return f"{APPEAL_PAGE}?token={sealed}"

    def read_link(self, request: Request, sealed: str) -> int | None:
        """The decision of such a link; None for any other text, in another browser, and once it has expired."""
        try:
            number, _, time = (self._box.decrypt(sealed, get_csrf_token(request)) or "").partition(" ")
        except ValueError:
            return None
        sealed_at = parse_id(time)
        if sealed_at is None or not is_recent(sealed_at, LINK_MICROS):
            return None
        return parse_id(number)


def includeme(config: Configurator) -> None:
    """Register the service."""
    config.add_service(IBlockedAccounts, BlockedAccounts(config.registry.settings["modhub.secret"]))
