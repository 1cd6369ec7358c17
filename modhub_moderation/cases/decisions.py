"""Deciding: one transaction writes decision, effect, emails and audit entry (C-CAS-3)."""

import hashlib
import secrets
from datetime import timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError, conflict, not_found
from modhub.db import now
from modhub_moderation.cases.advising import advise, check_advised, withdraw_advised
from modhub_moderation.cases.effects import Effects, carry_out, undo
from modhub_moderation.cases.models import Appeal, Case, Decision, SubjectKind
from modhub_moderation.cases.rulings import (
    RESTRICTIONS,
    Ruling,
    SubjectState,
    clean_ruling,
    decided_already,
)
from modhub_moderation.cases.services import find_last_decision, lock_case, lock_case_owner
from modhub_moderation.cases.statements import Written, tell_owner, tell_reporters
from modhub_moderation.moderators import require_moderator
from modhub_moderation.settings import EVIDENCE_DAYS

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
    exists = has_account = owner_id is not None and lock_case_owner(session, registry, owner_id)
    case = lock_case(session, case_id)
    if case is None:
        raise not_found()
    effects, last, hidden = Effects.of(registry), find_last_decision(session, case.id), False
    is_of_mod = case.subject_kind == SubjectKind.MOD.value
    locked = effects.moderation.lock(session, effects.list_mods(session, case, last, ruling))
    if is_of_mod:
        exists = case.subject_id in locked
        mod = effects.mods.get_mods(session, [case.subject_id]).get(case.subject_id) if exists else None
        hidden = mod is not None and mod.hidden
    blocked = bool(has_account and effects.blocking and effects.blocking.get_blocked(session, [case.owner_id]))
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
    secret = secrets.token_urlsafe(32) if ruling.kind in RESTRICTIONS else None
    decision = Decision(
        case_id=case.id,
        replaces_id=None if last is None else last.id,
        kind=ruling.kind.value,
        part=ruling.part,
        part_key=ruling.part_key,
        hides_mods=ruling.hides_mods,
        ground=ruling.ground.value,
        basis=None if ruling.basis is None else ruling.basis.value,
        clause=ruling.clause,
        facts=ruling.facts,
        origin=case.origin,
        automatic=moderator_id is None,
        moderator_id=moderator_id,
        until=ruling.until,
        decided_at=moment,
        appeal_hash=None if secret is None else hash_secret(secret),
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
        withdraw_advised(session, case)
    case.open_key, case.decided_at, case.ended_at = None, case.decided_at or moment, moment
    session.flush()
    _record_decision(session, decision)
    written = Written(case, decision, last, secret, is_whole, is_appeal)
    tell_owner(session, registry, written)
    tell_reporters(session, registry, written)
    return written


def hash_secret(secret: str) -> str:
    """What is stored of the secret in the link to appeal (256 random bits)."""
    return hashlib.sha256(secret.encode()).hexdigest()


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
