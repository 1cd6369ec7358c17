"""What the pages of cases show, read in one read-only session."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.plugins.services import IProfiles
from modhub_auth.blocking import find_blocked
from modhub_moderation.cases.appeals import Standing, standing_of
from modhub_moderation.cases.decisions import list_files
from modhub_moderation.cases.effects import Effects
from modhub_moderation.cases.models import Appeal, Case, Decision, Notice, SubjectKind

RECENT_CASES: Final = 50
NOTICES_SHOWN: Final = 100
DECISIONS_SHOWN: Final = 100


class PartChoice(NamedTuple):
    """Something that can be removed: the value of the choice, a msgid, and what tells it apart."""

    value: str
    title: str
    detail: str = ""


class CaseView(NamedTuple):
    """Everything about a case, for moderators."""

    case: Case
    notices: Sequence[Notice]
    decisions: Sequence[Decision]
    """The last one first: it is in force."""
    appeals: dict[int, Appeal]
    """By the decision."""
    mod: Any
    """What is known of the mod; None if it is deleted, or the case is about an account."""
    files: Sequence[Any]
    advisable: Sequence[Any]
    """The files of the mod by digest, with where else they are."""
    parts: Sequence[PartChoice]
    names: dict[int, str]
    """Names of the accounts that appear."""
    blocked: bool


def read_case(session: Session, registry: Any, case_id: int) -> CaseView:
    """The case with everything that moderators see of it."""
    case = session.get_one(Case, case_id)
    about = Notice.case_id == case.id
    notices = session.scalars(select(Notice).where(about).order_by(Notice.id.desc()).limit(NOTICES_SHOWN)).all()
    decisions = session.scalars(select(Decision).where(Decision.case_id == case.id).order_by(Decision.id.desc())).all()
    ids = [decision.id for decision in decisions]
    appeals = {row.decision_id: row for row in session.scalars(select(Appeal).where(Appeal.decision_id.in_(ids)))}
    effects, mod, files = Effects.of(registry), None, []
    if case.is_of_mod:
        mod = effects.mods.get_mods(session, [case.subject_id]).get(case.subject_id)
        files = effects.moderation.get_files(session, [case.subject_id]).get(case.subject_id, [])
    accounts = {case.owner_id, *(row.account_id or 0 for row in notices), *(row.moderator_id or 0 for row in decisions)}
    blocked = bool(find_blocked(session, [case.owner_id]))
    parts = list_parts(effects.moderation.parts, case, files) if mod is not None or not case.is_of_mod else []
    names = names_of(registry, accounts)
    advisable = list_files(session, registry, case)
    return CaseView(case, notices, decisions, appeals, mod, files, advisable, parts, names, blocked)


def names_of(registry: Any, account_ids: Iterable[int]) -> dict[int, str]:
    """The names of those of these accounts that exist."""
    profiles = find_service(registry, IProfiles).get_profiles({number for number in account_ids if number})
    return {number: profile.name for number, profile in profiles.items()}


def list_parts(parts: Any, case: Case, files: Sequence[Any]) -> list[PartChoice]:
    """What can be removed in this case: each image and each version of the mod, and what there is only one of."""
    choices: list[PartChoice] = []
    for name, part in parts.items():
        if part.target == SubjectKind.MOD and not case.is_of_mod:
            continue
        if name == "image":
            shown = [file for file in files if file.kind == "image" and file.asset_id is not None]
            choices += [
                PartChoice(f"image:{file.asset_id}", part.title, f"{file.name} ({file.asset_id})") for file in shown
            ]
        elif name == "changelog":
            versions = dict.fromkeys(file.version for file in files if file.version)
            choices += [PartChoice(f"changelog:{version}", part.title, version) for version in versions]
        else:
            choices.append(PartChoice(f"{name}:", part.title))
    return choices


def list_cases(session: Session) -> Sequence[Case]:
    """The cases, the newest first."""
    return session.scalars(select(Case).order_by(Case.id.desc()).limit(RECENT_CASES)).all()


class OwnDecision(NamedTuple):
    """A decision as the person concerned sees it."""

    decision: Decision
    case: Case
    standing: Standing


def read_own_decision(session: Session, decision_id: int) -> OwnDecision:
    """The decision, with what can still be done about it."""
    decision = session.get_one(Decision, decision_id)
    return OwnDecision(decision, session.get_one(Case, decision.case_id), standing_of(session, decision))


def list_own_decisions(session: Session, account_id: int, *, mod_id: int | None = None) -> Sequence[Any]:
    """(decision, case) about an account and its mods, or about one of these, the last one first.

    That nothing was done is told to nobody but those who reported.
    """
    statement = select(Decision, Case).join(Case, Case.id == Decision.case_id).where(Case.owner_id == account_id)
    if mod_id is not None:
        statement = statement.where(Case.subject_kind == SubjectKind.MOD, Case.subject_id == mod_id)
    told = (Decision.kind != "dismiss") | Decision.replaces_id.is_not(None)
    return session.execute(statement.where(told).order_by(Decision.id.desc()).limit(DECISIONS_SHOWN)).all()
