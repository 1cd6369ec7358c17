"""Automatic quarantine: malware notices of trusted reporters hide a mod until a moderator decides (C-NTC-10).

It is off as shipped. What it decides is a decision as any other, made by the service and marked as automatic; the case
stays open.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub.audit import acting_as_service
from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.db import bulk, now
from modhub.plugins.events import ModPublished, ModsDeleted
from modhub.ui.i18n import Catalogs
from modhub_moderation.cases.decisions import Decider, decide
from modhub_moderation.cases.models import Basis, Case, DecisionKind, Ground, Notice, SubjectKind
from modhub_moderation.cases.rulings import Ruling
from modhub_moderation.cases.services import find_last_decision
from modhub_moderation.notices.models import Publication

NEW_FOR: Final = timedelta(hours=24)
"""How long after its first publication one trusted reporter is enough."""
ENOUGH: Final = 2
"""Trusted reporters who are enough at any time."""
NO_MALWARE: Final = N_("No malware")
FACTS: Final = N_(
    "Trusted reporters have reported this mod as malware. It is hidden until a moderator has looked at it."
)


def may_decide_about(registry: Any, kind: SubjectKind) -> bool:
    """Whether notices about such subjects can lead to a decision at once, which locks the owner's account."""
    return bool(registry.settings["modhub_moderation.quarantine"]) and kind is SubjectKind.MOD


def hide_if_due(registry: Any, session: Session, case: Case) -> None:
    """Hide the mod of the case, if its notices are enough and nothing was decided yet. Owner and case are locked."""
    is_possible = may_decide_about(registry, SubjectKind(case.subject_kind))
    if not is_possible or not _is_due(session, case) or find_last_decision(session, case.id) is not None:
        return
    ruling = Ruling(
        DecisionKind.HIDE,
        Ground.MALWARE,
        "\n".join(_said(registry, FACTS)),
        Basis.TERMS,
        " / ".join(_said(registry, NO_MALWARE)),
    )
    # Not the action of who reports: the audit trail would name them.
    with acting_as_service(session):
        decide(session, registry, case.id, ruling, Decider(automatic=True), after=None)


def _said(registry: Any, sentence: str) -> Iterable[str]:
    """The sentence in all languages of the site: nobody knows that of the owner, and decisions are not translated."""
    languages = find_service(registry, Catalogs).translations.values()
    return dict.fromkeys(str(messages.gettext(sentence)) for messages in languages)


def _is_due(session: Session, case: Case) -> bool:
    trusted = select(Notice.account_id).where(Notice.case_id == case.id, Notice.ground == Ground.MALWARE.value)
    trusted = trusted.where(Notice.trusted, Notice.account_id.is_not(None), Notice.account_id != case.owner_id)
    reporters = len(session.scalars(trusted.distinct().limit(ENOUGH)).all())
    if reporters != 1:
        return reporters >= ENOUGH
    publication = session.get(Publication, case.subject_id)
    is_new = publication is not None and now() - publication.published_at <= NEW_FOR
    return is_new and not _was_decided(session, case)


def _was_decided(session: Session, case: Case) -> bool:
    """Whether a moderator has decided about the mod before: then one reporter does not hide it again."""
    same = Case.subject_kind == case.subject_kind, Case.subject_id == case.subject_id
    return session.scalar(select(Case.id).where(*same, Case.decided_at.is_not(None)).limit(1)) is not None


def record_publication(event: ModPublished) -> None:
    """Remember when a mod was first published."""
    if event.session.get(Publication, event.mod_id) is None:
        event.session.add(Publication(mod_id=event.mod_id, published_at=now()))
        event.session.flush()


def forget_publications(event: ModsDeleted) -> None:
    """Forget when deleted mods were published."""
    for ids in bulk.batches(event.mod_ids):
        event.session.execute(delete(Publication).where(Publication.mod_id.in_(ids)))
