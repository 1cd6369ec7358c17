"""Advisories of decisions: about the files of the mod that are ticked, and no others (C-CAS-10)."""

from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.errors import invalid
from modhub.base.service_registry import find_service
from modhub.plugins.moderation import IModeration
from modhub.plugins.services import IMods
from modhub_moderation.advisories.limits import AdvisoryKind
from modhub_moderation.advisories.services import (
    AdvisableFile,
    create_advisories,
    list_advisable,
    withdraw_advisories_of,
)
from modhub_moderation.cases.models import Case, Decision, Ground, SubjectKind
from modhub_moderation.cases.rulings import RESTRICTIONS, Ruling

KINDS_BY_GROUND: Final = {Ground.MALWARE: AdvisoryKind.MALWARE, Ground.ILLEGAL: AdvisoryKind.ILLEGAL}
"""What an advisory says of a file, by the ground of the decision; `other` for all other grounds."""


def list_files(session: Session, registry: Any, case: Case) -> list[AdvisableFile]:
    """The files that the mod of the case has and had, with where else they are."""
    if case.subject_kind != SubjectKind.MOD.value:
        return []
    mods, files = find_service(registry, IMods), find_service(registry, IModeration).files
    return list_advisable(session, mods, files, case.subject_id)


def check_advised(session: Session, registry: Any, case: Case, ruling: Ruling) -> None:
    """400 if a digest is ticked that no file of the mod has, or what is decided restricts nothing."""
    if not ruling.advised:
        return
    if ruling.kind not in RESTRICTIONS:
        raise invalid("Advisories belong to a decision that restricts something.")
    files = list_files(session, registry, case)
    if not set(ruling.advised) <= {row.file.sha256 for row in files}:
        raise invalid("Tick files of this mod only.")


def advise(session: Session, decision: Decision, ruling: Ruling) -> None:
    """Make the advisories that were ticked."""
    if ruling.advised:
        kind = KINDS_BY_GROUND.get(ruling.ground, AdvisoryKind.OTHER)
        words = {"reason": ruling.advisory_reason, "advice": ruling.advice}
        create_advisories(session, ruling.advised, kind=kind, decision_id=decision.id, **words)


def withdraw_advised(session: Session, case: Case) -> None:
    """Withdraw what the decisions of a case advised: they were undone."""
    for decision_id in session.scalars(select(Decision.id).where(Decision.case_id == case.id).order_by(Decision.id)):
        withdraw_advisories_of(session, decision_id)
