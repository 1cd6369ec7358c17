"""``/Modhub/mine…``: an author makes, fills, publishes and deletes a mod with forms alone (C-PAGE-2).

The same service functions as the API; what they refuse is shown beside the field, with the input kept.
"""

from functools import partial
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup

from modhub import limits
from modhub.catalogue import services
from modhub.catalogue.owner_queries import WORKSHOP_PAGE_SIZE
from modhub.catalogue.owner_views import account_id_of, locked_account_id, owner_reader
from modhub.catalogue.pages.presenters.draft import OwnModPresenter
from modhub.catalogue.pages.presenters.form_errors import DETAIL_FIELDS, FIELD_LABELS, field_message, in_details
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.presenters.tasks import open_tasks
from modhub.catalogue.pages.presenters.truncation import details_lost, whole_line
from modhub.catalogue.pages.queries.page_queries import MAX_DEPENDENTS_COUNTED
from modhub.catalogue.pages.views.browse import page_numbers, page_reader
from modhub.catalogue.pages.views.mod import shift_headings
from modhub.catalogue.public_views import list_params
from modhub.catalogue.references import merged
from modhub.catalogue.request_schemas import CleanedMod, ModChange, NewMod
from modhub.catalogue.resources import ModPermission, ModResource
from modhub.errors import ApiError, conflict, invalid
from modhub.folding import fold_game
from modhub.interfaces import IMine, IOwnMod
from modhub.payload import encode, query
from modhub.request import Request
from modhub.text import N_
from modhub.ui import forms
from modhub.ui.formatting import parse_timestamp
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import Redirect
from modhub.views import page

MINE: Final = "modhub.catalogue:templates/workshop/mine.jinja2"
ROW: Final = "modhub.catalogue:templates/workshop/row.jinja2"
NEW: Final = "modhub.catalogue:templates/workshop/new.jinja2"
EDIT: Final = "modhub.catalogue:templates/workshop/edit.jinja2"
SEEN: Final = "seen"
"""The hidden field that says which words the form began with."""
_LISTS: Final = frozenset({"games", "requires", "conflictsWith"})
form = partial(
    page, containment=IMine, request_method="POST", permission=ModPermission.EDIT, renderer=EDIT, preserve_fields={}
)
"""A form of a mod's workshop page; where it is refused, the page is shown again."""


def read_details(request: Request) -> tuple[dict[str, Any], dict[str, str]]:
    """(fields as the service takes them, the input as it was typed); a list has one entry a line."""
    sent = request.POST
    typed = {
        name: "\n".join(sent.getall(name)) if name in _LISTS else sent[name] for name in DETAIL_FIELDS if name in sent
    }
    plain = {name: value.replace("\r\n", "\n") for name, value in typed.items()}
    given: dict[str, Any] = {
        name: [line.strip() for line in value.split("\n") if line.strip()] if name in _LISTS else value
        for name, value in plain.items()
    }
    if "conflictsWith" in given:
        given["conflicts_with"] = given.pop("conflictsWith")
    return given, plain


def _seal(*words: Any) -> str:
    """What stands for title, description, games, requires and conflicts."""
    return sha256(encode(words)).hexdigest()[:32]


def _refuse_overwriting(mod: Any, given: CleanedMod, seen: str) -> None:
    """409 where the words have become others since the form was shown: the later of two would undo the earlier.

    Not for a form that is sent twice, whose words are there already.
    """
    current = _seal(mod.title, mod.description, mod.games, mod.requires, mod.conflicts)
    sent = (given.lists.requires, given.lists.conflicts)
    lists = [merged(one or []) for one in sent]
    wanted = _seal(given.title, given.description, given.games, *lists)
    if seen not in {"", current} and wanted != current:
        message = N_("This mod was changed elsewhere while you were editing. Save again to overwrite that change.")
        raise conflict("changed_meanwhile", message)


def workshop_done(context_id: int, what: str, lost: list[str] | None = None, anchor: str = "") -> Redirect:
    """Back to the mod's page, which says what was done."""
    said = urlencode({"done": what, **({"trimmed": " ".join(lost)} if lost else {})})
    return Redirect(f"/Modhub/mine/{context_id}?{said}{anchor}")


def edit_page_context(request: Request, mod_id: int | None, **more: Any) -> dict[str, Any]:
    """What the template of a mod's workshop page needs. ``errors`` and ``typed`` are of a form that was refused."""
    own, owner = owner_reader(request), account_id_of(request)
    draft = OwnModPresenter(own.one(mod_id, owner))
    mod = draft.mod
    reader = page_reader(request)
    games = reader.games()
    users, users_total = reader.users(mod.guid)
    return {
        "draft": draft,
        "mod": mod,
        "seen": _seal(mod.title, mod.description, mod.games, mod.requires, mod.conflicts_with),
        "notes": own.notes(mod_id, owner),
        "tasks": open_tasks(draft, reader, games),
        "users": ModPresenter.each(users),
        "users_total": users_total,
        "many_users": users_total > MAX_DEPENDENTS_COUNTED,
        "games": games,
        "fold_game": fold_game,
        "limits": limits,
        "html": lambda cleaned, below: shift_headings(draft.with_own_images(cleaned), below),
        "labels": FIELD_LABELS,
        "errors": {},
        "typed": {},
        "done": query(request, "done") or "",
        "trimmed": (query(request, "trimmed") or "").split(),
        **more,
    }


