"""Deciding about many at once, for a wave of spam: first a list of what would happen, then each in its transaction."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy.orm import Session

from modhub.base.errors import ApiError, conflict, invalid
from modhub.base.service_registry import find_optional_service, find_service
from modhub.db import bulk
from modhub.plugins.moderation import IAccountBlocking, IModeration
from modhub.plugins.services import IMods, IProfiles, ModSummary
from modhub_moderation.cases.decisions import decide, own_case
from modhub_moderation.cases.models import Case, DecisionKind, Origin, SubjectKind
from modhub_moderation.cases.rulings import Ruling, SubjectState, clean_ruling
from modhub_moderation.cases.services import CaseSubject, find_last_decision, lock_case_owner, open_case

MOST_AT_A_TIME: Final = 300
"""What can be decided about at once."""
BULK_KINDS: Final = (DecisionKind.HIDE, DecisionKind.DELETE, DecisionKind.BLOCK, DecisionKind.DISMISS)
"""What can be decided about many at once."""
_NUMBERS: Final = re.compile(r"[1-9][0-9]{0,17}")
_ITEM: Final = re.compile(r"(mod|account):([0-9]{1,18}):([0-9]{1,18}):([0-9]{1,18})")


class BulkItem(NamedTuple):
    """One thing to decide about: a case, or a mod or an account without one."""

    kind: SubjectKind
    number: int
    case_id: int
    """0 without an open case."""
    after: int
    """The decision that the moderator saw as the last one; 0 for none."""

    @property
    def text(self) -> str:
        """As forms have it."""
        return f"{self.kind.value}:{self.number}:{self.case_id}:{self.after}"


class PlannedItem(NamedTuple):
    """What would happen to one of them, as far as can be known."""

    item: BulkItem
    title: str
    owner_id: int
    owner_name: str
    mods_hidden: int
    """How many mods would be hidden with an account that is blocked."""
    problem: ApiError | None
    """Why nothing would happen."""


class BulkSelection(NamedTuple):
    """What a moderator has chosen: cases, mods, and accounts with all of their mods."""

    case_ids: Sequence[int] = ()
    mod_ids: Sequence[int] = ()
    account_ids: Sequence[int] = ()


def read_numbers(text: str) -> list[int]:
    """The numbers in a text, each once; 400 for anything else."""
    words = text.replace(",", " ").split()
    if not all(_NUMBERS.fullmatch(word) for word in words):
        raise invalid("Write numbers, separated by spaces or lines.")
    return list(dict.fromkeys(map(int, words)))


def read_items(values: Iterable[str]) -> list[BulkItem]:
    """The items of a form that was confirmed; 400 for anything else."""
    items = []
    for value in dict.fromkeys(values):
        match = _ITEM.fullmatch(value)
        if match is None:
            raise invalid("The list could not be read. Begin again.")
        items.append(BulkItem(SubjectKind(match[1]), *map(int, match.groups()[1:])))
    return _checked(items)


def _checked(items: list[BulkItem]) -> list[BulkItem]:
    if not items:
        raise invalid("Choose at least one case, mod or account.")
    if len(items) > MOST_AT_A_TIME:
        raise invalid("At most %(most)s can be decided at once.", most=MOST_AT_A_TIME)
    return items


def find_items(session: Session, registry: Any, chosen: BulkSelection, kind: DecisionKind) -> list[BulkItem]:
    """What is decided about: an account is blocked itself, else all of its mods are meant."""
    items: dict[tuple[SubjectKind, int], BulkItem] = {}
    for case_id in chosen.case_ids[: MOST_AT_A_TIME + 1]:
        case = session.get(Case, case_id)
        if case is not None and case.decided_at is None:
            last = find_last_decision(session, case.id)
            subject = SubjectKind(case.subject_kind)
            items[subject, case.subject_id] = BulkItem(subject, case.subject_id, case.id, last.id if last else 0)
    mod_ids, account_ids = list(chosen.mod_ids), list(chosen.account_ids)
    mods = find_service(registry, IMods)
    if kind is DecisionKind.BLOCK:
        mods_by_id = _get_mods(session, mods, mod_ids)
        account_ids += [mod.owner for mod in mods_by_id.values()]
        mod_ids = []
    else:
        for account_id in account_ids[: MOST_AT_A_TIME + 1]:
            owned = [mod for mod, _ in mods.get_mods_of_account(session, account_id)]
            mod_ids += [mod.id for mod in owned if kind is not DecisionKind.HIDE or not mod.hidden]
        account_ids = []
    named = [(SubjectKind.MOD, number) for number in mod_ids] + [(SubjectKind.ACCOUNT, n) for n in account_ids]
    for subject, number in named[: MOST_AT_A_TIME + 1]:
        items.setdefault((subject, number), BulkItem(subject, number, 0, 0))
    return _checked(list(items.values()))


def plan(
    session: Session, registry: Any, items: Sequence[BulkItem], ruling: Ruling, moderator_id: int
) -> list[PlannedItem]:
    """What would happen to each. 400 for a ruling that says too little for any of them."""
    clean_ruling(ruling, Case(subject_kind=SubjectKind.MOD.value), None, SubjectState(exists=True), {})
    mod_ids = [item.number for item in items if item.kind is SubjectKind.MOD]
    mods = _get_mods(session, find_service(registry, IMods), mod_ids)
    cases = {item: session.get(Case, item.case_id) if item.case_id else None for item in items}
    owners = {item: _owner_of(item, cases[item], mods.get(item.number)) for item in items}
    names, blocking = _names(registry, set(owners.values())), find_optional_service(registry, IAccountBlocking)
    blocked = blocking.get_blocked(session, set(owners.values())) if blocking is not None else {}
    hides = ruling.kind is DecisionKind.BLOCK and ruling.hides_mods
    planned = []
    for item in items:
        case, owner_id = cases[item], owners[item]
        mod = mods.get(item.number) if item.kind is SubjectKind.MOD else None
        exists = mod is not None if item.kind is SubjectKind.MOD else owner_id in names
        state = SubjectState(exists, mod is not None and mod.hidden, owner_id in blocked)
        problem = _find_problem(session, registry, ruling, case or _new_case(item, owner_id), state)
        if moderator_id == owner_id:
            problem = own_case()
        title = mod.title if mod is not None else case.title if case is not None else names.get(owner_id, "")
        hidden = _count_shown(session, registry, owner_id) if hides else 0
        planned.append(PlannedItem(item, title, owner_id, names.get(owner_id, ""), hidden, problem))
    return planned


def _owner_of(item: BulkItem, case: Case | None, mod: ModSummary | None) -> int:
    if case is not None:
        return case.owner_id
    if item.kind is SubjectKind.ACCOUNT:
        return item.number
    return 0 if mod is None else mod.owner


def _new_case(item: BulkItem, owner_id: int) -> Case:
    """What would be opened; it is not stored."""
    return Case(subject_kind=item.kind.value, subject_id=item.number, owner_id=owner_id)


def _find_problem(session: Session, registry: Any, ruling: Ruling, case: Case, state: SubjectState) -> ApiError | None:
    last = None if case.id is None else find_last_decision(session, case.id)
    if case.id is None and not state.exists:
        return conflict("gone", "It does not exist any more.")
    if ruling.kind is DecisionKind.HIDE and state.hidden and last is None:
        return conflict("hidden_already", "It is hidden already.")
    try:
        clean_ruling(ruling, case, last, state, find_service(registry, IModeration).parts)
    except ApiError as error:
        return error
    return None


def _count_shown(session: Session, registry: Any, account_id: int) -> int:
    mods = find_service(registry, IMods).get_mods_of_account(session, account_id)
    return sum(not mod.hidden for mod, _ in mods)


def _names(registry: Any, account_ids: Iterable[int]) -> dict[int, str]:
    service = find_optional_service(registry, IProfiles)
    batches = bulk.batches(sorted(account_ids), 100)
    profiles_of_batches = [service.get_profiles(set(batch)) for batch in batches] if service is not None else []
    return {number: profile.name for profiles in profiles_of_batches for number, profile in profiles.items()}


def _get_mods(session: Session, mods: IMods, mod_ids: Iterable[int]) -> dict[int, ModSummary]:
    mods_by_id: dict[int, ModSummary] = {}
    for batch in bulk.batches(mod_ids, 100):
        mods_by_id |= mods.get_mods(session, batch)
    return mods_by_id


def decide_item(session: Session, registry: Any, item: BulkItem, ruling: Ruling, moderator_id: int) -> None:
    """Decide about one of them; its case is opened on own initiative if there is none."""
    if item.case_id:
        decide(session, registry, item.case_id, ruling, moderator_id, after=item.after or None)
        return
    subject = _find_subject(session, registry, item)
    if subject is None:
        raise conflict("gone", "It does not exist any more.")
    if subject.owner_id == moderator_id:
        raise own_case()
    lock_case_owner(session, registry, subject.owner_id)
    case = open_case(session, subject, Origin.OWN)
    decide(session, registry, case.id, ruling, moderator_id, after=None)


def _find_subject(session: Session, registry: Any, item: BulkItem) -> CaseSubject | None:
    """The mod or the account, if it exists. It may be deleted until its case is locked: that is checked again then."""
    if item.kind is SubjectKind.MOD:
        mod = find_service(registry, IMods).get_mods(session, [item.number]).get(item.number)
        return None if mod is None else CaseSubject(item.kind, mod.id, mod.owner, mod.title)
    names = _names(registry, [item.number])
    return CaseSubject(item.kind, item.number, item.number, names[item.number]) if item.number in names else None
