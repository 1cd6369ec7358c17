"""``/Modhub/{id}``: a mod for whoever wants to judge and install it."""

import re
from functools import partial
from typing import Any, Final

from markupsafe import Markup
from pyramid.response import Response

from modhub.catalogue import voting
from modhub.catalogue.owners import staying_caller
from modhub.catalogue.pages.browse import page_reader
from modhub.catalogue.pages.people import name_authors
from modhub.catalogue.pages.reading import Detail
from modhub.catalogue.pages.shown import Shown
from modhub.catalogue.resources import Mod, ModPermission, Votes
from modhub.errors import invalid, not_found
from modhub.folding import fold_game
from modhub.identity import Credential
from modhub.interfaces import IMod, IVotes
from modhub.outline import Outline
from modhub.pages.answers import Redirect
from modhub.pages.shapes import parse
from modhub.pages.tools import Tools
from modhub.payload import query
from modhub.request import Request
from modhub.views import OPEN, page

SHOW: Final = "modhub:templates/catalogue/mod.jinja2"
PIECES: Final = "modhub:templates/catalogue/mod_"
_VALUES: Final = {"1": 1, "0": 0, "-1": -1}
_HEADING = re.compile(r"<(/?)h([234])>")


def demoted(cleaned: str, below: int = 2) -> Markup:
    """Owner's HTML, cleaned when it was written, with its headings under one of ours of the level ``below``."""
    outline, opened = Outline(below), list[int]()

    def heading(tag: re.Match[str]) -> str:
        if not tag[1]:
            opened.append(outline.level(int(tag[2])))
            return f"<h{opened[-1]}>"
        return f"</h{opened.pop()}>"

    return Markup(_HEADING.sub(heading, cleaned))  # noqa: S704 - cleaned on write


def asked_notes(request: Request) -> int:
    """The page of the changelog that is asked for."""
    asked = query(request, "changelog") or ""
    return int(asked) if re.fullmatch(r"[0-9]{1,6}", asked, re.ASCII) else 1


def page_values(request: Request, detail: Detail, preview: str = "") -> dict[str, Any]:
    """What the template of a mod's page needs. ``preview``: the mod's address in the workshop, while it is a draft."""
    ui = Tools(request)
    pieces = partial(ui.piece, shown=Shown, document=detail.face, odd=detail.odd)
    base, games, notes = ui.absolute(""), page_reader(request).games(), detail.notes
    # How long ago things were, in words, stands for the time that goes by.
    entries = tuple((note, _said(ui, note.created_at), _said(ui, note.edited_at)) for note in notes.shown)
    drawn = {
        "head": pieces(PIECES + "head.jinja2", base=base),
        "top": pieces(
            PIECES + "top.jinja2",
            base=base,
            author=detail.author,
            since=detail.since,
            said=_said(ui, detail.mod.updated_at),
            games=games,
            fold_game=fold_game,
        ),
        "facts": pieces(
            PIECES + "facts.jinja2", ups=detail.ups, downs=detail.downs, sha256=detail.sha256, preview=bool(preview)
        ),
        "main": pieces(
            PIECES + "main.jinja2",
            related=detail.relations,
            entries=entries,
            page=notes.page,
            pages=notes.pages,
            html=demoted,
            preview=bool(preview),
        ),
    }
    return {"mod": detail.mod, "drawn": drawn, "own_vote": None, "is_owner": False, "preview": preview}


def _said(ui: Tools, stamp: str | None) -> str:
    return ui.ago(parse(stamp)) if stamp else ""


@page(context=IMod, request_method="GET", permission=OPEN, renderer=SHOW)
def show(context: Mod, request: Request) -> dict[str, Any]:
    """``GET /Modhub/{id}``; what is absent and what is not published are one (interface, "Mod publication")."""
    detail = page_reader(request).detail(context.id, asked_notes(request))
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


@page(context=IVotes, request_method="POST", permission=ModPermission.VOTE, keeps={"value": ""})
def vote(context: Votes, request: Request) -> Response:
    """``POST /Modhub/{id}/vote``: ``value`` is 1, -1 or, to withdraw, 0 (decisions 2.16)."""
    value = _VALUES.get(request.POST.get("value", ""))
    if value is None:
        raise invalid("The field %(field)s must be 1, 0 or -1.", field="value")
    voting.vote(request.dbsession, context.mod.id, staying_caller(request), value)
    return Redirect(f"/Modhub/{context.mod.id}#votes")
