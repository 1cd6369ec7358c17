"""``/Modhub/mine…``: owners create, edit, publish and delete mods, without scripts (C-PAGE-2).

The views use the same service functions as the API. Errors are shown beside the field, and the input is preserved.
"""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup

from modhub.base.errors import ApiError, invalid
from modhub.catalogue import services
from modhub.catalogue.owner_queries import (
    WORKSHOP_PAGE_SIZE,
    read_mod,
    read_mods_page,
    read_own_notes,
    read_pictures,
    read_source,
    read_titles,
    read_untold,
)
from modhub.catalogue.owner_views import account_id_of
from modhub.catalogue.pages.presenters.draft import OwnModPresenter
from modhub.catalogue.pages.presenters.form_errors import FIELD_LABELS, field_message
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.presenters.steps import chosen_part, steps_of
from modhub.catalogue.pages.presenters.truncation import clean_unlimited_line
from modhub.catalogue.pages.presenters.versions import propose_version
from modhub.catalogue.pages.queries.statements import MAX_DEPENDENTS_COUNTED
from modhub.catalogue.pages.typed_details import reference_lines
from modhub.catalogue.pages.views.browse import page_numbers, page_reader
from modhub.catalogue.pages.views.mod import shift_headings
from modhub.catalogue.public_views import list_params
from modhub.catalogue.references import fold_guid
from modhub.catalogue.rehearsal import check_draft
from modhub.catalogue.resources import ModPermission, ModResource
from modhub.catalogue.response_schemas import decode_mod
from modhub.catalogue.successors import read_successor
from modhub.content import limits
from modhub.content.folding import fold_game
from modhub.plugins.resources import IMine, IOwnMod
from modhub.plugins.services import IPublicMods
from modhub.ui import forms
from modhub.ui.formatting import parse_timestamp
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import encode, query
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import page

MINE: Final = "modhub.catalogue:templates/workshop/mine.jinja2"
ROW: Final = "modhub.catalogue:templates/workshop/row.jinja2"
EDIT: Final = "modhub.catalogue:templates/workshop/edit.jinja2"
form = partial(
    page, containment=IMine, request_method="POST", permission=ModPermission.EDIT, renderer=EDIT, preserve_fields={}
)
"""A form on a mod's workshop page; on an error the page is shown again."""


def details_fingerprint(*fields: Any) -> str:
    """Return a hash of title, description, games, requires and conflicts."""
    return sha256(encode(fields)).hexdigest()[:32]


def workshop_done(
    mod_id: int, done: str, truncated: list[str] | None = None, part: str = "", anchor: str = ""
) -> Redirect:
    """Redirect to a part of the mod's workshop page, else to what is next; ``done``: the success message."""
    named = {"part": part, "done": done, "trimmed": " ".join(truncated or [])}
    params = urlencode({name: value for name, value in named.items() if value})
    return Redirect(f"/Modhub/mine/{mod_id}?{params}{anchor}")


def edit_page_context(request: Request, mod_id: int | None, part: str = "", **more: Any) -> dict[str, Any]:
    """Return the values for the template of a mod's workshop page.

    ``part``: the one that is shown, else the one that the address names. ``more``: ``errors`` and ``typed`` of a form,
    ``previews`` by ``version`` or the id of an entry, and ``typed_notes`` (title, text, format) by the id of an entry.
    """
    owner = account_id_of(request)
    with request.databases.readonly_session() as session:
        stored = read_mod(session, mod_id, owner)
        pictures = read_pictures(session, [stored])
        draft = OwnModPresenter(stored, pictures)
        own_notes, own_titles = read_own_notes(session, mod_id, owner), read_titles(session, owner)
        source, chosen = read_source(session, stored)
        superseded = read_successor(session, mod_id, owner)
    mod, reader = draft.mod, page_reader(request)
    games, (users, users_total) = reader.games(), reader.users(mod.guid)
    public_titles = _public_titles(request, (*mod.requires, *mod.conflicts_with))
    titles = public_titles | own_titles
    more["typed"] = {
        "description": source,
        "format": chosen,
        "requires": reference_lines(mod.requires, titles),
        "conflictsWith": reference_lines(mod.conflicts_with, titles),
        "version": propose_version(mod.version, {note.version for note in own_notes}),
        **more.get("typed", {}),
    }
    notes = [note.document for note in own_notes]
    problems = list(check_draft(stored, notes, pictures, public_titles, games))
    steps = steps_of(problems, has_notes=bool(notes), is_published=mod.published)
    return {
        "part": chosen_part(part or query(request, "part") or "", steps, is_published=mod.published),
        "draft": draft,
        "mod": mod,
        "seen": details_fingerprint(mod.title, mod.description, mod.games, mod.requires, mod.conflicts_with),
        "notes": notes,
        "note_sources": {note.document.id: (note.source, note.text_format) for note in own_notes},
        "typed_notes": {},
        "entry": parse_id(query(request, "entry") or ""),
        "steps": steps,
        "titles": titles,
        "users": users,
        "users_total": users_total,
        "superseded": superseded,
        "many_users": users_total > MAX_DEPENDENTS_COUNTED,
        "games": games,
        "fold_game": fold_game,
        "limits": limits,
        "html": lambda cleaned, below: shift_headings(draft.with_own_images(cleaned), below),
        "labels": FIELD_LABELS,
        "errors": {},
        "preview": None,
        "previews": {},
        "done": query(request, "done") or "",
        "trimmed": (query(request, "trimmed") or "").split(),
        **more,
    }


