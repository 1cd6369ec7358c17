"""A case with all that is known of it, its mod, and the form to decide; appeals."""

import re
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any, Final

from modhub.audit import record
from modhub.base.errors import ApiError, invalid, not_found
from modhub.content.text import N_
from modhub.plugins.moderation import IModeration
from modhub.plugins.services import IMods, IProfiles, ModSummary
from modhub.ui.forms import set_error_status
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.downloads import file_response
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub_moderation.cases import words
from modhub_moderation.cases.appeals import Verdict, decide_appeal, may_decide
from modhub_moderation.cases.decisions import Subject, decide, open_case, own_case
from modhub_moderation.cases.models import (
    Appeal,
    AppealOutcome,
    Basis,
    Decision,
    DecisionKind,
    Ground,
    Origin,
    SubjectKind,
    open_key,
)
from modhub_moderation.cases.read_service import (
    CaseView,
    list_cases,
    names_of,
    read_case,
)
from modhub_moderation.cases.resources import (
    CASE_IMAGES,
    AppealResource,
    CaseFileResource,
    CaseModResource,
    CaseResource,
    IAppeal,
    ICase,
    ICaseFile,
    ICaseMod,
    ICases,
)
from modhub_moderation.cases.rulings import Ruling, SubjectState, list_kinds, read_choice
from modhub_moderation.moderators import MODERATION, desk_page, require_moderator

CASES: Final = f"{MODERATION}/cases"
CASE_TEMPLATE: Final = "modhub_moderation:templates/cases/case.jinja2"
CASES_TEMPLATE: Final = "modhub_moderation:templates/cases/cases.jinja2"
RULING_FIELDS: Final = {
    "kind": N_("Decision"),
    "ground": N_("Ground"),
    "basis": N_("Based on"),
    "clause": N_("Clause"),
    "facts": N_("Facts"),
    "until": N_("Ends on"),
    "part": N_("Part"),
    "hidesMods": N_("Hide the mods of the account"),
    "advise": N_("Files to warn about"),
    "advisoryReason": N_("What is known of the files"),
    "advice": N_("What people who have them should do"),
    "after": "",
    "sure": "",
}
"""The fields of the form and their labels."""


@desk_page(context=ICases, request_method=("GET", "POST"), renderer=CASES_TEMPLATE)
def cases_page(_context: Any, request: Request) -> Any:
    """``/Modhub/moderation/cases``: the newest cases, and the form that opens one about a mod or an account."""
    error = None
    typed = {name: query(request, name) or "" for name in ("kind", "number")}
    if not request.is_safe:
        typed = {name: request.POST.get(name, "").strip() for name in ("kind", "number")}
        try:
            return Redirect(f"{CASES}/{_open_own(request, typed['kind'], parse_id(typed['number']) or 0)}")
        except ApiError as refused:
            set_error_status(request, refused)
            error = refused
    with request.databases.readonly_session() as session:
        cases = list_cases(session)
    names = names_of(request.registry, {case.owner_id for case in cases})
    return {"cases": cases, "names": names, "words": words, "typed": typed, "error": error}


def _open_own(request: Request, kind_name: str, number: int) -> int:
    session, moderator_id = request.dbsession, request.authenticated_userid
    require_moderator(session, request.registry, moderator_id)
    subject = _find_subject(request, read_choice(SubjectKind, kind_name, "Choose a mod or an account."), number)
    if subject is None:
        raise invalid("There is no mod or account with this number.")
    if subject.owner_id == moderator_id:
        raise own_case()
    case = open_case(session, subject, Origin.OWN)
    record(session, "case opened", "case", case.id, subject=open_key(subject.kind, subject.id))
    return case.id


def _find_subject(request: Request, kind: SubjectKind, number: int) -> Subject | None:
    """The mod or the account with this number; None if there is none."""
    if kind is SubjectKind.ACCOUNT:
        profile = request.find_service(IProfiles).get_profiles({number}).get(number)
        return None if profile is None else Subject(kind, number, number, profile.name)
    mod = request.find_service(IMods).get_mods(request.dbsession, [number]).get(number)
    return None if mod is None else Subject(kind, number, mod.owner, mod.title)


