"""The queue, and one decision about many of its cases: a moderator's day (C-QUE)."""

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from modhub.base.errors import ApiError, invalid
from modhub.base.service_registry import find_service
from modhub.content.limits import PAGE_SIZE_MOST
from modhub.content.text import N_
from modhub.db import bulk, is_transient
from modhub.db.raw_queries import PreparedQuery
from modhub.plugins.moderation import FileRecord, IModeration
from modhub.plugins.services import IMods, IProfiles, ModSummary, Profile
from modhub.ui.forms import set_error_status
from modhub.ui.template_helpers import nav_link, translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query_number
from modhub.web.request import Request, act_for_request
from modhub.web.traversal import parse_id
from modhub_auth.blocking import find_blocked
from modhub_moderation.cases import words
from modhub_moderation.cases.decisions import decide
from modhub_moderation.cases.models import Appeal, Case, Decision, DecisionKind, Notice, SubjectKind
from modhub_moderation.cases.pages import RULING_FIELDS, read_ruling
from modhub_moderation.cases.read_service import names_of
from modhub_moderation.cases.rulings import RESTRICTIONS, Ruling, SubjectState, clean_ruling
from modhub_moderation.moderators import MODERATION, IModerationDesk, desk_page, standing_of_visitor

CASES_SHOWN: Final = 25
"""Cases on one page of the queue."""
FILES_SHOWN: Final = 20
REPORTERS_SHOWN: Final = 10
NOTICES_SHOWN: Final = 3
LINE: Final = 160
"""Characters of a notice's first line."""
_OPEN: Final = [select(func.count()).where(kind.decided_at.is_(None)) for kind in (Case, Appeal)]
_WAITING: Final = PreparedQuery(select(*(number.scalar_subquery() for number in _OPEN)))


def desk_link(_context: Any, request: Request) -> Any:
    """The entry in the navigation of moderators, with the number of what waits for a decision."""
    if not standing_of_visitor(request).is_moderator:
        return None
    waiting = sum(request.databases.raw_queries.rows(_WAITING)[0])
    words = translations_for(request).ngettext("%(num)s waits for a decision", "%(num)s wait for a decision", waiting)
    return nav_link(request, MODERATION, N_("Moderation"), str(waiting or ""), words)


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
    lines: list[str]
    """The first line of each of the first notices."""
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
    waiting = select(Appeal, Case).join(Decision, Decision.id == Appeal.decision_id).join(Case)
    waiting = waiting.where(Appeal.decided_at.is_(None)).order_by(Appeal.created_at).limit(CASES_SHOWN)
    appeals = session.execute(waiting).all() if page == 1 else ()
    return QueueView(_describe(session, registry, cases), total, appeals)


def _describe(session: Session, registry: Any, cases: Sequence[Case]) -> list[QueueCase]:
    ids, mod_ids = [case.id for case in cases], [case.subject_id for case in cases if case.is_of_mod]
    notices: dict[int, list[Any]] = defaultdict(list)
    columns = (Notice.case_id, Notice.ground, Notice.account_id, func.substr(Notice.text, 1, LINE).label("line"))
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
            mod=mods.get(case.subject_id) if case.is_of_mod else None,
            files=files.get(case.subject_id, []) if case.is_of_mod else [],
            decided_before=before[case.subject_kind, case.subject_id],
            grounds=dict(Counter(row.ground for row in notices[case.id]).most_common()),
            lines=[row.line.partition("\n")[0] for row in notices[case.id][:NOTICES_SHOWN]],
            strangers=sum(row.account_id is None for row in notices[case.id]),
            owner=people[case.owner_id],
            reporters=[
                people[number]
                for number in dict.fromkeys(row.account_id for row in notices[case.id] if row.account_id is not None)
            ][:REPORTERS_SHOWN],
        )
        for case in cases
    ]


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
    service, account_numbers = find_service(registry, IProfiles), sorted(account_ids)
    for batch in bulk.batches(account_numbers, PAGE_SIZE_MOST):
        profiles |= service.get_profiles(set(batch))
    blocked = find_blocked(session, account_numbers)
    restricted = select(Case.owner_id, func.count()).join(Decision, Decision.case_id == Case.id)
    restricted = restricted.where(Case.owner_id.in_(account_numbers), Decision.kind.in_(RESTRICTIONS)).group_by(
        Case.owner_id
    )
    taken = Counter({row[0]: row[1] for row in session.execute(restricted)})
    acted_on = exists().where(Decision.case_id == Notice.case_id, Decision.kind.in_(RESTRICTIONS))
    sent = select(Notice.account_id, func.count(), func.count().filter(acted_on))
    rows = session.execute(sent.where(Notice.account_id.in_(account_numbers)).group_by(Notice.account_id))
    records: dict[int, tuple[int, int]] = {number: (count, acted) for number, count, acted in rows if number}
    return {
        number: Person(number, profiles.get(number), number in blocked, taken[number], *records.get(number, (0, 0)))
        for number in account_numbers
    }


log = logging.getLogger(__name__)

MOST_AT_A_TIME: Final = 300
"""Cases that can be decided about at once."""
KINDS_FOR_MANY: Final = (DecisionKind.HIDE, DecisionKind.BLOCK, DecisionKind.DELETE, DecisionKind.DISMISS)
"""What can be decided about many at once: all that needs nothing of the one case."""
FAILURES_IN_A_ROW: Final = 3
"""After so many the database is taken to be gone, and the rest is not tried: each try may wait for seconds."""


class CaseOutcome(NamedTuple):
    """What became of one case."""

    case: Case
    problem: ApiError | None


def database_failed() -> ApiError:
    """503: a lock, a conflict of two transactions, or no connection. The commit itself may have failed."""
    message = N_("The database was busy. Check whether this was decided, and decide again if it was not.")
    return ApiError(503, "busy", message)


