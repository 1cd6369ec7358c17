"""What the audit trail measures."""

from typing import Any

from sqlalchemy import func, select

from modhub.audit.models import AuditEntry
from modhub.base.service_registry import find_service
from modhub.db import Databases


def count_unsealed(registry: Any) -> float:
    """The number of entries that are not sealed yet."""
    unsealed = select(func.count()).select_from(AuditEntry).where(AuditEntry.number.is_(None))
    with find_service(registry, Databases).readonly_session() as session:
        return float(session.scalar(unsealed) or 0)
