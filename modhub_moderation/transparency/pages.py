"""The public report as a page and as JSON."""

from datetime import date
from typing import Any, Final

from pyramid.response import Response
from zope.interface import implementer

from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.db import Databases
from modhub.plugins.resources import IResource
from modhub.ui.template_helpers import nav_link
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.traversal import Resource
from modhub.web.views import OPEN, page
from modhub_moderation.cases.models import DecisionKind
from modhub_moderation.cases.words import GROUNDS
from modhub_moderation.transparency.report import FEW, TransparencyReport, read_report

TRANSPARENCY: Final = "/Modhub/transparency"
_TEMPLATE: Final = "modhub_moderation:templates/transparency.jinja2"
REPORT_TITLE: Final = N_("Transparency")
DECISIONS: Final = {
    DecisionKind.HIDE.value: N_("Mods hidden"),
    DecisionKind.REMOVE.value: N_("Parts removed"),
    DecisionKind.BLOCK.value: N_("Accounts blocked"),
    DecisionKind.DELETE.value: N_("Mods deleted"),
    DecisionKind.DISMISS.value: N_("Nothing done"),
    DecisionKind.RELEASE.value: N_("Undone"),
    DecisionKind.UNBLOCK.value: N_("Accounts unblocked"),
    "automatic": N_("Of all, made automatically"),
}
"""The rows of decisions."""
APPEALS: Final = {
    "received": N_("Received"),
    "upheld": N_("Decision stands"),
    "reversed": N_("Decision undone"),
}
"""The rows of appeals."""


class ITransparency(IResource):
    """``/Modhub/transparency`` and ``/Modhub/transparency.json``"""


@implementer(ITransparency)
class TransparencyResource(Resource):
    """The report, for everybody."""

    @property
    def is_json(self) -> bool:
        """Whether the address asks for the JSON."""
        return bool(self.__name__.endswith(".json"))


@page(context=ITransparency, request_method="GET", permission=OPEN, renderer=_TEMPLATE)
def transparency_page(context: TransparencyResource, request: Request) -> Any:
    """``GET /Modhub/transparency``, and the same as JSON."""
    report = _read(request.registry)
    if context.is_json:
        response: Response = public_json(encode(report))
        return response
    months = [(date.fromisoformat(f"{month.month}-01"), month) for month in report.months]
    return {"months": months, "grounds": GROUNDS, "decisions": DECISIONS, "appeals": APPEALS, "few": FEW}


def _read(registry: Any) -> TransparencyReport:
    with find_service(registry, Databases).readonly_session() as session:
        return read_report(session)


def footer_link(_context: Any, request: Request) -> Any:
    """The entry in the footer."""
    return nav_link(request, TRANSPARENCY, REPORT_TITLE)


def in_sitemap(_registry: Any, _part: int) -> list[tuple[str, str | None]]:
    """The page."""
    return [(TRANSPARENCY, None)]
