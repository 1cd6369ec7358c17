"""Notices: they join the open case of what they are about. The session comes first.

A notice has the row of its case first, as decisions do, so that a case is not decided while one joins it; then it
shares those of the account that reports and of what is reported. The audit trail has no entry of it: that would say for
years who reported, and the notice is its own record.
"""

from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from modhub.base.errors import OwnershipLost, not_found
from modhub.base.service_registry import find_service
from modhub.db import now
from modhub.interfaces import IAccounts, IMods
from modhub_moderation.cases.models import Case, Notice, Origin, SubjectKind, TrustedReporter, open_key
from modhub_moderation.notices import letters, quarantine
from modhub_moderation.notices.content import Report
from modhub_moderation.notices.grounds import weigh
from modhub_moderation.notices.receipts import new_receipt
from modhub_moderation.notices.subjects import Subject


def create_notice(registry: Any, session: Session, subject: Subject, report: Report, language: str) -> str:
    """Store a report, confirm it by email, and return its receipt (C-NTC-1).

    404 if the subject is gone meanwhile; :class:`OwnershipLost` if the account is.
    """
    case = open_case(session, subject, Origin.NOTICE)
    _lock(registry, session, subject, report.reporter.account_id)
    receipt, receipt_hash = new_receipt()
    reporter = report.reporter
    notice = Notice(
        case_id=case.id,
        receipt_hash=receipt_hash,
        ground=report.ground.value,
        text=report.text,
        asset_id=report.asset_id,
        account_id=reporter.account_id,
        name=reporter.name,
        email=reporter.email,
        locale=language,
        trusted=reporter.account_id is not None and session.get(TrustedReporter, reporter.account_id) is not None,
        created_at=now(),
    )
    session.add(notice)
    session.flush()
    case.weight = weigh(session.scalars(select(Notice.ground).where(Notice.case_id == case.id)))
    session.flush()
    letters.queue_confirmation(registry, session, case, notice, receipt)
    quarantine.hide_if_due(registry, session, case)
    return receipt


def _lock(registry: Any, session: Session, subject: Subject, reporter_id: int | None) -> None:
    """Keep everybody and everything concerned until the transaction ends; 404 for what is not public any more."""
    accounts, mods = find_service(registry, IAccounts), find_service(registry, IMods)
    if reporter_id is not None and not accounts.lock(session, reporter_id):
        raise OwnershipLost
    if subject.kind is SubjectKind.ACCOUNT:
        if not accounts.lock(session, subject.id):
            raise not_found()
    elif not mods.lock(session, subject.id) or not mods.get_mods(session, [subject.id])[subject.id].published:
        raise not_found()


def open_case(session: Session, subject: Subject, origin: Origin) -> Case:
    """The open case about the subject, its row locked; opened if there is none. Of two at once, one opens it."""
    key = open_key(subject.kind, subject.id)
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    opened = dialect.insert(Case).values(
        subject_kind=subject.kind.value,
        subject_id=subject.id,
        owner_id=subject.owner_id,
        title=subject.title,
        origin=origin.value,
        weight=0,
        open_key=key,
        opened_at=now(),
    )
    locked = select(Case).where(Case.open_key == key).with_for_update()
    while True:
        # It may have been decided between the two statements.
        session.execute(opened.on_conflict_do_nothing(index_elements=["open_key"]))
        case = session.scalars(locked.execution_options(populate_existing=True)).one_or_none()
        if case is not None:
            return case
