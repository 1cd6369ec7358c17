"""What the person concerned sees: their decisions with the reasons, and the form to appeal, also without a session."""

from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.base.errors import ApiError
from modhub.base.identity import CredentialKind
from modhub.content.text import N_
from modhub.plugins.resources import IOwnMod
from modhub.ui.forms import set_error_status
from modhub.ui.template_helpers import translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_moderation.cases import words
from modhub_moderation.cases.appeals import create_appeal, find_by_secret, read_blocked_link
from modhub_moderation.cases.models import Decision
from modhub_moderation.cases.read_service import list_own_decisions, read_own_decision
from modhub_moderation.cases.resources import (
    DecisionPermission,
    IAppealLink,
    IOwnDecision,
    IOwnDecisions,
    OwnDecisionResource,
)
from modhub_moderation.cases.statements import APPEAL_PAGE, OWN_DECISIONS, REDRESS, REDRESS_AFTER, reasons

DECISION_TEMPLATE: Final = "modhub_moderation:templates/cases/decision.jinja2"
DECISIONS_TEMPLATE: Final = "modhub_moderation:templates/cases/decisions.jinja2"
APPEAL_FIELDS: Final = {"text": N_("Why the decision is wrong"), "token": ""}
"""The fields of the form and their labels; the link's secret is sent again, and not shown."""


def unknown_link() -> ApiError:
    """404: no statement has this link (C-APL-3)."""
    message = N_("This link is not of a decision. Check that it is whole.")
    return ApiError(404, "dead_link", message, headers={"Referrer-Policy": "no-referrer"})


@page(context=IOwnDecisions, request_method="GET", permission=DecisionPermission.READ, renderer=DECISIONS_TEMPLATE)
def own_decisions_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/decisions``"""
    _keep_private(request)
    with request.databases.readonly_session() as session:
        decisions = list_own_decisions(session, request.authenticated_userid)
    return {"decisions": decisions, **_words(request)}


@page(context=IOwnDecision, request_method="GET", permission=DecisionPermission.READ, renderer=DECISION_TEMPLATE)
def own_decision_page(context: OwnDecisionResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/decisions/{decisionId}``"""
    return _decision_values(request, context.id or 0)


@page(
    context=IOwnDecision,
    request_method="POST",
    permission=DecisionPermission.APPEAL,
    renderer=DECISION_TEMPLATE,
    preserve_fields=APPEAL_FIELDS,
)
def own_appeal_submit(context: OwnDecisionResource, request: Request) -> Any:
    """``POST /Modhub/decisions/{decisionId}``: appeal."""
    return _appeal(request, context.id or 0, f"{OWN_DECISIONS}/{context.id}?done=appealed")


@page(
    context=IAppealLink,
    request_method=("GET", "POST"),
    permission=OPEN,
    renderer=DECISION_TEMPLATE,
    preserve_fields=APPEAL_FIELDS,
)
def linked_decision_page(_context: Any, request: Request) -> Any:
    """``/Modhub/appeal?token=…``: the statement of this link, also for a blocked account, and the appeal.

    The form has the token in a field, so that no history has it.
    """
    secret = request.POST.get("token", "") or query(request, "token") or ""
    decision_id = _linked(request, secret)
    if request.is_safe:
        return _decision_values(request, decision_id, token_value=secret)
    return _appeal(request, decision_id, f"{APPEAL_PAGE}?token={secret}&done=appealed", token_value=secret)


def _linked(request: Request, secret: str) -> int:
    request.response.headers["Referrer-Policy"] = "no-referrer"
    with request.databases.readonly_session() as session:
        decision = find_by_secret(session, secret)
        if decision is None:
            number = read_blocked_link(request, secret)
            decision = None if number is None else session.get(Decision, number)
    # Of a deleted account nobody reads anything.
    if decision is None or decision.appeal_hash is None:
        raise unknown_link()
    return decision.id


def _appeal(request: Request, decision_id: int, then: str, **more: Any) -> Any:
    text = request.POST.get("text", "")
    try:
        create_appeal(request.dbsession, decision_id, text)
    except ApiError as refused:
        set_error_status(request, refused)
        return _decision_values(request, decision_id, text=text, error=refused, **more)
    return Redirect(then)


def _decision_values(request: Request, decision_id: int, **more: Any) -> dict[str, Any]:
    _keep_private(request)
    with request.databases.readonly_session() as session:
        own = read_own_decision(session, decision_id)
    messages = translations_for(request)
    lines = list(reasons(request.registry, messages, own.case, own.decision, own.case.title))
    values = {
        "own": own,
        "lines": lines,
        "redress": messages.gettext(REDRESS if own.standing.can_appeal else REDRESS_AFTER),
        "token_value": "",
        "text": "",
        "error": None,
    }
    return {**values, "done": query(request, "done") or "", **_words(request), **more}


def _words(request: Request) -> dict[str, Any]:
    messages = translations_for(request)
    return {
        "words": words,
        "say_done": lambda decision: words.say_done(request.registry, messages, decision),
        "say_subject": lambda case: words.say_subject(messages, case, case.title),
    }


def _keep_private(request: Request) -> None:
    request.response.headers["Cache-Control"] = "no-store"


def decisions_panel(context: Any, request: Request) -> Markup | None:
    """The decisions about a mod, on its owner's page."""
    if not IOwnMod.providedBy(context) or context.id is None:
        return None
    with request.databases.readonly_session() as session:
        decisions = list_own_decisions(session, context.owner, mod_id=context.id)
    if not decisions:
        return None
    values = {"decisions": decisions, **_words(request)}
    return Markup(render("modhub_moderation:templates/cases/workshop.jinja2", values, request=request))  # noqa: S704 - a template


def account_decisions_panel(_context: Any, request: Request) -> Markup | None:
    """The way to the decisions on the account's page, if there are any."""
    account_id = request.identify(CredentialKind.ACCOUNT).account_id
    if account_id is None:
        return None
    with request.databases.readonly_session() as session:
        if not list_own_decisions(session, account_id):
            return None
    return Markup(render("modhub_moderation:templates/cases/account.jinja2", {}, request=request))  # noqa: S704 - a template