@desk_page(context=ICase, request_method="GET", renderer=CASE_TEMPLATE)
def case_page(context: CaseResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/moderation/cases/{caseId}``"""
    return case_values(context.id, request)


def case_values(case_id: int | None, request: Request, **more: Any) -> dict[str, Any]:
    """The values of the page; ``typed`` is what a refused form had, ``error`` why."""
    if case_id is None:
        raise not_found()
    moderator_id: int = request.authenticated_userid
    with request.databases.readonly_session() as session:
        view = read_case(session, request.registry, case_id)
        open_appeal = next((row for row in view.appeals.values() if row.decided_at is None), None)
        is_own = moderator_id == view.case.owner_id
        if is_own:
            # Nobody learns who reported them, moderators neither (C-CAS-7).
            view = view._replace(notices=())
        refusal = _refusal(session, request.registry, view, open_appeal, moderator_id)
    last = view.decisions[0] if view.decisions else None
    known = {"ground": view.notices[0].ground if view.notices else "", "after": "" if last is None else str(last.id)}
    typed = {**dict.fromkeys(RULING_FIELDS, ""), **known}
    values = {"view": view, "words": words, "kinds": list_kinds(view.case, last, _state_of(view))}
    values |= {"open_appeal": open_appeal, "refusal": refusal, "is_own": is_own}
    chosen = {"typed": typed, "outcome": "", "reasons": "", "error": None, "done": query(request, "done") or ""}
    say_done = partial(words.say_done, request.registry, translations_for(request))
    return {**values, **chosen, "say_done": say_done, **more}


def _state_of(view: CaseView) -> SubjectState:
    exists = view.mod is not None if view.case.is_of_mod else view.case.owner_id in view.names
    return SubjectState(exists, view.mod is not None and view.mod.hidden, view.blocked)


def _refusal(
    session: Any, registry: Any, view: CaseView, open_appeal: Appeal | None, moderator_id: int
) -> ApiError | None:
    """Why this moderator cannot decide here."""
    if moderator_id == view.case.owner_id:
        return own_case()
    if open_appeal is None:
        return None
    appealed = next(decision for decision in view.decisions if decision.id == open_appeal.decision_id)
    return may_decide(session, registry, view.case, appealed, moderator_id)


@desk_page(
    context=ICase,
    request_method="POST",
    renderer=CASE_TEMPLATE,
    preserve_fields=RULING_FIELDS,
)
def decide_submit(context: CaseResource, request: Request) -> Any:
    """``POST /Modhub/moderation/cases/{caseId}``: decide."""
    typed = {name: request.POST.get(name, "") for name in RULING_FIELDS}
    # A form that was sent again after signing in has all ticks in one field.
    typed["advise"] = " ".join(request.POST.getall("advise"))
    try:
        ruling, after = read_ruling(typed), parse_id(typed["after"])
        if context.id is None:
            raise not_found()
        moderator_id: int = request.authenticated_userid
        decide(request.dbsession, request.registry, context.id, ruling, moderator_id, after=after)
    except ApiError as refused:
        set_error_status(request, refused)
        return case_values(context.id, request, typed=typed, error=refused)
    return Redirect(f"{CASES}/{context.id}?done=decided")


def read_ruling(typed: dict[str, str]) -> Ruling:
    """The ruling in a form; 400 for what cannot be read."""
    kind = read_choice(DecisionKind, typed["kind"], "Choose a decision.")
    if kind is DecisionKind.DELETE and not typed["sure"]:
        raise invalid("Deleting cannot be undone. Tick the box if you are sure.")
    part, _, part_key = typed["part"].partition(":")
    return Ruling(
        kind=kind,
        ground=read_choice(Ground, typed["ground"], "Choose a ground."),
        facts=typed["facts"],
        basis=read_choice(Basis, typed["basis"], "Choose law or terms.") if typed["basis"] else None,
        clause=typed["clause"],
        part=part,
        part_key=part_key,
        hides_mods=bool(typed["hidesMods"]),
        until=_read_day(typed["until"]),
        advised=tuple(typed["advise"].split()),
        advisory_reason=typed["advisoryReason"],
        advice=typed["advice"],
    )


def _read_day(value: str) -> datetime | None:
    """The end of a day, in UTC."""
    if not value.strip():
        return None
    try:
        day = date.fromisoformat(value.strip())
    except ValueError:
        raise invalid("Write the day as 2026-12-31.") from None
    return datetime.combine(day, time(23, 59, 59), UTC)


@desk_page(context=IAppeal, request_method="POST", renderer=CASE_TEMPLATE)
def appeal_submit(context: AppealResource, request: Request) -> Any:
    """``POST /Modhub/moderation/appeals/{appealId}``: decide an appeal."""
    typed = {name: request.POST.get(name, "") for name in ("outcome", "reasons")}
    with request.databases.readonly_session() as session:
        appeal = session.get_one(Appeal, context.id)
        case_id = session.get_one(Decision, appeal.decision_id).case_id
    try:
        outcome = read_choice(AppealOutcome, typed["outcome"], "Choose how the appeal ends.")
        moderator_id: int = request.authenticated_userid
        decide_appeal(request.dbsession, request.registry, appeal.id, Verdict(outcome, typed["reasons"]), moderator_id)
    except ApiError as refused:
        set_error_status(request, refused)
        return case_values(case_id, request, **typed, error=refused)
    return Redirect(f"{CASES}/{case_id}?done=appeal")


_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@desk_page(
    context=ICaseMod,
    name="preview",
    request_method="GET",
)
def case_mod_page(context: CaseModResource, request: Request) -> Any:
    """``GET /Modhub/moderation/cases/{caseId}/mod/preview``; redirects to the public page if there is one."""
    mod, case = _mod_of(context, request), f"{CASES}/{context.__parent__.id}"
    if mod.published:
        return Redirect(f"/Modhub/{mod.id}")
    return request.find_service(IModeration).previews.show_page(request, mod, f"{case}/mod", case)


@desk_page(
    context=ICaseFile,
    request_method="GET",
)
def case_file_page(context: CaseFileResource, request: Request) -> Any:
    """``GET …/mod/images/{assetId}``, to be shown in the page, and ``GET …/mod/files/{sha256}``, to be saved."""
    files, name = context.__parent__, context.__name__
    mod = _mod_of(files.__parent__, request)
    previews = request.find_service(IModeration).previews
    with request.databases.readonly_session() as session:
        if files.__name__ == CASE_IMAGES:
            file = previews.find_image(session, mod, parse_id(name))
        elif _DIGEST.fullmatch(name):
            file = previews.find_file(session, mod, name)
        else:
            raise not_found()
    return file_response(request, request.store, file)


def _mod_of(context: CaseModResource, request: Request) -> ModSummary:
    with request.databases.readonly_session() as session:
        mod = context.find_mod(session)
    if mod is None:
        raise not_found()
    return mod
