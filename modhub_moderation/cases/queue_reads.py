"""What the queue shows, in a number of statements that does not grow with it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_optional_service, find_service
from modhub.plugins.moderation import FileRecord, IAccountBlocking, IModeration
from modhub.plugins.services import IMods, IProfiles, ModSummary, Profile
from modhub_moderation.cases.models import Appeal, Case, Decision, Notice, SubjectKind
from modhub_moderation.cases.rulings import RESTRICTIONS

CASES_SHOWN: Final = 25
"""Cases on one page of the queue."""
FILES_SHOWN: Final = 20
REPORTERS_SHOWN: Final = 10
_KINDS: Final = [kind.value for kind in RESTRICTIONS]


class Person(NamedTuple):
    """An account as moderators have to know it."""

    id: int
    profile: Profile | None
    blocked: bool
    restricted: int
    """Decisions that took something from it, those that were undone too."""
    sent: int
    """Its notices."""
    acted: int
    """Those among them after which something was taken from somebody."""


class ShownFile(NamedTuple):
    """A file of a mod, and the other mods that have or had it."""

    file: FileRecord
    elsewhere: list[int]


class QueueCase(NamedTuple):
    """One open case."""

    case: Case
    mod: ModSummary | None
    files: list[ShownFile]
    decided_before: int
    """Decisions in earlier cases about the same."""
    grounds: dict[str, int]
    """Notices by ground."""
    strangers: int
    owner: Person
    reporters: list[Person]


class QueueView(NamedTuple):
    """One page of the queue. Appeals are on the first page alone."""

    cases: list[QueueCase]
    total: int
    appeals: Sequence[Any]
    """(appeal, case) of those that wait for a decision, the oldest first."""


def read_queue(session: Session, registry: Any, page: int) -> QueueView:
    """The open cases by weight, then by age; ``page`` is 1 or more."""
    is_open = Case.decided_at.is_(None)
    ordered = select(Case).where(is_open).order_by(Case.weight.desc(), Case.opened_at, Case.id)
    cases = list(session.scalars(ordered.offset((page - 1) * CASES_SHOWN).limit(CASES_SHOWN)))
    total = session.scalar(select(func.count()).select_from(Case).where(is_open)) or 0
    if page > 1:
        return QueueView(_describe(session, registry, cases), total, ())
    waiting = select(Appeal, Case).join(Decision, Decision.id == Appeal.decision_id).join(Case)
    waiting = waiting.where(Appeal.decided_at.is_(None)).order_by(Appeal.created_at).limit(CASES_SHOWN)
    appeals = session.execute(waiting).all()
    return QueueView(_describe(session, registry, cases), total, appeals)


def _describe(session: Session, registry: Any, cases: Sequence[Case]) -> list[QueueCase]:
    ids, mod_ids = [case.id for case in cases], [case.subject_id for case in cases if _is_of_mod(case)]
    notices: dict[int, list[Any]] = defaultdict(list)
    columns = (Notice.case_id, Notice.ground, Notice.account_id)
    for row in session.execute(select(*columns).where(Notice.case_id.in_(ids)).order_by(Notice.id)):
        notices[row.case_id].append(row)
    mods = find_service(registry, IMods).get_mods(session, mod_ids)
    files, before = _read_files(session, registry, mod_ids), _decided_before(session, cases)
    accounts = {case.owner_id for case in cases}
    accounts |= {row.account_id for rows in notices.values() for row in rows if row.account_id is not None}
    people = read_people(session, registry, accounts)
    return [
        QueueCase(
            case=case,
            mod=mods.get(case.subject_id) if _is_of_mod(case) else None,
            files=files.get(case.subject_id, []) if _is_of_mod(case) else [],
            decided_before=before[case.subject_kind, case.subject_id],
            grounds=dict(Counter(row.ground for row in notices[case.id]).most_common()),
            strangers=sum(row.account_id is None for row in notices[case.id]),
            owner=people[case.owner_id],
            reporters=[
                people[number]
                for number in dict.fromkeys(row.account_id for row in notices[case.id] if row.account_id is not None)
            ][:REPORTERS_SHOWN],
        )
        for case in cases
    ]


def _is_of_mod(case: Case) -> bool:
    return case.subject_kind == SubjectKind.MOD.value


def _read_files(session: Session, registry: Any, mod_ids: Collection[int]) -> dict[int, list[ShownFile]]:
    """The files of these mods, each with the other mods that have it."""
    records = find_service(registry, IModeration).get_files(session, mod_ids)
    shown = {mod_id: files[:FILES_SHOWN] for mod_id, files in records.items()}
    digests = {file.sha256 for files in shown.values() for file in files}
    holders: dict[str, set[int]] = defaultdict(set)
    for use in find_service(registry, IModeration).files.find(session, digests):
        holders[use.sha256].add(use.mod_id)
    return {
        mod_id: [ShownFile(file, sorted(holders[file.sha256] - {mod_id})) for file in files]
        for mod_id, files in shown.items()
    }


def _decided_before(session: Session, cases: Sequence[Case]) -> Counter[tuple[str, int]]:
    """How many decisions there were in other cases about the same."""
    subjects, ids = {case.subject_id for case in cases}, [case.id for case in cases]
    counts = select(Case.subject_kind, Case.subject_id, func.count()).join(Decision, Decision.case_id == Case.id)
    counts = counts.where(Case.subject_id.in_(subjects), Case.id.not_in(ids))
    rows = session.execute(counts.group_by(Case.subject_kind, Case.subject_id))
    return Counter({(kind, number): count for kind, number, count in rows})


def read_people(session: Session, registry: Any, account_ids: Collection[int]) -> dict[int, Person]:
    """These accounts, those that were deleted too."""
    profiles: dict[int, Profile] = {}
    service, account_numbers = find_optional_service(registry, IProfiles), sorted(account_ids)
    for start in range(0, len(account_numbers) if service is not None else 0, 100):
        assert service is not None
        profiles |= service.get_profiles(set(account_numbers[start : start + 100]))
    blocking = find_optional_service(registry, IAccountBlocking)
    blocked = blocking.get_blocked(session, account_numbers) if blocking is not None else {}
    restricted = select(Case.owner_id, func.count()).join(Decision, Decision.case_id == Case.id)
    restricted = restricted.where(Case.owner_id.in_(account_numbers), Decision.kind.in_(_KINDS)).group_by(Case.owner_id)
    taken = Counter({row[0]: row[1] for row in session.execute(restricted)})
    acted_on = exists().where(Decision.case_id == Notice.case_id, Decision.kind.in_(_KINDS))
    sent = select(Notice.account_id, func.count(), func.count().filter(acted_on))
    rows = session.execute(sent.where(Notice.account_id.in_(account_numbers)).group_by(Notice.account_id))
    records: dict[int, tuple[int, int]] = {number: (count, acted) for number, count, acted in rows if number}
    return {
        number: Person(number, profiles.get(number), number in blocked, taken[number], *records.get(number, (0, 0)))
        for number in account_numbers
    }
