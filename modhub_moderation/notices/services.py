"""Notices: they join the open case of what they are about. The session comes first.

A notice has the row of its case first, as decisions do, so that a case is not decided while one joins it; then it
shares those of the account that reports and of what is reported. The audit trail has no entry of it: that would say for
years who reported, and the notice is its own record.
"""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.errors import OwnershipLost, not_found
from modhub.base.service_registry import find_service
from modhub.db import now
from modhub.interfaces import IAccounts, IMods
from modhub_moderation.cases.models import Notice, Origin, SubjectKind, TrustedReporter
from modhub_moderation.cases.services import CaseSubject, open_case
from modhub_moderation.notices import letters, quarantine
from modhub_moderation.notices.content import CheckedReport
from modhub_moderation.notices.grounds import weigh
from modhub_moderation.notices.receipts import new_receipt
from modhub_moderation.notices.subjects import Subject


def create_notice(registry: Any, session: Session, subject: Subject, report: CheckedReport, language: str) -> str:
    """Store a report, confirm it by email, and return its receipt (C-NTC-1).

    404 if the subject is gone meanwhile; :class:`OwnershipLost` if the account is.
    """
    reported = CaseSubject(subject.kind, subject.id, subject.owner_id, subject.title)
    case = open_case(session, reported, Origin.NOTICE)
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
    letters.confirm_notice(registry, session, case, notice, receipt)
    quarantine.hide_if_due(registry, session, case)
    return receipt


def _lock(registry: Any, session: Session, subject: Subject, reporter_id: int | None) -> None:
    """Keep everybody and everything concerned until the transaction ends; 404 for what is not public any more."""
    accounts, mods = find_service(registry, IAccounts), find_service(registry, IMods)
    # Accounts before mods, by their numbers, as everywhere. A quarantine needs that of the owner, too.
    account_numbers = {subject.owner_id} | ({reporter_id} if reporter_id is not None else set())
    there = {number for number in sorted(account_numbers) if accounts.lock(session, number)}
    if reporter_id is not None and reporter_id not in there:
        raise OwnershipLost
    if subject.kind is SubjectKind.ACCOUNT:
        if subject.id not in there:
            raise not_found()
    elif not mods.lock(session, subject.id) or not mods.get_mods(session, [subject.id])[subject.id].published:
        raise not_found()
