"""What decisions do, and how it is undone when the next one replaces them.

A mod stays hidden, and an account blocked, while any decision in force wants it (C-CAS-5): the decisions themselves are
asked. A mod that decisions hid is known by the moment: what was hidden at another one is an operator's.
"""

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy import and_, exists, or_, select
from sqlalchemy.orm import Session, aliased

from modhub.audit import record
from modhub.base.errors import conflict
from modhub.base.service_registry import find_service
from modhub.content import text
from modhub.content.limits import REASON
from modhub.db import bulk
from modhub.plugins.declarations import RemovablePart
from modhub.plugins.moderation import IModeration
from modhub.plugins.services import IMods
from modhub_auth.blocking import block_accounts, unblock_accounts
from modhub_auth.services import lock_account, lock_accounts
from modhub_moderation.cases.models import Case, Decision, DecisionKind, SubjectKind

MODS_OF_BATCH: Final = 100
_LATER: Final = aliased(Decision)
IN_FORCE: Final = ~exists().where(_LATER.replaces_id == Decision.id)
"""No other decision has replaced it."""
BLOCKS: Final = Decision.kind == DecisionKind.BLOCK


class Effects(NamedTuple):
    """The services that carry decisions out."""

    moderation: Any
    mods: Any

    @classmethod
    def of(cls, registry: Any) -> "Effects":
        """Those of an application."""
        return cls(find_service(registry, IModeration), find_service(registry, IMods))

    def list_mods(self, session: Session, case: Case, *decisions: Any) -> set[int]:
        """The mods that these decisions or rulings about a case hide or show; None is none."""
        mod_ids = {case.subject_id} if case.is_of_mod else set[int]()
        if any(decision is not None and decision.hides_mods for decision in decisions):
            mod_ids |= {mod.id for mod, _ in self.mods.get_mods_of_account(session, case.owner_id)}
        return mod_ids


def carry_out(
    session: Session, effects: Effects, case: Case, decision: Decision, *, last: Decision | None, keep_until: Any
) -> None:
    """Do what the decision says. The rows that it concerns are locked. :func:`undo` is for the one before."""
    kind, reason = DecisionKind(decision.kind), text.line(decision.facts, REASON)
    if kind is DecisionKind.HIDE:
        effects.moderation.hide(session, [case.subject_id], reason, decision.decided_at)
    elif kind is DecisionKind.REMOVE:
        _remove(session, effects, case, decision)
    elif kind is DecisionKind.BLOCK:
        _block(session, effects, case, decision, reason)
    elif kind is DecisionKind.DELETE:
        effects.moderation.delete(session, [case.subject_id], keep_until)
        forget_parts(session, effects, SubjectKind.MOD, [case.subject_id])
    elif kind is DecisionKind.RELEASE and not _is_any(last, DecisionKind.HIDE, DecisionKind.REMOVE):
        _release_unwanted(session, effects, case, [case.subject_id], operators_too=True)
    elif kind is DecisionKind.UNBLOCK and not _is_any(last, DecisionKind.BLOCK):
        _unblock_unwanted(session, case.owner_id)


def _is_any(decision: Decision | None, *kinds: DecisionKind) -> bool:
    return decision is not None and decision.kind in kinds


def _remove(session: Session, effects: Effects, case: Case, decision: Decision) -> None:
    part = effects.moderation.parts.get(decision.part)
    kept = None if part is None else part.remove(session, _target_of(case, part), decision.part_key)
    if kept is None:
        raise conflict("no_such_part", "There is no such part any more.")
    decision.kept = json.dumps(kept)


def _target_of(case: Case, part: RemovablePart) -> int:
    return case.owner_id if part.target == SubjectKind.ACCOUNT else case.subject_id


