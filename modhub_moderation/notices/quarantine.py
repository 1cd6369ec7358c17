"""Automatic quarantine: malware notices of trusted reporters hide a mod until a moderator decides."""

from typing import Any

from sqlalchemy.orm import Session

from modhub_moderation.cases.models import Case


def hide_if_due(registry: Any, session: Session, case: Case) -> None:
    """Hide the mod of the case if its notices are enough."""
