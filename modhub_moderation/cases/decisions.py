"""Cases, and deciding in them: one transaction writes decision, effect, emails and audit entry (C-CAS-3)."""

from datetime import timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError, conflict, invalid, not_found
from modhub.base.service_registry import find_service
from modhub.content import text
from modhub.content.limits import TITLE
from modhub.db import Databases, bulk, now
from modhub.plugins.events import AccountDeleted, ModsDeleted
from modhub.plugins.moderation import IModeration
from modhub.plugins.services import IMods
from modhub.plugins.workers import raise_if_stopping
from modhub_auth.blocking import find_blocked
from modhub_auth.services import lock_account
from modhub_auth.tokens import new_refresh_token, token_digest
from modhub_moderation.advisories.models import AdvisoryKind
from modhub_moderation.advisories.services import (
    AdvisableFile,
    create_advisories,
    list_advisable,
    withdraw_advisories_of,
)
from modhub_moderation.cases.effects import IN_FORCE, Effects, carry_out, forget_parts, undo
from modhub_moderation.cases.models import Appeal, Case, Decision, DecisionKind, Ground, Origin, SubjectKind, open_key
from modhub_moderation.cases.rulings import (
    ENDED,
    RESTRICTIONS,
    UNDOES,
    Ruling,
    SubjectState,
    clean_ruling,
    decided_already,
)
from modhub_moderation.cases.statements import Written, tell_owner, tell_reporters
from modhub_moderation.moderators import require_moderator
from modhub_moderation.settings import EVIDENCE_DAYS


class Subject(NamedTuple):
    """What a case is about: a mod or an account, whom it concerns, and the title or the name."""

    kind: SubjectKind
    id: int
    owner_id: int
    title: str
    guid: str = ""
    """Of a mod that everybody can see."""

    @property
    def address(self) -> str:
        """The path of its page."""
        return f"/Modhub/{self.id}" if self.kind is SubjectKind.MOD else f"/Modhub/by/{self.id}"


