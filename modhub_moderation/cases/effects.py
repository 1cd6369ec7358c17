"""What decisions do: measures that begin with a decision and end when the next one replaces it.

A mod stays hidden, and an account blocked, while any decision in force wants it (C-CAS-5).
"""

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import conflict
from modhub.base.service_registry import find_optional_service, find_service
from modhub.content import text
from modhub.content.limits import REASON
from modhub.db import bulk
from modhub.plugins.moderation import IAccountBlocking, IModeration
from modhub.plugins.services import IMods
from modhub_moderation.cases.models import Case, Decision, DecisionKind, Measure, MeasureKind, SubjectKind

MODS_OF_BATCH: Final = 100


class Effects(NamedTuple):
    """The services that carry decisions out."""

    moderation: Any
    mods: Any
    blocking: Any

    @classmethod
    def of(cls, registry: Any) -> "Effects":
        """Those of an application."""
        services = find_service(registry, IModeration), find_service(registry, IMods)
        return cls(*services, find_optional_service(registry, IAccountBlocking))


def begin_measures(
    session: Session, effects: Effects, case: Case, decision: Decision, *, last: Decision | None, keep_until: Any
) -> None:
    """Do what the decision says, and remember how it is undone. The rows that it concerns are locked.

    What undoes the decision before is done when that one's measures end.
    """
    kind, reason = DecisionKind(decision.kind), text.line(decision.facts, REASON)
    if kind is DecisionKind.HIDE:
        _hide(session, effects, decision, [case.subject_id], reason)
    elif kind is DecisionKind.REMOVE:
        _remove(session, effects, case, decision)
    elif kind is DecisionKind.BLOCK:
        _block(session, effects, case, decision, reason)
    elif kind is DecisionKind.DELETE:
        effects.moderation.delete(session, [case.subject_id], keep_until)
    elif kind is DecisionKind.RELEASE and not _is_any(last, DecisionKind.HIDE, DecisionKind.REMOVE):
        _release_unwanted(session, effects, [case.subject_id])
    elif kind is DecisionKind.UNBLOCK and not _is_any(last, DecisionKind.BLOCK):
        _unblock_unwanted(session, effects, case.owner_id)


def _is_any(decision: Decision | None, *kinds: DecisionKind) -> bool:
    return decision is not None and DecisionKind(decision.kind) in kinds


def _hide(session: Session, effects: Effects, decision: Decision, mod_ids: Iterable[int], reason: str) -> None:
    ids = list(mod_ids)
    for batch in bulk.batches(ids, MODS_OF_BATCH):
        effects.moderation.hide(session, batch, reason)
    session.add_all(Measure(decision_id=decision.id, kind=MeasureKind.HIDDEN.value, target_id=id_) for id_ in ids)
    session.flush()


def _remove(session: Session, effects: Effects, case: Case, decision: Decision) -> None:
    part = effects.moderation.parts.get(decision.part)
    target = case.owner_id if part is not None and part.target == SubjectKind.ACCOUNT.value else case.subject_id
    kept = None if part is None else part.remove(session, target, decision.part_key)
    if kept is None:
        raise conflict("no_such_part", "There is no such part any more.")
    measure = Measure(
        decision_id=decision.id,
        kind=MeasureKind.REMOVED.value,
        target_id=target,
        part=decision.part,
        part_key=decision.part_key,
        kept=json.dumps(kept),
    )
    session.add(measure)
    session.flush()


def _block(session: Session, effects: Effects, case: Case, decision: Decision, reason: str) -> None:
    if effects.blocking is None or effects.blocking.block(session, case.owner_id, reason, hide_mods=False) is None:
        raise conflict("no_account", "This account does not exist any more.")
    blocked = Measure(decision_id=decision.id, kind=MeasureKind.BLOCKED.value, target_id=case.owner_id)
    session.add(blocked)
    session.flush()
    if not decision.hides_mods:
        return
    mods = [mod for mod, _ in effects.mods.get_mods_of_account(session, case.owner_id)]
    # Those that an operator hid by a command stay hidden when this is undone.
    decided = _wanted(session, MeasureKind.HIDDEN, [mod.id for mod in mods])
    _hide(session, effects, decision, [mod.id for mod in mods if not mod.hidden or mod.id in decided], reason)


