"""Receipts: what one report became of, asked by a secret of which only the hash is stored."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub_auth.tokens import new_refresh_token, token_digest
from modhub_moderation.cases.models import Case, Notice


def new_receipt() -> tuple[str, str]:
    """A receipt of 256 random bits, and the hash to store."""
    receipt = new_refresh_token()
    return receipt, token_digest(receipt)


def is_decided(session: Session, receipt: str) -> bool | None:
    """Whether the case of the notice with this receipt was decided; None if there is no such notice."""
    decided = select(Case.decided_at.is_not(None)).join(Notice, Notice.case_id == Case.id)
    answer = session.scalar(decided.where(Notice.receipt_hash == token_digest(receipt)))
    return None if answer is None else bool(answer)
