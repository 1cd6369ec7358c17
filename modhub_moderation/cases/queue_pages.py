"""``/Modhub/moderation/queue`` and ``/Modhub/moderation/bulk``: a moderator's day, and deciding about many at once."""

from typing import Any, Final

from pyramid.config import Configurator
from zope.interface import implementer

from modhub.base.errors import ApiError
from modhub.plugins.resources import IResource
from modhub.ui.forms import set_error_status
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.traversal import Resource, parse_id
from modhub.web.views import page
from modhub_moderation.cases import words
from modhub_moderation.cases.many import KINDS_FOR_MANY, check_for_many, decide_all, list_chosen
from modhub_moderation.cases.pages import RULING_FIELDS, read_ruling
from modhub_moderation.cases.queue_reads import CASES_SHOWN, read_queue
from modhub_moderation.cases.read_service import names_of
from modhub_moderation.moderators import MODERATION, IModerationDesk, ModerationPermission

QUEUE: Final = f"{MODERATION}/queue"
QUEUE_TEMPLATE: Final = "modhub_moderation:templates/queue/queue.jinja2"
MANY_TEMPLATE: Final = "modhub_moderation:templates/queue/many.jinja2"
MAX_PAGE: Final = 10_000
MANY_FIELDS: Final = {**RULING_FIELDS, "cases": ""}
"""The fields of the form; ``cases`` are the chosen numbers, separated by spaces."""


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
    renderer=QUEUE_TEMPLATE,
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


@page(context=IBulk, request_method="GET", permission=ModerationPermission.DECIDE, renderer=MANY_TEMPLATE)
def many_page(_context: Any, request: Request) -> Any:
    """``GET /Modhub/moderation/bulk?case=1&case=2``: the chosen cases with the form to decide; else the queue."""
    chosen = " ".join(request.GET.getall("case"))
    if not chosen:
        return Redirect(QUEUE)
    return _many_values(request, typed={**dict.fromkeys(MANY_FIELDS, ""), "cases": chosen})


def _many_values(request: Request, *, typed: dict[str, str], **more: Any) -> dict[str, Any]:
    with request.databases.readonly_session() as session:
        cases = list_chosen(session, _numbers(typed["cases"]))
    names = names_of(request.registry, {case.owner_id for case in cases})
    shown = {"cases": cases, "names": names, "words": words, "kinds": KINDS_FOR_MANY, "typed": typed}
    return {**shown, "outcomes": None, "error": None, **more}


def _numbers(typed: str) -> list[int]:
    return [number for word in typed.split() if (number := parse_id(word)) is not None]


@page(
    context=IBulk,
    request_method="POST",
    permission=ModerationPermission.DECIDE,
    renderer=MANY_TEMPLATE,
    preserve_fields=MANY_FIELDS,
)
def many_submit(_context: Any, request: Request) -> dict[str, Any]:
    """``POST /Modhub/moderation/bulk``: decide about each of the chosen cases."""
    typed = {name: request.POST.get(name, "") for name in MANY_FIELDS}
    values = _many_values(request, typed=typed)
    try:
        ruling = read_ruling(typed)
        check_for_many(ruling)
    except ApiError as refused:
        set_error_status(request, refused)
        return {**values, "error": refused}
    return {**values, "outcomes": decide_all(request, values["cases"], ruling)}


def includeme(config: Configurator) -> None:
    """Mount the pages."""
    config.add_child(IModerationDesk, "queue", QueueResource)
    config.add_child(IModerationDesk, "bulk", BulkResource)
    config.scan("modhub_moderation.cases.queue_pages")