@page(context=IMine, request_method="GET", permission=ModPermission.LIST_MINE, renderer=MINE)
def mine_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine``: all the author's mods, published or not, last changed first."""
    asked, ui = list_params(request).page, PageHelpers(request)
    mods, total = owner_reader(request).page(account_id_of(request), asked)
    pages = max(1, -(-total // WORKSHOP_PAGE_SIZE))
    return {
        "rows": [_row(ui, OwnModPresenter(mod)) for mod in mods],
        "total": total,
        "page": asked,
        "pages": pages,
        "numbers": list(page_numbers(min(asked, pages), pages)),
        "at": lambda number: f"/Modhub/mine?page={number}" if number > 1 else "/Modhub/mine",
        "done": query(request, "done") or "",
    }


def _row(ui: PageHelpers, draft: OwnModPresenter) -> Markup:
    said = ui.ago(parse_timestamp(draft.mod.updated_at))
    ups, downs = draft.votes
    state = {"hidden": draft.hidden, "reason": draft.reason}
    values: dict[str, Any] = {"address": draft.address, "said": said, "ups": ups, "downs": downs, **state}
    return ui.cached_fragment(ROW, document=encode(draft.mod), shown=ModPresenter, odd=draft.odd, **values)


@page(context=IMine, name="new", request_method="GET", permission=ModPermission.CREATE, renderer=NEW)
def new_mod_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/new``"""
    return {"errors": {}, "typed": {}, "limits": limits, "games": page_reader(request).games()}


@page(
    context=IMine,
    name="new",
    request_method="POST",
    permission=ModPermission.CREATE,
    renderer=NEW,
    preserve_fields=DETAIL_FIELDS,
)
def create_mod_page(context: Any, request: Request) -> Any:
    """``POST /Modhub/mine/new``: a draft; nobody else sees it."""
    given, typed = read_details(request)
    try:
        cleaned = NewMod(**given).words()
        lost = details_lost(given, cleaned)
        mod = services.create_mod(request.dbsession, locked_account_id(request), cleaned)
    except ApiError as refusal:
        forms.set_error_status(request, refusal)
        return {**new_mod_page(context, request), "errors": in_details(request, refusal, given), "typed": typed}
    return workshop_done(mod.id, "created", lost)


@page(context=IOwnMod, request_method="GET", permission=ModPermission.EDIT, renderer=EDIT)
def edit_mod_page(context: ModResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/{id}``"""
    return edit_page_context(request, context.id)


@form(context=IOwnMod, preserve_fields={**DETAIL_FIELDS, SEEN: ""})
def change_mod_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}``: only the fields that the form has are changed."""
    given, typed = read_details(request)
    session, owner, seen = request.dbsession, account_id_of(request), request.POST.get(SEEN, "")
    try:
        cleaned = ModChange(**given).words()
        lost = details_lost(given, cleaned)
        _refuse_overwriting(services.own_mod(session, context.id, owner), cleaned, seen)
        mod = services.edit_mod(session, context.id, owner, cleaned)
    except ApiError as refusal:
        forms.set_error_status(request, refusal)
        # Whoever has been told of the other change may overwrite it.
        kept = {} if refusal.code == "changed_meanwhile" or not seen else {SEEN: seen}
        errors = in_details(request, refusal, given, owner_reader(request).one(context.id, owner).guid)
        return edit_page_context(request, context.id, errors=errors, typed=typed, **kept)
    return workshop_done(mod.id, "details", lost, "#details")


@form(context=IOwnMod, name="publish")
def publish_mod_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/publish``: there is no way back, as the form says."""
    try:
        mod = services.publish_mod(request.dbsession, context.id, account_id_of(request))
    except ApiError as refusal:
        forms.set_error_status(request, refusal)
        return edit_page_context(request, context.id, errors={"publish": field_message(request, refusal)})
    return workshop_done(mod.id, "published")


@form(context=IOwnMod, name="delete")
def delete_mod_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/delete``: the title must be typed."""
    typed = whole_line(request.POST.get("title", ""))
    title = owner_reader(request).one(context.id, account_id_of(request)).title
    # A page shows a run of spaces as one.
    if typed.split() != title.split():
        refusal = invalid("The title you typed does not match the title of this mod.")
        forms.set_error_status(request, refusal)
        return edit_page_context(
            request, context.id, errors={"delete": field_message(request, refusal)}, typed={"delete": typed}
        )
    services.delete_mod(request.dbsession, context.id, account_id_of(request))
    return Redirect("/Modhub/mine?done=deleted")
