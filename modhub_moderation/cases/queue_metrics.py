"""What operators see of the queue in ``/metrics``."""

from typing import Any

from pyramid.config import Configurator
from sqlalchemy import func, select

from modhub.base.metrics import LabelValues
from modhub.base.service_registry import find_service
from modhub.db import Databases, now
from modhub_moderation.cases.models import Appeal, Case, Ground, Notice


def count_waiting(registry: Any) -> dict[LabelValues, float]:
    """Cases and appeals that wait for a moderator."""
    cases = select(func.count()).select_from(Case).where(Case.decided_at.is_(None))
    appeals = select(func.count()).select_from(Appeal).where(Appeal.decided_at.is_(None))
    with find_service(registry, Databases).readonly_session() as session:
        return {"cases": session.scalar(cases) or 0, "appeals": session.scalar(appeals) or 0}


def oldest_waiting(registry: Any) -> float:
    """Seconds since the oldest of them came."""
    cases = select(func.min(Case.opened_at)).where(Case.decided_at.is_(None))
    appeals = select(func.min(Appeal.created_at)).where(Appeal.decided_at.is_(None))
    with find_service(registry, Databases).readonly_session() as session:
        moments = [moment for moment in (session.scalar(cases), session.scalar(appeals)) if moment is not None]
    return max(0.0, (now() - min(moments)).total_seconds()) if moments else 0.0


def count_open_notices(registry: Any) -> dict[LabelValues, float]:
    """Notices in open cases, by ground."""
    counts = select(Notice.ground, func.count()).join(Case, Case.id == Notice.case_id)
    counts = counts.where(Case.decided_at.is_(None)).group_by(Notice.ground)
    with find_service(registry, Databases).readonly_session() as session:
        count_by_ground: dict[str, int] = {row[0]: row[1] for row in session.execute(counts)}
    return {ground.value: count_by_ground.get(ground.value, 0) for ground in Ground}


def includeme(config: Configurator) -> None:
    """Declare the metrics."""
    config.add_metric(
        "moderation_waiting", "Cases and appeals that wait for a moderator.", count_waiting, labels=("what",)
    )
    config.add_metric("moderation_oldest_seconds", "Age of the oldest case or appeal that waits.", oldest_waiting)
    config.add_metric("moderation_notices", "Notices in open cases.", count_open_notices, labels=("ground",))
