"""What a moderator writes in a decision, and the rules for it."""

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from modhub.base.errors import ApiError, conflict, invalid
from modhub.content import text
from modhub.content.text import N_
from modhub.db import now
from modhub_moderation.cases.models import (
    CASE_TEXT,
    CLAUSE,
    PART_KEY,
    Basis,
    Case,
    Decision,
    DecisionKind,
    Ground,
    SubjectKind,
)

RESTRICTIONS: Final = (DecisionKind.HIDE, DecisionKind.REMOVE, DecisionKind.BLOCK, DecisionKind.DELETE)
"""What takes something from its owner: it rests on law or terms, gets a statement of reasons, and can be appealed."""
ENDING: Final = (DecisionKind.HIDE, DecisionKind.BLOCK)
"""What may have an end."""
OF_MODS: Final = (DecisionKind.HIDE, DecisionKind.DELETE)
"""What is only decided in the case of a mod."""
LONGEST: Final = timedelta(days=3660)
"""The furthest end of a decision: ten years."""


class Ruling(NamedTuple):
    """A decision as it was written, before it takes effect."""

    kind: DecisionKind
    ground: Ground
    facts: str
    basis: Basis | None = None
    clause: str = ""
    part: str = ""
    part_key: str = ""
    hides_mods: bool = False
    until: datetime | None = None
    advised: tuple[str, ...] = ()
    """The SHA-256 of the files that an advisory is made for."""
    advisory_reason: str = ""
    advice: str = ""


def decided_already() -> ApiError:
    """409: somebody else was faster, or the page is old (C-CAS-4)."""
    return conflict(
        "decided_already", "Something was decided in this case since you opened the page. Look at it first."
    )


def read_choice(choices: Any, value: str, message: str) -> Any:
    """The member of an enumeration with this value; 400 with ``message`` for any other."""
    try:
        return choices(value)
    except ValueError:
        raise invalid(message) from None


class SubjectState(NamedTuple):
    """What is there to decide about."""

    exists: bool
    """Whether the mod, or the account, still exists."""
    hidden: bool = False
    """Whether the mod is hidden, by a decision or by an operator's command."""
    blocked: bool = False
    """Whether the account is blocked."""


def clean_ruling(ruling: Ruling, case: Case, last: Decision | None, state: SubjectState, parts: Any) -> Ruling:
    """The ruling with its texts cleaned; 400 or 409 for one that says too little or does not fit the case (C-CAS-3)."""
    ruling = _clean_texts(ruling)
    restricts = ruling.kind in RESTRICTIONS
    if restricts and (ruling.basis is None or not ruling.clause):
        raise invalid("Choose the law or our terms as the basis, and name the clause.")
    if ruling.kind in OF_MODS and not case.is_of_mod:
        raise invalid("This case is about an account: its mods are hidden by blocking it.")
    if ruling.kind is DecisionKind.REMOVE:
        _check_part(ruling, case, parts)
    else:
        ruling = ruling._replace(part="", part_key="")
    if ruling.until is not None:
        _check_until(ruling)
    _check_order(ruling.kind, last, state)
    if not restricts:
        ruling = ruling._replace(basis=None, clause="")
    return ruling._replace(hides_mods=ruling.hides_mods and ruling.kind is DecisionKind.BLOCK)


def _clean_texts(ruling: Ruling) -> Ruling:
    facts, clause = text.block(ruling.facts, CASE_TEXT + 1), text.line(ruling.clause, CLAUSE + 1)
    if not facts:
        raise invalid("Say what the facts are. The person concerned and those who reported read it.")
    if len(facts) > CASE_TEXT or len(clause) > CLAUSE:
        raise invalid(
            "The facts have at most %(facts)s characters, the clause %(clause)s.", facts=CASE_TEXT, clause=CLAUSE
        )
    return ruling._replace(facts=facts, clause=clause)


def _check_part(ruling: Ruling, case: Case, parts: Any) -> None:
    part = parts.get(ruling.part)
    if part is None or (part.target == SubjectKind.MOD and not case.is_of_mod):
        raise invalid("Choose what is removed.")
    if len(ruling.part_key) > PART_KEY:
        raise conflict("no_such_part", "There is no such part any more.")


def _check_until(ruling: Ruling) -> None:
    assert ruling.until is not None
    if ruling.kind not in ENDING:
        raise invalid("Only hiding and blocking can end by themselves.")
    if not now() < ruling.until <= now() + LONGEST:
        raise invalid("The end must be in the future, and within ten years.")


def list_kinds(case: Case, last: Decision | None, state: SubjectState) -> list[DecisionKind]:
    """What can be decided next in the case, for the form; `clean_ruling` checks it again."""
    return [
        kind for kind in DecisionKind if (case.is_of_mod or kind not in OF_MODS) and _is_in_order(kind, last, state)
    ]


def _is_in_order(kind: DecisionKind, last: Decision | None, state: SubjectState) -> bool:
    try:
        _check_order(kind, last, state)
    except ApiError:
        return False
    return True


def _check_order(kind: DecisionKind, last: Decision | None, state: SubjectState) -> None:
    """What may follow what: nothing but that it was wrong follows a deletion, and only what was done is undone."""
    done = None if last is None else DecisionKind(last.kind)
    if done is DecisionKind.DELETE and kind is not DecisionKind.DISMISS:
        raise conflict("deleted", "The mod was deleted, which cannot be undone.")
    if not state.exists and kind in {DecisionKind.HIDE, DecisionKind.REMOVE, DecisionKind.DELETE}:
        raise conflict("gone", "It does not exist any more. The case can only be dismissed, or the account blocked.")
    if kind is DecisionKind.DISMISS and done in UNDOES and done is not DecisionKind.DELETE:
        raise conflict("must_undo", "What was decided before is in force: undo it, or leave it.")
    if kind is DecisionKind.RELEASE and done not in {DecisionKind.HIDE, DecisionKind.REMOVE} and not state.hidden:
        raise conflict("nothing_to_undo", "There is nothing to undo.")
    if kind is DecisionKind.UNBLOCK and done is not DecisionKind.BLOCK and not state.blocked:
        raise conflict("nothing_to_undo", "There is nothing to undo.")


UNDOES: Final = {
    DecisionKind.HIDE: DecisionKind.RELEASE,
    DecisionKind.REMOVE: DecisionKind.RELEASE,
    DecisionKind.BLOCK: DecisionKind.UNBLOCK,
    DecisionKind.DELETE: DecisionKind.DISMISS,
}
"""The decision that undoes each; a deletion is only found to have been wrong."""
ENDED: Final = N_("The time for which this was decided has passed.")
"""The facts of a decision that ends another one by itself."""
