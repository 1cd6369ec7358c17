"""What moderation has of an account, for the person whose account it is (C-DAT-2)."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub_moderation.cases.models import Appeal, Case, Decision, DecisionKind, Notice
from modhub_moderation.quotas.models import CountedUpload

_NOTICE = Notice.ground, Notice.text, Notice.asset_id, Notice.locale, Notice.created_at
_SUBJECT = Case.subject_kind, Case.subject_id
_DECISION = (
    Decision.id,
    Decision.kind,
    Decision.part,
    Decision.part_key,
    Decision.ground,
    Decision.basis,
    Decision.clause,
    Decision.facts,
    Decision.automatic,
    Decision.until,
    Decision.decided_at,
)
_APPEAL = Appeal.decision_id, Appeal.text, Appeal.created_at, Appeal.decided_at, Appeal.outcome, Appeal.reasons


def collect_moderation(session: Session, account_id: int) -> AccountData | None:
    """The notices that the account sent, the decisions about it and its mods, and its appeals.

    Neither who reported it nor what they wrote, and not who decided.
    """
    notices = select(*_NOTICE, *_SUBJECT).join(Case, Case.id == Notice.case_id).where(Notice.account_id == account_id)
    decisions = select(*_DECISION, *_SUBJECT).join(Case, Case.id == Decision.case_id)
    appeals = select(*_APPEAL).join(Decision, Decision.id == Appeal.decision_id)
    appeals = appeals.join(Case, Case.id == Decision.case_id).where(Case.owner_id == account_id)
    # That somebody reported it and nothing was done is told to nobody but the reporter.
    about_owner = Case.owner_id == account_id, Decision.kind != DecisionKind.DISMISS
    uploads = select(CountedUpload.at).where(CountedUpload.account_id == account_id)
    document = {
        "notices": row_documents(session, notices.order_by(Notice.id)),
        "decisions": row_documents(session, decisions.where(*about_owner).order_by(Decision.id)),
        "appeals": row_documents(session, appeals.order_by(Appeal.id)),
        "countedUploads": row_documents(session, uploads.order_by(CountedUpload.id)),
    }
    return AccountData(document) if any(document.values()) else None
