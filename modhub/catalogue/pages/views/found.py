"""``/Modhub/authors`` and ``/Modhub/descriptions``: all that a group beneath the list has only the beginning of."""

from typing import Any, Final
from urllib.parse import urlencode

from modhub.catalogue.pages.container import PageServices
from modhub.catalogue.pages.views.browse import page_numbers, page_reader, render_cards
from modhub.catalogue.public_views import list_params
from modhub.catalogue.read_service import ListParams
from modhub.content.text import N_
from modhub.plugins.resources import ISite
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub.web.views import OPEN, page

FOUND_TEMPLATE: Final = "modhub.catalogue:templates/found.jinja2"


@page(context=ISite, name="authors", request_method="GET", permission=OPEN, renderer=FOUND_TEMPLATE)
def found_authors_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/authors``: the authors of published mods whose name has all words of ``q``, 20 a ``page``."""
    params, groups = _params(request), request.find_service(PageServices).groups
    authors = groups.authors(params.q, params.size, (params.page - 1) * params.size)
    values = _values(params, groups.authors_total(params.q), "authors")
    return values | {"heading": _say(request, N_("Authors")), "label": _say(request, N_("Name")), "authors": authors}


@page(context=ISite, name="descriptions", request_method="GET", permission=OPEN, renderer=FOUND_TEMPLATE)
def described_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/descriptions``: the mods with all words of ``q`` in their description, 20 a ``page``."""
    params = _params(request)
    listing = request.find_service(PageServices).groups.described(params)
    heading, label = N_("In descriptions"), N_("Words of a description")
    return _values(params, listing.total, "descriptions") | {
        "heading": _say(request, heading),
        "label": _say(request, label),
        "cards": render_cards(request, listing.cards, page_reader(request).games()),
    }


def _params(request: Request) -> ListParams:
    asked = list_params(request)
    return ListParams(q=asked.q, page=asked.page)


def _say(request: Request, text: str) -> str:
    return translations_for(request).gettext(text)


def _values(params: ListParams, total: int, name: str) -> dict[str, Any]:
    path, pages = f"/Modhub/{name}", max(1, -(-total // params.size))

    def address(number: int) -> str:
        return f"{path}?{urlencode({'q': params.q, 'page': number} if number > 1 else {'q': params.q})}"

    return {
        "params": params,
        "path": path,
        "total": total,
        "pages": pages,
        "numbers": list(page_numbers(min(params.page, pages), pages)),
        "address": address,
        "authors": [],
        "cards": None,
    }
