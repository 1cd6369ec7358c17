"""One decision about many cases: each in its own transaction, and what fails stops none of the rest (C-QUE-5)."""

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.errors import ApiError, invalid
from modhub.content.text import N_
from modhub.db import is_transient
from modhub.web.request import Request, act_for_request
from modhub_moderation.cases.decisions import decide
from modhub_moderation.cases.models import Case, DecisionKind, SubjectKind
from modhub_moderation.cases.rulings import Ruling, SubjectState, clean_ruling

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
    clean_ruling(ruling, Case(subject_kind=SubjectKind.MOD.value), None, SubjectState(exists=True), {})


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
