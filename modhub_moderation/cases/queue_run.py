"""Carrying out a list that was confirmed: each item in its own transaction, and what fails stops none of the rest."""

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from modhub.base.errors import ApiError
from modhub.content.text import N_
from modhub.db import is_transient
from modhub.web.request import Request, act_for_request
from modhub_moderation.cases.queue_bulk import PlannedItem, decide_item
from modhub_moderation.cases.rulings import Ruling

log = logging.getLogger(__name__)

FAILURES_IN_A_ROW: Final = 3
"""After so many the database is taken to be gone, and the rest is not tried: each try may wait for seconds."""


class BulkOutcome(NamedTuple):
    """What became of one item after the confirmation."""

    planned: PlannedItem
    problem: ApiError | None


def database_failed() -> ApiError:
    """503: a lock, a conflict of two transactions, or no connection. The commit itself may have failed."""
    message = N_("The database was busy. Check whether this was decided, and decide again if it was not.")
    return ApiError(503, "busy", message)


def not_tried() -> ApiError:
    """503: the items before failed because of the database."""
    return ApiError(503, "not_tried", "This was not tried, because the database failed several times before.")


def failed() -> ApiError:
    """500: a fault of ours."""
    return ApiError(500, "internal_error", "Something went wrong on our side. The error has been logged.")


def decide_all(request: Request, planned: Sequence[PlannedItem], ruling: Ruling) -> list[BulkOutcome]:
    """Decide about each that has no problem yet: others need not wait for all."""
    outcomes, failures = [], 0
    for entry in planned:
        problem = entry.problem
        if problem is None and failures == FAILURES_IN_A_ROW:
            problem = not_tried()
        elif problem is None:
            problem = _decide(request, entry, ruling)
            failures = failures + 1 if problem is not None and problem.status == 503 else 0
        outcomes.append(BulkOutcome(entry, problem))
    return outcomes


def _decide(request: Request, entry: PlannedItem, ruling: Ruling) -> ApiError | None:
    """Why it was not decided; None if it was. Not tried twice: a commit whose answer is lost may have succeeded."""
    moderator_id: int = request.authenticated_userid
    try:
        with request.databases.write_session.begin() as session:
            act_for_request(session, request)
            decide_item(session, request.registry, entry.item, ruling, moderator_id)
    except ApiError as refused:
        return refused
    except Exception as error:
        # Whatever it is: the rest is decided, and the page says which was not.
        if is_transient(error):
            reason = type(getattr(error, "orig", None) or error).__name__
            log.warning("%s was not decided: the database failed (%s)", entry.item.text, reason)
            return database_failed()
        log.error("%s was not decided", entry.item.text, exc_info=error)
        return failed()
    return None