def open_case(session: Session, subject: Subject, origin: Origin) -> Case:
    """The open case about the subject, its row locked; opened if there is none. Of two at once, one opens it (C-CAS-2).

    Who wants the account too has locked it before.

    The audit trail has no entry of it: for years that would say who reported.
    """
    key = open_key(subject.kind, subject.id)
    opened = bulk.upsert(session, Case).values(
        subject_kind=subject.kind,
        subject_id=subject.id,
        owner_id=subject.owner_id,
        title=text.line(subject.title, TITLE),
        origin=origin,
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


def lock_case(session: Session, case_id: int) -> Case | None:
    """The case, locked until the transaction ends and read afterwards."""
    statement = select(Case).where(Case.id == case_id).with_for_update()
    return session.scalars(statement.execution_options(populate_existing=True)).one_or_none()


def find_last_decision(session: Session, case_id: int) -> Decision | None:
    """The decision that is in force in a case."""
    newest = select(Decision).where(Decision.case_id == case_id).order_by(Decision.id.desc()).limit(1)
    return session.scalars(newest).one_or_none()


KINDS_BY_GROUND: Final = {Ground.MALWARE: AdvisoryKind.MALWARE, Ground.ILLEGAL: AdvisoryKind.ILLEGAL}
"""What an advisory says of a file, by the ground of the decision; `other` for all other grounds."""


def list_files(session: Session, registry: Any, case: Case) -> list[AdvisableFile]:
    """The files that the mod of the case has and had, with where else they are."""
    if not case.is_of_mod:
        return []
    mods, files = find_service(registry, IMods), find_service(registry, IModeration).files
    return list_advisable(session, mods, files, case.subject_id)


def check_advised(session: Session, registry: Any, case: Case, ruling: Ruling) -> None:
    """400 if a digest is ticked that no file of the mod has, or what is decided restricts nothing."""
    if not ruling.advised:
        return
    if ruling.kind not in RESTRICTIONS:
        raise invalid("Advisories belong to a decision that restricts something.")
    files = list_files(session, registry, case)
    if not set(ruling.advised) <= {row.file.sha256 for row in files}:
        raise invalid("Tick files of this mod only.")


def advise(session: Session, decision: Decision, ruling: Ruling) -> None:
    """Make the advisories that were ticked."""
    if ruling.advised:
        kind = KINDS_BY_GROUND.get(ruling.ground, AdvisoryKind.OTHER)
        words = {"reason": ruling.advisory_reason, "advice": ruling.advice}
        create_advisories(session, ruling.advised, kind=kind, decision_id=decision.id, **words)


APPEAL_DAYS: Final = 183
"""In which a decision can be appealed: the law wants six months."""
DECIDED: Final = "case decided"
"""The action in the audit trail."""


def own_case() -> ApiError:
    """403: nobody decides about their own mods or account (C-CAS-1)."""
    return ApiError(403, "own_case", "Nobody decides about their own mods or account.")


class LockedCase(NamedTuple):
    """A case, what it is about and what was decided last in it. Account, case and mods are locked."""

    case: Case
    state: SubjectState
    last: Decision | None


def lock_subject(session: Session, registry: Any, case_id: int, ruling: Ruling | None = None) -> LockedCase:
    """Lock the account, the case and all mods that it concerns, in this order. 404 if there is no such case.

    ``ruling`` is what will be decided, where that is known by now: it may concern all mods of the account.
    """
    owner_id = session.scalar(select(Case.owner_id).where(Case.id == case_id))
    exists = has_account = owner_id is not None and lock_account(session, owner_id) is not None
    case = lock_case(session, case_id)
    if case is None:
        raise not_found()
    effects, last, hidden = Effects.of(registry), find_last_decision(session, case.id), False
    locked = effects.moderation.lock(session, effects.list_mods(session, case, last, ruling))
    if case.is_of_mod:
        exists = case.subject_id in locked
        mod = effects.mods.get_mods(session, [case.subject_id]).get(case.subject_id) if exists else None
        hidden = mod is not None and mod.hidden
    blocked = has_account and bool(find_blocked(session, [case.owner_id]))
    return LockedCase(case, SubjectState(exists, hidden, blocked), last)


def decide(
    session: Session, registry: Any, case_id: int, ruling: Ruling, moderator_id: int, *, after: int | None
) -> Decision:
    """Decide a case, or replace what was decided in it.

    ``after`` is the decision that the moderator saw as the last one, None for none: with another one there now it is
    409 ``decided_already``, so of two moderators one decides.
    """
    locked = lock_subject(session, registry, case_id, ruling)
    require_moderator(session, registry, moderator_id)
    if moderator_id == locked.case.owner_id:
        raise own_case()
    last = locked.last
    if (None if last is None else last.id) != after:
        raise decided_already()
    if last is not None and has_open_appeal(session, last.id):
        raise conflict("appealed", "The decision before was appealed: decide the appeal.")
    return write_decision(session, registry, locked, ruling, moderator_id).decision


def write_decision(
    session: Session,
    registry: Any,
    locked: LockedCase,
    ruling: Ruling,
    moderator_id: int | None,
    *,
    is_appeal: bool = False,
) -> Written:
    """Write what is decided and let it take effect; whom it concerns is told.

    The moderator is allowed to decide; None is the service itself, which ends what has an end.
    """
    (case, state, last), effects, moment = locked, Effects.of(registry), now()
    ruling = clean_ruling(ruling, case, last, state, effects.moderation.parts)
    check_advised(session, registry, case, ruling)
    secret = new_refresh_token() if ruling.kind in RESTRICTIONS else None
    decision = Decision(
        case_id=case.id,
        replaces_id=None if last is None else last.id,
        kind=ruling.kind,
        part=ruling.part,
        part_key=ruling.part_key,
        hides_mods=ruling.hides_mods,
        ground=ruling.ground,
        basis=ruling.basis,
        clause=ruling.clause,
        facts=ruling.facts,
        origin=case.origin,
        automatic=moderator_id is None,
        moderator_id=moderator_id,
        until=ruling.until,
        decided_at=moment,
        appeal_hash=None if secret is None else token_digest(secret),
        appeal_until=None if secret is None else moment + timedelta(days=APPEAL_DAYS),
    )
    session.add(decision)
    session.flush()
    keep_days = registry.settings[EVIDENCE_DAYS]
    keep_until = moment + timedelta(days=keep_days) if keep_days else None
    carry_out(session, effects, case, decision, last=last, keep_until=keep_until)
    is_whole = last is None or undo(session, effects, case, last)
    advise(session, decision, ruling)
    if ruling.kind not in RESTRICTIONS and moderator_id is not None:
        # What the decisions of the case advised was undone.
        withdraw_advisories_of(session, session.scalars(select(Decision.id).where(Decision.case_id == case.id)).all())
    case.open_key, case.decided_at, case.ended_at = None, case.decided_at or moment, moment
    session.flush()
    _record_decision(session, decision)
    written = Written(case, decision, last, secret, is_whole, is_appeal)
    tell_owner(session, registry, written)
    tell_reporters(session, registry, written)
    return written


def has_open_appeal(session: Session, decision_id: int) -> bool:
    """Whether the decision was appealed and the appeal is not decided."""
    is_open = Appeal.decision_id == decision_id, Appeal.decided_at.is_(None)
    return session.scalar(select(Appeal.id).where(*is_open)) is not None


def _record_decision(session: Session, decision: Decision) -> None:
    record(
        session,
        DECIDED,
        "case",
        decision.case_id,
        decision=decision.id,
        replaces=decision.replaces_id,
        kind=decision.kind,
        ground=decision.ground,
        basis=decision.basis,
        origin=decision.origin,
        automatic="yes" if decision.automatic else "no",
    )


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
