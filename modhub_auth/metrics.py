"""What this feature measures: emails in the outbox, limits that were hit."""

from typing import Any

from pyramid.config import Configurator
from sqlalchemy import func, select

from modhub.base.metrics import COUNTER, LIMITS_HIT, LIMITS_HIT_HELP, LabelValues
from modhub.base.service_registry import find_service
from modhub.db import Databases, now
from modhub_auth.container import AuthServices
from modhub_auth.models import OutgoingEmail


def _email_states(registry: Any) -> dict[LabelValues, float]:
    is_finished, has_problem = OutgoingEmail.finished_at.is_not(None), OutgoingEmail.problem.is_not(None)
    counts = select(func.count().filter(~is_finished), func.count().filter(is_finished & has_problem))
    with find_service(registry, Databases).readonly_session() as session:
        waiting, dead = session.execute(counts.select_from(OutgoingEmail)).one()
    return {"waiting": waiting, "dead": dead}


def _oldest_email(registry: Any) -> float:
    oldest = select(func.min(OutgoingEmail.created_at)).where(OutgoingEmail.finished_at.is_(None))
    with find_service(registry, Databases).readonly_session() as session:
        created_at = session.scalar(oldest)
    return 0.0 if created_at is None else max(0.0, (now() - created_at).total_seconds())


def _limits_hit(registry: Any) -> dict[LabelValues, float]:
    return find_service(registry, AuthServices).rate_limiter.limits_hit.counts()


def includeme(config: Configurator) -> None:
    """Declare the metrics."""
    config.add_metric("emails", "Emails in the outbox that wait, and those given up.", _email_states, labels=("state",))
    config.add_metric("oldest_email_seconds", "Age of the oldest email that waits.", _oldest_email)
    config.add_metric(
        LIMITS_HIT,
        LIMITS_HIT_HELP,
        _limits_hit,
        kind=COUNTER,
        labels=("limit",),
    )