def _block(session: Session, effects: Effects, case: Case, decision: Decision, reason: str) -> None:
    account = lock_account(session, case.owner_id)
    if account is None:
        raise conflict("no_account", "This account does not exist any more.")
    block_accounts(session, [account], reason)
    if decision.hides_mods:
        mods = [mod.id for mod, _ in effects.mods.get_mods_of_account(session, case.owner_id) if not mod.hidden]
        for batch in bulk.batches(mods, MODS_OF_BATCH):
            effects.moderation.hide(session, batch, reason, decision.decided_at)


def undo(session: Session, effects: Effects, case: Case, decision: Decision) -> bool:
    """Undo what a decision did that has been replaced, except what another decision in force wants too.

    False if a removed part could not be put back: its place has been taken, or its mod is gone.
    """
    if _is_any(decision, DecisionKind.HIDE) or decision.hides_mods:
        _release_unwanted(session, effects, case, effects.list_mods(session, case, decision))
    if _is_any(decision, DecisionKind.BLOCK):
        _unblock_unwanted(session, case.owner_id)
    return decision.kept is None or _restore(session, effects, case, decision)


def _release_unwanted(
    session: Session, effects: Effects, case: Case, mod_ids: Iterable[int], *, operators_too: bool = False
) -> None:
    """Show those of these mods that no decision in force hides, and that a decision hid, or anybody."""
    for batch in bulk.batches(mod_ids, MODS_OF_BATCH):
        mods = effects.mods.get_mods(session, batch)
        owners = {case.owner_id, *(mod.owner for mod in mods.values())}
        hid = or_(
            and_(
                Decision.kind == DecisionKind.HIDE,
                Case.subject_kind == SubjectKind.MOD,
                Case.subject_id.in_(batch),
            ),
            and_(Decision.hides_mods, Case.owner_id.in_(owners)),
        )
        columns = Decision.hides_mods, Case.subject_id, Case.owner_id, Decision.decided_at, IN_FORCE.label("in_force")
        rows = session.execute(select(*columns).join(Case, Case.id == Decision.case_id).where(hid)).all()
        wanted = {row.subject_id for row in rows if row.in_force and not row.hides_mods}
        kept_of = {row.owner_id for row in rows if row.in_force and row.hides_mods}
        unwanted = [mod.id for mod in mods.values() if mod.id not in wanted and mod.owner not in kept_of]
        effects.moderation.release(session, unwanted, None if operators_too else {row.decided_at for row in rows})


def _unblock_unwanted(session: Session, account_id: int) -> None:
    wanted = select(Decision.id).join(Case, Case.id == Decision.case_id)
    wanted = wanted.where(Case.owner_id == account_id, BLOCKS, IN_FORCE).limit(1)
    if session.scalar(wanted) is None:
        unblock_accounts(session, lock_accounts(session, [account_id]).values())


def _restore(session: Session, effects: Effects, case: Case, decision: Decision) -> bool:
    part, kept = effects.moderation.parts.get(decision.part), json.loads(decision.kept or "{}")
    decision.kept = None
    if part is not None:
        target = _target_of(case, part)
        if part.restore(session, target, decision.part_key, kept):
            return True
        part.discard(session, target, decision.part_key, kept)
    record(session, "part could not be restored", "decision", decision.id, part=decision.part)
    return False


def forget_parts(session: Session, effects: Effects, target: SubjectKind, target_ids: Iterable[int]) -> None:
    """Forget what was kept aside of mods or accounts that are deleted."""
    parts = {part.name: part for part in effects.moderation.parts.values() if part.target == target}
    of_target = Case.owner_id if target is SubjectKind.ACCOUNT else Case.subject_id
    kept = select(Decision, of_target).join(Case, Case.id == Decision.case_id)
    kept = kept.where(Decision.kept.is_not(None), Decision.part.in_(parts))
    for batch in bulk.batches(target_ids):
        for decision, target_id in session.execute(kept.where(of_target.in_(batch))).all():
            parts[decision.part].discard(session, target_id, decision.part_key, json.loads(decision.kept or "{}"))
            decision.kept = None
    session.flush()