def not_tried() -> ApiError:
    """503: the cases before failed because of the database."""
    return ApiError(503, "not_tried", "This was not tried, because the database failed several times before.")


def failed() -> ApiError:
    """500: a fault of ours."""
    return ApiError(500, "internal_error", "Something went wrong on our side. The error has been logged.")


def list_chosen(session: Session, case_ids: Sequence[int]) -> list[Case]:
    """The cases with these numbers, each once, in their order. 400 for none, and for too many."""
    if len(case_ids) > MOST_AT_A_TIME:
        raise invalid("At most %(most)s can be decided at once.", most=MOST_AT_A_TIME)
    found = {case.id: case for case in session.scalars(select(Case).where(Case.id.in_(case_ids)))}
    chosen = [found[case_id] for case_id in dict.fromkeys(case_ids) if case_id in found]
    if not chosen:
        raise invalid("Choose at least one case.")
    return chosen


def check_for_many(ruling: Ruling) -> None:
    """400 for a ruling that says too little for any case, or is not for many."""
    if ruling.kind not in KINDS_FOR_MANY:
        raise invalid("Choose a decision.")
    clean_ruling(ruling, Case(subject_kind=SubjectKind.MOD), None, SubjectState(exists=True), {})


def decide_all(request: Request, cases: Sequence[Case], ruling: Ruling) -> list[CaseOutcome]:
    """Decide about each that nothing was decided in yet: others need not wait for all."""
    outcomes, failures = [], 0
    for case in cases:
        if failures == FAILURES_IN_A_ROW:
            outcomes.append(CaseOutcome(case, not_tried()))
            continue
        problem = _decide(request, case.id, ruling)
        failures = failures + 1 if problem is not None and problem.status == 503 else 0
        outcomes.append(CaseOutcome(case, problem))
    return outcomes


def _decide(request: Request, case_id: int, ruling: Ruling) -> ApiError | None:
    """Why it was not decided; None if it was. Not tried twice: a commit whose answer is lost may have succeeded."""
    moderator_id: int = request.authenticated_userid
    try:
        with request.databases.write_session.begin() as session:
            act_for_request(session, request)
            decide(session, request.registry, case_id, ruling, moderator_id, after=None)
    except ApiError as refused:
        return refused
    except Exception as error:
        # Whatever it is: the rest is decided, and the page says which was not.
        if is_transient(error):
            reason = type(getattr(error, "orig", None) or error).__name__
            log.warning("case %d was not decided: the database failed (%s)", case_id, reason)
            return database_failed()
        log.error("case %d was not decided", case_id, exc_info=error)
        return failed()
    return None


QUEUE: Final = f"{MODERATION}/queue"
QUEUE_TEMPLATE: Final = "modhub_moderation:templates/queue/queue.jinja2"
MANY_TEMPLATE: Final = "modhub_moderation:templates/queue/many.jinja2"
MANY_FIELDS: Final = {**RULING_FIELDS, "cases": ""}
"""The fields of the form; ``cases`` are the chosen numbers, separated by spaces."""


@desk_page(
    context=IModerationDesk,
    request_method="GET",
)
def lead_to_queue(_context: Any, _request: Request) -> Redirect:
    """``GET /Modhub/moderation``"""
    return Redirect(QUEUE)


@desk_page(
    context=IModerationDesk,
    name="queue",
    request_method="GET",
    renderer=QUEUE_TEMPLATE,
)
def queue_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/moderation/queue``"""
    number = query_number(request)
    with request.databases.readonly_session() as session:
        view = read_queue(session, request.registry, number)
    pages = max(1, -(-view.total // CASES_SHOWN))
    # Nobody learns who reported them, moderators neither (C-CAS-7).
    reader = {"reader_id": request.authenticated_userid}
    return {"view": view, "words": words, "number": number, "pages": pages, **reader}


@desk_page(
    context=IModerationDesk,
    name="bulk",
    request_method="GET",
    renderer=MANY_TEMPLATE,
)
def many_page(_context: Any, request: Request) -> Any:
    """``GET /Modhub/moderation/bulk?case=1&case=2``: the chosen cases with the form to decide; else the queue."""
    chosen = " ".join(request.GET.getall("case"))
    if not chosen:
        return Redirect(QUEUE)
    return _many_values(request, typed={**dict.fromkeys(MANY_FIELDS, ""), "cases": chosen})


def _many_values(request: Request, *, typed: dict[str, str], **more: Any) -> dict[str, Any]:
    with request.databases.readonly_session() as session:
        cases = list_chosen(session, _numbers(typed["cases"]))
    names = names_of(request.registry, {case.owner_id for case in cases})
    shown = {"cases": cases, "names": names, "words": words, "kinds": KINDS_FOR_MANY, "typed": typed}
    return {**shown, "outcomes": None, "error": None, **more}


def _numbers(typed: str) -> list[int]:
    return [number for word in typed.split() if (number := parse_id(word)) is not None]


@desk_page(
    context=IModerationDesk,
    name="bulk",
    request_method="POST",
    renderer=MANY_TEMPLATE,
    preserve_fields=MANY_FIELDS,
)
def many_submit(_context: Any, request: Request) -> dict[str, Any]:
    """``POST /Modhub/moderation/bulk``: decide about each of the chosen cases."""
    typed = {name: request.POST.get(name, "") for name in MANY_FIELDS}
    values = _many_values(request, typed=typed)
    try:
        ruling = read_ruling(typed)
        check_for_many(ruling)
    except ApiError as refused:
        set_error_status(request, refused)
        return {**values, "error": refused}
    return {**values, "outcomes": decide_all(request, values["cases"], ruling)}