def list_hidden(session: Session, decision: Decision | None) -> set[int]:
    """The mods that a decision hides."""
    if decision is None:
        return set()
    hidden = Measure.decision_id == decision.id, Measure.kind == MeasureKind.HIDDEN.value
    return set(session.scalars(select(Measure.target_id).where(*hidden)))


def end_measures(session: Session, effects: Effects, decision: Decision) -> bool:
    """Undo what a decision did that has been replaced, except what another decision in force wants too.

    False if a removed part could not be put back: its place has been taken, or its mod is gone.
    """
    measures = session.scalars(select(Measure).where(Measure.decision_id == decision.id).order_by(Measure.id)).all()
    bulk.execute_bulk(session, delete(Measure).where(Measure.decision_id == decision.id))
    session.flush()
    hidden = [measure.target_id for measure in measures if measure.kind == MeasureKind.HIDDEN.value]
    _release_unwanted(session, effects, hidden)
    for measure in measures:
        if measure.kind == MeasureKind.BLOCKED.value:
            _unblock_unwanted(session, effects, measure.target_id)
    removed = [measure for measure in measures if measure.kind == MeasureKind.REMOVED.value]
    # Each of them, also after one that failed.
    return [_restore(session, effects, measure) for measure in removed].count(False) == 0


def _release_unwanted(session: Session, effects: Effects, mod_ids: Iterable[int]) -> None:
    for batch in bulk.batches(mod_ids, MODS_OF_BATCH):
        kept = _wanted(session, MeasureKind.HIDDEN, batch)
        effects.moderation.release(session, [mod_id for mod_id in batch if mod_id not in kept])


def _unblock_unwanted(session: Session, effects: Effects, account_id: int) -> None:
    if effects.blocking is not None and not _wanted(session, MeasureKind.BLOCKED, [account_id]):
        effects.blocking.unblock(session, account_id)


def _restore(session: Session, effects: Effects, measure: Measure) -> bool:
    part, kept = effects.moderation.parts.get(measure.part), json.loads(measure.kept or "{}")
    if part is not None and part.restore(session, measure.target_id, measure.part_key, kept):
        return True
    if part is not None:
        part.discard(session, measure.target_id, measure.part_key, kept)
    record(session, "part could not be restored", "decision", measure.decision_id, part=measure.part)
    return False


def _wanted(session: Session, kind: MeasureKind, target_ids: Iterable[int]) -> set[int]:
    """Those of these mods or accounts that a decision in force hides or blocks."""
    targets = select(Measure.target_id).where(Measure.kind == kind.value, Measure.target_id.in_(list(target_ids)))
    return set(session.scalars(targets))


def forget_measures(session: Session, effects: Effects, target: SubjectKind, target_ids: Iterable[int]) -> None:
    """Forget what was done to mods or accounts that are deleted, with what was kept aside of them."""
    whole = MeasureKind.HIDDEN if target is SubjectKind.MOD else MeasureKind.BLOCKED
    parts = [part for part in effects.moderation.parts.values() if part.target == target.value]
    is_part = (Measure.kind == MeasureKind.REMOVED.value) & Measure.part.in_([part.name for part in parts])
    for batch in bulk.batches(target_ids):
        of_them = ((Measure.kind == whole.value) | is_part) & Measure.target_id.in_(batch)
        for measure in session.scalars(select(Measure).where(of_them, Measure.kept.is_not(None))):
            part, kept = effects.moderation.parts[measure.part], json.loads(measure.kept or "{}")
            part.discard(session, measure.target_id, measure.part_key, kept)
        bulk.execute_bulk(session, delete(Measure).where(of_them))
