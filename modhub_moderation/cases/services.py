"""Cases: opening, finding and locking them. Functions over a session.

Locks are taken in this order: the account that a case concerns, the case, mods by their ids, the moderator. Whatever
changes one of these for a case locks the account exclusively, so of two decisions about one owner the second waits.
"""

from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_optional_service
from modhub.content import text
from modhub.content.limits import TITLE
from modhub.db import now
from modhub.plugins.services import IAccounts
from modhub_moderation.cases.models import Case, Decision, Origin, SubjectKind, open_key


class CaseSubject(NamedTuple):
    """What a case is about: a mod or an account, whom it concerns, and the title or the name."""

    kind: SubjectKind
    id: int
    owner_id: int
    title: str


def open_case(session: Session, subject: CaseSubject, origin: Origin) -> Case:
    """The open case about the subject, its row locked; opened if there is none. Of two at once, one opens it (C-CAS-2).

    Who wants the account too has locked it before.

    The audit trail has no entry of it: for years that would say who reported.
    """
    key = open_key(subject.kind, subject.id)
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    opened = dialect.insert(Case).values(
        subject_kind=subject.kind.value,
        subject_id=subject.id,
        owner_id=subject.owner_id,
        title=text.line(subject.title, TITLE),
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


def lock_case_owner(session: Session, registry: Any, owner_id: int) -> bool:
    """Lock the account that a case concerns, before the case; False if it does not exist any more."""
    accounts = find_optional_service(registry, IAccounts)
    return accounts is not None and accounts.lock(session, owner_id, exclusively=True)


def lock_case(session: Session, case_id: int) -> Case | None:
    """The case, locked until the transaction ends and read afterwards."""
    statement = select(Case).where(Case.id == case_id).with_for_update()
    return session.scalars(statement.execution_options(populate_existing=True)).one_or_none()


def find_last_decision(session: Session, case_id: int) -> Decision | None:
    """The decision that is in force in a case."""
    newest = select(Decision).where(Decision.case_id == case_id).order_by(Decision.id.desc()).limit(1)
    return session.scalars(newest).one_or_none()
