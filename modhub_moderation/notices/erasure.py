"""What reporters wrote, who they are, and what a case calls its subject, is erased after its end (C-NTC-8, C-CAS-9)."""

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk, now
from modhub.plugins.events import AccountDeleted
from modhub.plugins.workers import raise_if_stopping
from modhub_moderation.cases.models import Case, Notice

ERASED_AT_ONCE: Final = 500
"""Notices, or cases, of which something is erased in one transaction."""


def erase_old_notices(registry: Any) -> None:
    """The worker that erases what is due: text, name, address and account. Ground, subject and time are kept."""
    databases, days = find_service(registry, Databases), registry.settings["modhub_moderation.keep_days"]
    for erase in (erase_notices, erase_titles):
        count = ERASED_AT_ONCE
        while count == ERASED_AT_ONCE:
            raise_if_stopping(registry)
            with databases.write_session.begin() as session:
                count = erase(session, days)


def erase_notices(session: Session, days: int) -> int:
    """Erase at most :data:`ERASED_AT_ONCE` notices of cases that ended ``days`` days ago, and return how many."""
    ended = select(Notice.id).join(Case, Case.id == Notice.case_id)
    ended = ended.where(Notice.erased_at.is_(None), Case.ended_at <= now() - timedelta(days=days))
    ids = session.scalars(ended.order_by(Notice.id).limit(ERASED_AT_ONCE)).all()
    erased = {"text": "", "name": None, "email": None, "account_id": None, "erased_at": now()}
    bulk.execute_bulk(session, update(Notice).where(Notice.id.in_(ids)).values(**erased))
    return len(ids)


def erase_titles(session: Session, days: int) -> int:
    """Erase titles and names of as many cases that ended then. Pages show the title of a mod that is still there."""
    ended = select(Case.id).where(Case.title != "", Case.ended_at <= now() - timedelta(days=days))
    # A case that is being decided is left for the next round: its row is not waited for.
    ids = session.scalars(ended.order_by(Case.id).limit(ERASED_AT_ONCE).with_for_update(skip_locked=True)).all()
    bulk.execute_bulk(session, update(Case).where(Case.id.in_(ids)).values(title=""))
    return len(ids)


def forget_reporter(event: AccountDeleted) -> None:
    """The notices of a deleted account stay until their cases have ended, and are nobody's."""
    session, account_id = event.session, event.account_id
    bulk.execute_bulk(session, update(Notice).where(Notice.account_id == account_id).values(account_id=None))
