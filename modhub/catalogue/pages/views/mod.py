"""``/Modhub/{id}``: a mod for whoever wants to judge and install it."""

import re
from functools import partial
from typing import Any, Final

from markupsafe import Markup
from pyramid.response import Response

from modhub.catalogue import voting
from modhub.catalogue.owner_views import locked_account_id
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries.authors import name_authors
from modhub.catalogue.pages.queries.page_queries import ModDetail
from modhub.catalogue.pages.views.browse import page_reader
from modhub.catalogue.resources import ModPermission, ModResource, VotesResource
from modhub.errors import invalid, not_found
from modhub.folding import fold_game
from modhub.interfaces import IMod, IVotes
from modhub.outline import Outline
from modhub.payload import query
from modhub.request import Request
from modhub.security.identity import CredentialKind
from modhub.ui.formatting import parse_timestamp
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import Redirect
from modhub.views import OPEN, page

SHOW: Final = "modhub.catalogue:templates/mod.jinja2"
MOD_FRAGMENTS: Final = "modhub.catalogue:templates/mod_"
_VALUES: Final = {"1": 1, "0": 0, "-1": -1}
_HEADING = re.compile(r"<(/?)h([234])>")


def shift_headings(cleaned: str, below: int = 2) -> Markup:
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


def page_values(request: Request, detail: ModDetail, preview: str = "") -> dict[str, Any]:
    """What the template of a mod's page needs. ``preview``: the mod's address in the workshop, while it is a draft."""
    ui = PageHelpers(request)
    pieces = partial(ui.cached_fragment, shown=ModPresenter, document=detail.document_bytes, odd=detail.odd)
    base, games, notes = ui.absolute(""), page_reader(request).games(), detail.notes
    # How long ago things were, in words, stands for the time that goes by.
    entries = tuple((note, _said(ui, note.created_at), _said(ui, note.edited_at)) for note in notes.shown)
    drawn = {
        "head": pieces(MOD_FRAGMENTS + "head.jinja2", base=base),
        "top": pieces(
            MOD_FRAGMENTS + "top.jinja2",
            base=base,
            author=detail.author,
            since=detail.since,
            said=_said(ui, detail.mod.updated_at),
            games=games,
            fold_game=fold_game,
        ),
        "facts": pieces(
            MOD_FRAGMENTS + "facts.jinja2",
            ups=detail.ups,
            downs=detail.downs,
            sha256=detail.sha256,
            preview=bool(preview),
        ),
        "main": pieces(
            MOD_FRAGMENTS + "main.jinja2",
            related=detail.relations,
            entries=entries,
            page=notes.page,
            pages=notes.pages,
            html=shift_headings,
            preview=bool(preview),
        ),
    }
    return {"mod": detail.mod, "drawn": drawn, "own_vote": None, "is_owner": False, "preview": preview}


def _said(ui: PageHelpers, stamp: str | None) -> str:
    return ui.ago(parse_timestamp(stamp)) if stamp else ""


@page(context=IMod, request_method="GET", permission=OPEN, renderer=SHOW)
def mod_page(context: ModResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/{id}``; what is absent and what is not published are one (C-OWN-9)."""
    detail = page_reader(request).detail(context.id, asked_notes(request))
    if detail is None:
        raise not_found()
    name_authors(request, [detail])
    values = page_values(request, detail)
    account = request.identify(CredentialKind.ACCOUNT).account_id
    if account is not None:
        values["is_owner"] = account == detail.owner
        values["own_vote"] = voting.vote_of(request.dbsession, context.id, account)
    return values


@page(context=IVotes, request_method="GET", permission=ModPermission.VOTE)
def to_votes(context: VotesResource, _request: Request) -> Response:
    """``GET /Modhub/{id}/vote``: where somebody comes back to who had to sign in first."""
    return Redirect(f"/Modhub/{context.mod.id}#votes")


@page(context=IVotes, request_method="POST", permission=ModPermission.VOTE, preserve_fields={"value": ""})
def vote_page(context: VotesResource, request: Request) -> Response:
    """``POST /Modhub/{id}/vote``: ``value`` is 1, -1 or, to withdraw, 0 (C-VOTE-1)."""
    value = _VALUES.get(request.POST.get("value", ""))
    if value is None:
        raise invalid("The field %(field)s must be 1, 0 or -1.", field="value")
    voting.cast_vote(request.dbsession, context.mod.id, locked_account_id(request), value)
    return Redirect(f"/Modhub/{context.mod.id}#votes")