def _public_titles(request: Request, guids: Sequence[str]) -> dict[str, str]:
    """Return the titles of published mods by folded GUID."""
    documents = request.find_service(IPublicMods).get_documents([fold_guid(guid) for guid in guids])
    return {guid: decode_mod(document).title for guid, document in documents.items()}


@page(context=IMine, request_method="GET", permission=ModPermission.LIST_MINE, renderer=MINE)
def mine_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine``: all mods of the signed-in account, last changed first."""
    number, ui = list_params(request).page, PageHelpers(request)
    mods, total = read_mods_page(request.dbsession, account_id_of(request), number)
    pictures, untold = read_pictures(request.dbsession, mods), read_untold(request.dbsession, mods)
    pages = max(1, -(-total // WORKSHOP_PAGE_SIZE))
    return {
        "rows": [_row(ui, OwnModPresenter(mod, pictures), untold.get(mod.id)) for mod in mods],
        "total": total,
        "page": number,
        "pages": pages,
        "numbers": list(page_numbers(min(number, pages), pages)),
        "at": lambda page: f"/Modhub/mine?page={page}" if page > 1 else "/Modhub/mine",
        "done": query(request, "done") or "",
    }


def _row(ui: PageHelpers, draft: OwnModPresenter, untold: int | None) -> Markup:
    """``untold``: the entry of the current version, if it does not say what changed."""
    age = ui.ago(parse_timestamp(draft.mod.updated_at))
    state = {"hidden": draft.hidden, "reason": draft.reason, "untold": untold}
    values: dict[str, Any] = {"address": draft.address, "age": age, "ups": draft.ups, "downs": draft.downs, **state}
    return ui.cached_fragment(
        ROW, document=encode(draft.mod), presenter=ModPresenter, image_facts=draft.image_facts, **values
    )


@page(context=IOwnMod, request_method="GET", permission=ModPermission.EDIT, renderer=EDIT)
def edit_mod_page(context: ModResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/{id}``"""
    return edit_page_context(request, context.id)


@form(context=IOwnMod, name="publish")
def publish_mod_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/publish``: cannot be undone, as the form says."""
    try:
        mod = services.publish_mod(request.dbsession, context.id, account_id_of(request))
    except ApiError as error:
        forms.set_error_status(request, error)
        return edit_page_context(request, context.id, "publish", errors={"publish": field_message(request, error)})
    return workshop_done(mod.id, "published", part="publish")


@form(context=IOwnMod, name="delete")
def delete_mod_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/delete``: the user must type the title to confirm."""
    typed = clean_unlimited_line(request.POST.get("title", ""))
    with request.databases.readonly_session() as session:
        title = read_mod(session, context.id, account_id_of(request)).title
    # Pages show a run of spaces as one.
    if typed.split() != title.split():
        error = invalid("The title you typed does not match the title of this mod.")
        forms.set_error_status(request, error)
        return edit_page_context(
            request, context.id, "publish", errors={"delete": field_message(request, error)}, typed={"delete": typed}
        )
    services.delete_mod(request.dbsession, context.id, account_id_of(request))
    return Redirect("/Modhub/mine?done=deleted")
