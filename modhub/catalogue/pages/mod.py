"""``/Modhub/{id}``: a mod for whoever wants to judge and install it."""

import re
from collections.abc import Callable
from typing import Any, Final

from markupsafe import Markup
from pyramid.response import Response

from modhub.catalogue import voting
from modhub.catalogue.owners import staying_caller
from modhub.catalogue.pages.browse import page_reader
from modhub.catalogue.pages.people import name_authors
from modhub.catalogue.pages.reading import Detail
from modhub.catalogue.resources import Mod, ModPermission, Votes
from modhub.errors import invalid, not_found
from modhub.folding import fold_game
from modhub.interfaces import IMod, IVotes
from modhub.pages.answers import Redirect
from modhub.payload import query
from modhub.request import Request
from modhub.security import Credential
from modhub.views import OPEN, page

NOTES = 10
"""Changelog entries on one page."""
SHOW: Final = "modhub:templates/catalogue/mod.jinja2"
_VALUES: Final = {"1": 1, "0": 0, "-1": -1}
_HEADING = re.compile(r"<(/?)h([234])>")


def demoted(cleaned: str, by: int = 1) -> Markup:
    """Owner's HTML, cleaned when it was written, with its headings below those of the page."""
    return Markup(_HEADING.sub(lambda tag: f"<{tag[1]}h{int(tag[2]) + by}>", cleaned))  # noqa: S704 - cleaned on write


def notes_page(request: Request, total: int) -> tuple[int, int]:
    """(page of the changelog that is asked for, number of pages)."""
    pages = max(1, -(-total // NOTES))
    asked = query(request, "changelog") or ""
    number = int(asked) if re.fullmatch(r"[0-9]{1,6}", asked, re.ASCII) else 1
    return min(max(number, 1), pages), pages


def page_values(request: Request, detail: Detail) -> dict[str, Any]:
    """What the template of a mod's page needs."""
    number, pages = notes_page(request, len(detail.notes))
    html: Callable[..., Markup] = demoted
    return {
        "detail": detail,
        "mod": detail.mod,
        "games": page_reader(request).games(),
        "fold_game": fold_game,
        "notes": detail.notes[(number - 1) * NOTES : number * NOTES],
        "notes_page": number,
        "notes_pages": pages,
        "html": html,
        "own_vote": None,
        "is_owner": False,
        "preview": "",
    }


@page(context=IMod, request_method="GET", permission=OPEN, renderer=SHOW)
def show(context: Mod, request: Request) -> dict[str, Any]:
    """``GET /Modhub/{id}``; what is absent and what is not published are one (interface, "Mod publication")."""
    detail = page_reader(request).detail(context.id)
    if detail is None:
        raise not_found()
    name_authors(request, [detail])
    values = page_values(request, detail)
    account = request.identify(Credential.ACCOUNT).account_id
    if account is not None:
        values["is_owner"] = account == detail.owner
        values["own_vote"] = voting.vote_of(request.dbsession, context.id, account)
    return values


@page(context=IVotes, request_method="GET", permission=ModPermission.VOTE)
def to_votes(context: Votes, _request: Request) -> Response:
    """``GET /Modhub/{id}/vote``: where somebody comes back to who had to sign in first."""
    return Redirect(f"/Modhub/{context.mod.id}#votes")


@page(context=IVotes, request_method="POST", permission=ModPermission.VOTE)
def vote(context: Votes, request: Request) -> Response:
    """``POST /Modhub/{id}/vote``: ``value`` is 1, -1 or, to withdraw, 0 (decisions 2.16)."""
    value = _VALUES.get(request.POST.get("value", ""))
    if value is None:
        raise invalid("The field value must be 1, 0 or -1.")
    voting.vote(request.dbsession, context.mod.id, staying_caller(request), value)
    return Redirect(f"/Modhub/{context.mod.id}#votes")
