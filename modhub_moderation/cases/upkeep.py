"""What happens to cases by itself: decisions end, deleted mods and accounts are forgotten."""

from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk, now
from modhub.plugins.events import AccountDeleted, ModsDeleted
from modhub.plugins.workers import raise_if_stopping
from modhub_moderation.cases.decisions import (
    has_open_appeal,
    lock_subject,
    write_decision,
)
from modhub_moderation.cases.effects import IN_FORCE, Effects, forget_parts
from modhub_moderation.cases.models import Appeal, Case, Decision, DecisionKind, Ground, SubjectKind
from modhub_moderation.cases.rulings import ENDED, UNDOES, Ruling


def forget_parts_of_mods(event: ModsDeleted) -> None:
    """Nothing is kept aside for deleted mods. Cases and decisions stay."""
    forget_parts(event.session, Effects.of(event.registry), SubjectKind.MOD, event.mod_ids)


def forget_person(event: AccountDeleted) -> None:
    """Of a deleted account the decisions stay, without its name, without the words of its appeals and their links."""
    session = event.session
    forget_parts(session, Effects.of(event.registry), SubjectKind.ACCOUNT, [event.account_id])
    cases = select(Case.id).where(Case.owner_id == event.account_id)
    decisions = select(Decision.id).where(Decision.case_id.in_(cases))
    bulk.execute_bulk(session, update(Case).where(Case.owner_id == event.account_id).values(title=""))
    bulk.execute_bulk(session, update(Appeal).where(Appeal.decision_id.in_(decisions)).values(text=""))
    bulk.execute_bulk(session, update(Decision).where(Decision.case_id.in_(cases)).values(appeal_hash=None))


def end_decisions(registry: Any) -> None:
    """The worker that undoes decisions whose time has passed, each in its own transaction."""
    databases = find_service(registry, Databases)
    due = select(Decision.id, Decision.case_id).where(Decision.until <= now(), IN_FORCE)
    with databases.readonly_session() as session:
        ended = session.execute(due.order_by(Decision.until)).all()
    for decision_id, case_id in ended:
        raise_if_stopping(registry)
        with databases.write_session.begin() as session:
            end_decision(session, registry, case_id, decision_id)


def end_decision(session: Session, registry: Any, case_id: int, decision_id: int) -> bool:
    """Undo this decision if it is still in force; False if a moderator was faster, or has to decide an appeal."""
    locked = lock_subject(session, registry, case_id)
    last = locked.last
    if last is None or last.id != decision_id or has_open_appeal(session, decision_id):
        return False
    ruling = Ruling(UNDOES[DecisionKind(last.kind)], Ground(last.ground), ENDED)
    write_decision(session, registry, locked, ruling, None)
    return True
