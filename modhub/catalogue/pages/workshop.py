"""``/Modhub/mine…``: an author makes, fills, publishes and deletes a mod with forms alone (decisions 9).

The same service functions as the API; what they refuse is shown beside the field, with the input kept.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from modhub import limits, text
from modhub.catalogue import services
from modhub.catalogue.owners import caller, staying_caller
from modhub.catalogue.pages.browse import page_reader
from modhub.catalogue.pages.drafts import Draft, own_draft, own_notes, tasks
from modhub.catalogue.pages.mod import demoted
from modhub.catalogue.payloads import ModChange, NewMod
from modhub.catalogue.resources import Mod, ModPermission
from modhub.errors import Refusal
from modhub.folding import fold_game
from modhub.interfaces import IMine, IOwnMod
from modhub.pages import forms
from modhub.pages.answers import Redirect
from modhub.payload import query
from modhub.request import Request
from modhub.views import page

MINE: Final = "modhub:templates/workshop/mine.jinja2"
NEW: Final = "modhub:templates/workshop/new.jinja2"
EDIT: Final = "modhub:templates/workshop/edit.jinja2"
FIELDS: Final = ("title", "description", "games", "requires", "conflictsWith")
_LISTS: Final = frozenset({"games", "requires", "conflictsWith"})
Values = Mapping[str, Any]
form = partial(page, containment=IMine, request_method="POST", permission=ModPermission.EDIT, renderer=EDIT)
"""A form of a mod's workshop page; where it is refused, the page is shown again."""


def read_details(request: Request) -> tuple[dict[str, Any], dict[str, str]]:
    """(fields as the service takes them, the input as it was typed); a list has one entry a line."""
    typed = {name: "\n".join(request.POST.getall(name)) for name in FIELDS if name in request.POST}
    plain = {name: value.replace("\r\n", "\n") for name, value in typed.items()}
    given: dict[str, Any] = {
        name: [line.strip() for line in value.split("\n") if line.strip()] if name in _LISTS else value
        for name, value in plain.items()
    }
    if "conflictsWith" in given:
        given["conflicts_with"] = given.pop("conflictsWith")
    return given, plain


def trimmed(given: Values) -> list[str]:
    """Which fields were too long and lost their end (interface, "Over-long text is trimmed, not refused")."""
    games = given.get("games") or []
    long = {
        "title": len(text.line(given.get("title") or "", 10 * limits.TITLE)) > limits.TITLE,
        "description": len(given.get("description") or "") > limits.DESCRIPTION,
        "games": len(games) > limits.GAMES or any(len(game) > limits.GAME for game in games),
    }
    return [name for name, lost in long.items() if lost]


def blame(refusal: Refusal) -> str:
    """The field that a refusal's sentence names; empty where it names none."""
    return next((name for name in ("conflictsWith", "requires", "games", "title") if name in refusal.message), "")


def done(context_id: int, what: str, lost: list[str] | None = None, anchor: str = "") -> Redirect:
    """Back to the mod's page, which says what was done."""
    said = urlencode({"done": what, **({"trimmed": " ".join(lost)} if lost else {})})
    return Redirect(f"/Modhub/mine/{context_id}?{said}{anchor}")


def bench(request: Request, mod_id: int | None, **more: Any) -> dict[str, Any]:
    """What the template of a mod's workshop page needs. ``errors`` and ``typed`` are of a form that was refused."""
    session = request.dbsession
    draft: Draft = own_draft(session, mod_id, caller(request))
    reader = page_reader(request)
    games = reader.games()
    return {
        "draft": draft,
        "mod": draft.mod,
        "notes": own_notes(session, draft.mod.id),
        "tasks": tasks(draft, reader, games),
        "games": games,
        "fold_game": fold_game,
        "limits": limits,
        "html": demoted,
        "errors": {},
        "typed": {},
        "done": query(request, "done") or "",
        "trimmed": (query(request, "trimmed") or "").split(),
        **more,
    }


@page(context=IMine, request_method="GET", permission=ModPermission.LIST_MINE, renderer=MINE)
def mine(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine``: all the author's mods, published or not, last changed first."""
    drafts = [Draft(mod) for mod in services.mine(request.dbsession, caller(request))]
    return {
        "drafts": drafts,
        "games": page_reader(request).games(),
        "fold_game": fold_game,
        "done": query(request, "done") or "",
    }


@page(context=IMine, name="new", request_method="GET", permission=ModPermission.CREATE, renderer=NEW)
def new(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/new``"""
    return {"errors": {}, "typed": {}, "limits": limits, "games": page_reader(request).games()}


@page(context=IMine, name="new", request_method="POST", permission=ModPermission.CREATE, renderer=NEW)
def create(context: Any, request: Request) -> Any:
    """``POST /Modhub/mine/new``: a draft; nobody else sees it."""
    given, typed = read_details(request)
    try:
        mod = services.create(request.dbsession, staying_caller(request), NewMod(**given))
    except Refusal as refusal:
        forms.refused(request, refusal)
        return {**new(context, request), "errors": {blame(refusal): refusal.message}, "typed": typed}
    return done(mod.id, "created", trimmed(given))


@page(context=IOwnMod, request_method="GET", permission=ModPermission.EDIT, renderer=EDIT)
def edit(context: Mod, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/{id}``"""
    return bench(request, context.id)


@form(context=IOwnMod)
def change(context: Mod, request: Request) -> Any:
    """``POST /Modhub/mine/{id}``: only the fields that the form has are changed."""
    given, typed = read_details(request)
    try:
        mod = services.edit(request.dbsession, context.id, caller(request), ModChange(**given))
    except Refusal as refusal:
        forms.refused(request, refusal)
        return bench(request, context.id, errors={blame(refusal): refusal.message}, typed=typed)
    return done(mod.id, "details", trimmed(given), "#details")


@form(context=IOwnMod, name="publish")
def publish(context: Mod, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/publish``: there is no way back, as the form says."""
    try:
        mod = services.publish(request.dbsession, context.id, caller(request))
    except Refusal as refusal:
        forms.refused(request, refusal)
        return bench(request, context.id, errors={"publish": refusal.message})
    return done(mod.id, "published")


@form(context=IOwnMod, name="delete")
def delete(context: Mod, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/delete``: the title must be typed."""
    typed = text.line(request.POST.get("title", ""), limits.TITLE)
    draft = own_draft(request.dbsession, context.id, caller(request))
    if typed != draft.mod.title:
        refusal = Refusal(400, "invalid_input", "The title that was typed is not the title of this mod.")
        forms.refused(request, refusal)
        return bench(request, context.id, errors={"delete": refusal.message}, typed={"delete": typed})
    services.remove(request.dbsession, context.id, caller(request))
    return Redirect("/Modhub/mine?done=deleted")
