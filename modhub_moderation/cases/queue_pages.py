"""``/Modhub/moderation/queue`` and ``/Modhub/moderation/bulk``: a moderator's day, and deciding about many at once."""

from collections.abc import Sequence
from typing import Any, Final

from pyramid.config import Configurator
from zope.interface import implementer

from modhub.base.errors import ApiError, invalid
from modhub.content.text import N_
from modhub.plugins.resources import IResource
from modhub.ui.forms import set_error_status
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.traversal import Resource
from modhub.web.views import page
from modhub_moderation.cases import words
from modhub_moderation.cases.models import DecisionKind, SubjectKind
from modhub_moderation.cases.pages import RULING_FIELDS, read_ruling
from modhub_moderation.cases.queue_bulk import (
    BULK_KINDS,
    MOST_AT_A_TIME,
    BulkItem,
    BulkSelection,
    PlannedItem,
    find_items,
    plan,
    read_items,
    read_numbers,
)
from modhub_moderation.cases.queue_reads import CASES_SHOWN, read_queue
from modhub_moderation.cases.queue_run import decide_all
from modhub_moderation.cases.rulings import Ruling
from modhub_moderation.moderators import MODERATION, IModerationDesk, ModerationPermission

QUEUE: Final = f"{MODERATION}/queue"
BULK: Final = f"{MODERATION}/bulk"
_TEMPLATES: Final = "modhub_moderation:templates/queue/"
MAX_PAGE: Final = 10_000
BULK_FIELDS: Final = {
    "kind": N_("Decision"),
    "ground": N_("Ground"),
    "basis": N_("Based on"),
    "clause": N_("Clause"),
    "facts": N_("Facts"),
    "mods": N_("Numbers of mods"),
    "accounts": N_("Numbers of accounts"),
    "hidesMods": N_("Hide the mods of the accounts"),
}
"""The fields of the form and their labels; besides them ``case``, any number of times."""
WILL: Final = {
    DecisionKind.HIDE: N_("will be hidden"),
    DecisionKind.DELETE: N_("will be deleted"),
    DecisionKind.BLOCK: N_("will be blocked"),
    DecisionKind.DISMISS: N_("will be dismissed"),
}
"""What will happen to each."""


class IQueue(IResource):
    """``/Modhub/moderation/queue``"""


class IBulk(IResource):
    """``/Modhub/moderation/bulk``"""


@implementer(IQueue)
class QueueResource(Resource):
    """The queue; the desk above it has checked the visitor."""


@implementer(IBulk)
class BulkResource(Resource):
    """Decisions about many; the desk above it has checked the visitor."""


@page(context=IModerationDesk, request_method="GET", permission=ModerationPermission.DECIDE)
def desk_page(_context: Any, _request: Request) -> Redirect:
    """``GET /Modhub/moderation``"""
    return Redirect(QUEUE)


@page(
    context=IQueue,
    request_method="GET",
    permission=ModerationPermission.DECIDE,
    renderer=f"{_TEMPLATES}queue.jinja2",
)
def queue_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/moderation/queue``"""
    page_text = query(request, "page") or ""
    number = (
        int(page_text) if page_text.isascii() and page_text.isdigit() and len(page_text) <= len(str(MAX_PAGE)) else 1
    )
    number = min(max(number, 1), MAX_PAGE)
    with request.databases.readonly_session() as session:
        view = read_queue(session, request.registry, number)
    pages = max(1, -(-view.total // CASES_SHOWN))
    # Nobody learns who reported them, moderators neither (C-CAS-7).
    reader = {"reader_id": request.authenticated_userid}
    return {"view": view, "words": words, "number": number, "pages": pages, **reader}


@page(context=IBulk, request_method="GET", permission=ModerationPermission.DECIDE, renderer=f"{_TEMPLATES}bulk.jinja2")
def bulk_page(_context: Any, _request: Request) -> dict[str, Any]:
    """``GET /Modhub/moderation/bulk``"""
    return _values()


def _values(**more: Any) -> dict[str, Any]:
    kinds = {kind: words.DECISION_KINDS[kind] for kind in BULK_KINDS}
    shown = {"words": words, "kinds": kinds, "will": WILL, "most": MOST_AT_A_TIME, "kind_of_mod": SubjectKind.MOD}
    state: dict[str, Any] = {
        "typed": dict.fromkeys(BULK_FIELDS, ""),
        "cases": [],
        "items": (),
        "planned": None,
        "outcomes": None,
        "error": None,
    }
    return {**shown, **state, **more}


@page(
    context=IBulk,
    request_method="POST",
    permission=ModerationPermission.DECIDE,
    renderer=f"{_TEMPLATES}bulk.jinja2",
    preserve_fields=BULK_FIELDS,
)
def bulk_submit(_context: Any, request: Request) -> dict[str, Any]:
    """``POST /Modhub/moderation/bulk``: list what would happen; with ``confirmed``, do what was listed."""
    typed = {name: request.POST.get(name, "") for name in BULK_FIELDS}
    cases, is_confirmed = request.POST.getall("case"), bool(request.POST.get("confirmed"))
    if request.POST.get("begin"):  # from the queue: cases are chosen, and nothing else is
        return _values(typed=typed, cases=cases)
    try:
        ruling = _read_ruling(typed)
        items = read_items(request.POST.getall("item")) if is_confirmed else _find_items(request, cases, typed, ruling)
        planned = _plan(request, items, ruling)
    except ApiError as refused:
        set_error_status(request, refused)
        return _values(typed=typed, cases=cases, error=refused)
    if is_confirmed:
        return _values(typed=typed, kind=ruling.kind, outcomes=decide_all(request, planned, ruling))
    return _values(typed=typed, cases=cases, planned=planned, kind=ruling.kind)


def _read_ruling(typed: dict[str, str]) -> Ruling:
    # What cannot be undone is asked for by the list itself.
    ruling = read_ruling({**dict.fromkeys(RULING_FIELDS, ""), **typed, "sure": "1"})
    if ruling.kind not in BULK_KINDS:
        raise invalid("Choose a decision.")
    return ruling


def _find_items(request: Request, cases: Sequence[str], typed: dict[str, str], ruling: Ruling) -> list[BulkItem]:
    chosen = BulkSelection(read_numbers(" ".join(cases)), read_numbers(typed["mods"]), read_numbers(typed["accounts"]))
    with request.databases.readonly_session() as session:
        return find_items(session, request.registry, chosen, ruling.kind)


def _plan(request: Request, items: Sequence[BulkItem], ruling: Ruling) -> list[PlannedItem]:
    moderator_id: int = request.authenticated_userid
    with request.databases.readonly_session() as session:
        return plan(session, request.registry, items, ruling, moderator_id)


def includeme(config: Configurator) -> None:
    """Mount the pages."""
    config.add_child(IModerationDesk, "queue", QueueResource)
    config.add_child(IModerationDesk, "bulk", BulkResource)
    config.scan("modhub_moderation.cases.queue_pages")
