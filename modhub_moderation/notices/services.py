"""Notices: they join the open case of what they are about. The session comes first.

A notice shares the rows of the accounts first, then has that of its case, as decisions do, so that a case is not
decided while one joins it; then it shares that of the mod. The audit trail has no entry of it: that would say for years
who reported, and the notice is its own record.
"""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.errors import OwnershipLost, not_found
from modhub.base.service_registry import find_service
from modhub.db import now
from modhub.plugins.services import IAccounts, IMods
from modhub_moderation.cases.models import Notice, Origin, SubjectKind
from modhub_moderation.cases.services import CaseSubject, open_case
from modhub_moderation.notices import letters
from modhub_moderation.notices.content import CheckedReport
from modhub_moderation.notices.grounds import weigh
from modhub_moderation.notices.receipts import new_receipt
from modhub_moderation.notices.subjects import Subject


def create_notice(registry: Any, session: Session, subject: Subject, report: CheckedReport, language: str) -> str:
    """Store a report, confirm it by email, and return its receipt (C-NTC-1).

    404 if the subject is gone meanwhile; :class:`OwnershipLost` if the account is.
    """
    _lock_accounts(registry, session, subject, report.reporter.account_id)
    reported = CaseSubject(subject.kind, subject.id, subject.owner_id, subject.title)
    case = open_case(session, reported, Origin.NOTICE)
    _lock_mod(registry, session, subject)
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
        created_at=now(),
    )
    session.add(notice)
    session.flush()
    case.weight = weigh(session.scalars(select(Notice.ground).where(Notice.case_id == case.id)))
    session.flush()
    letters.confirm_notice(registry, session, case, notice, receipt)
    return receipt


def _lock_accounts(registry: Any, session: Session, subject: Subject, reporter_id: int | None) -> None:
    """Keep everybody concerned until the transaction ends, by their numbers; 404 for an author who is gone."""
    accounts = find_service(registry, IAccounts)
    account_numbers = {subject.owner_id} | ({reporter_id} if reporter_id is not None else set())
    there = {number for number in sorted(account_numbers) if accounts.lock(session, number)}
    if reporter_id is not None and reporter_id not in there:
        raise OwnershipLost
    if subject.kind is SubjectKind.ACCOUNT and subject.id not in there:
        raise not_found()


def _lock_mod(registry: Any, session: Session, subject: Subject) -> None:
    """Keep the mod until the transaction ends; 404 for one that is not public any more."""
    if subject.kind is not SubjectKind.MOD:
        return
    mods = find_service(registry, IMods)
    if not mods.lock(session, subject.id) or not mods.get_mods(session, [subject.id])[subject.id].published:
        raise not_found()
