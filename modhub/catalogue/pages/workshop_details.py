"""The details of a mod in the workshop: ``/Modhub/mine/new``, and the form of ``/Modhub/mine/{id}``."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace
from pyramid.renderers import render_to_response
from pyramid.response import Response
from sqlalchemy.orm import Session

from modhub.base.errors import ApiError, conflict, invalid
from modhub.catalogue.bodies import CleanedMod, ModChange, NewMod, fold_guid, remove_duplicates
from modhub.catalogue.owning import services
from modhub.catalogue.owning.reads import read_judged_file, read_mod, read_notes, read_own_image, read_pictures
from modhub.catalogue.owning.successors import change_successor, read_successor
from modhub.catalogue.owning.texts import WrittenText, preview_text, truncated_details, write_text
from modhub.catalogue.owning.views import account_id_of
from modhub.catalogue.pages.browse import find_authors, page_reader
from modhub.catalogue.pages.mod import MOD_TEMPLATE, page_values, shift_headings
from modhub.catalogue.pages.presenter import OwnModPresenter
from modhub.catalogue.pages.reader import paginate_notes
from modhub.catalogue.pages.typed_details import REFERENCES, resolve_references, split_games
from modhub.catalogue.pages.workshop import (
    DETAIL_FIELDS,
    detail_errors,
    details_fingerprint,
    edit_page_context,
    form,
    workshop_done,
)
from modhub.catalogue.resources import ModPermission, ModResource
from modhub.content import limits
from modhub.content.text import N_
from modhub.plugins.declarations import Declarations
from modhub.plugins.events import ModDetailsSaving
from modhub.plugins.resources import IMine, IOwnMod
from modhub.plugins.security import lock_caller
from modhub.plugins.services import ModSummary
from modhub.ui import forms
from modhub.web.downloads import StoredFile
from modhub.web.payload import query_number
from modhub.web.request import Request
from modhub.web.views import page

NEW: Final = "modhub.catalogue:templates/workshop/new.jinja2"
SEEN: Final = "seen"
"""The hidden field with the fingerprint of the fields that the form was rendered with."""
_PRESERVED: Final = {**DETAIL_FIELDS, "format": ""}
_LISTS: Final = frozenset({"games", *REFERENCES.values()})


@dataclass(frozen=True, slots=True)
class SubmittedDetails:
    """The form of a mod's details: fields for the service, and what was typed into each."""

    fields: dict[str, Any]
    typed: dict[str, str]
    written: WrittenText | None

    def truncated(self, cleaned: CleanedMod) -> list[str]:
        """Return the names of the fields of which something was cut off."""
        names = truncated_details(self.fields, cleaned)
        is_cut = self.written is not None and self.written.is_cut and "description" not in names
        return [*names, "description"] if is_cut else names

    def preview(self) -> dict[str, Any]:
        """Return the values for the preview of the description: cleaned, and what cleaning removed."""
        return preview_text(self.fields.get("description", ""), limits.DESCRIPTION)


def read_details(request: Request, games: Iterable[str] = ()) -> SubmittedDetails:
    """Read the form; lists have one entry per line.

    ``games`` are those of the mod as it is; their names may contain commas.
    """
    post = request.POST
    raw = {
        name: "\n".join(post.getall(name)) if name in _LISTS else post[name] for name in DETAIL_FIELDS if name in post
    }
    typed = {name: value.replace("\r\n", "\n") for name, value in raw.items()}
    fields: dict[str, Any] = {
        name: [line.strip() for line in value.split("\n") if line.strip()] if name in _LISTS else value
        for name, value in typed.items()
    }
    for name, label in REFERENCES.items():
        if label in fields:
            fields[name] = fields.pop(label)
    if "games" in fields:
        fields["games"] = split_games(fields["games"], games, page_reader(request).games())
    written = None
    if "description" in fields:
        typed["format"] = post.get("format", "")
        written = write_text(typed["description"], typed["format"], limits.DESCRIPTION)
        fields["description"] = written.uncleaned
    return SubmittedDetails(fields, typed, written)


def _preserved(request: Request) -> dict[str, str]:
    """The fields of the form, with those of features, which are sent again without being shown."""
    panels = request.find_service(Declarations).panels
    return _PRESERVED | {SEEN: ""} | {name: "" for panel in panels for name in panel.fields}


def _resolve(request: Request, fields: dict[str, Any]) -> tuple[list[ApiError], list[str] | None]:
    """Replace mods in ``fields`` by GUIDs; returns the errors, and what supersedes the mod: None if nothing says so."""
    errors = resolve_references(request, fields)
    return errors, fields.pop("superseded_by", None)


def _check_unchanged(
    mod: Any, superseded_by: str, cleaned: CleanedMod, successors: list[str] | None, seen: str
) -> None:
    """409 if the mod was edited since the form was rendered, so that no edit is silently overwritten.

    A form submitted twice is accepted: the stored fields already equal the submitted ones.
    """
    current = details_fingerprint(mod.title, mod.description, mod.games, mod.requires, mod.conflicts, superseded_by)
    lists = [remove_duplicates(guids or []) for guids in (cleaned.requires, cleaned.conflicts)]
    guid = superseded_by if successors is None else fold_guid("".join(successors))
    submitted = details_fingerprint(cleaned.title, cleaned.description, cleaned.games, *lists, guid)
    if seen not in {"", current} and submitted != current:
        message = N_("This mod was changed elsewhere while you were editing. Save again to overwrite that change.")
        raise conflict("changed_meanwhile", message)


@page(context=IMine, name="new", request_method="GET", permission=ModPermission.CREATE, renderer=NEW)
def new_mod_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/new``"""
    games = page_reader(request).games()
    return {"errors": {}, "typed": {}, "preview": None, "html": shift_headings, "limits": limits, "games": games}


@page(
    context=IMine,
    name="new",
    request_method="POST",
    permission=ModPermission.CREATE,
    renderer=NEW,
    preserve_fields=_PRESERVED,
)
def create_mod_page(context: Any, request: Request) -> Any:
    """``POST /Modhub/mine/new``: create a draft."""
    submitted = read_details(request)
    fields, typed = submitted.fields, submitted.typed
    if "preview" in request.POST:
        return {**new_mod_page(context, request), "typed": typed, "preview": submitted.preview()}
    refused, _ = _resolve(request, fields)
    try:
        if refused:
            raise refused[0]
        cleaned = NewMod(**{"title": "", **fields}).cleaned()
        truncated = submitted.truncated(cleaned)
        mod = services.create_mod(request.dbsession, lock_caller(request), cleaned, submitted.written)
    except ApiError as error:
        forms.set_error_status(request, error)
        errors = detail_errors(request, [error, *refused], fields)
        return {**new_mod_page(context, request), "errors": errors, "typed": typed}
    return workshop_done(mod.id, "created", truncated)


@form(context=IOwnMod, preserve_fields=_preserved)
def change_mod_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}``: only submitted fields are changed, with those of features: all of them or none."""
    session, owner, seen = request.dbsession, account_id_of(request), request.POST.get(SEEN, "")
    with request.databases.readonly_session() as reading:
        stored = read_mod(reading, context.id, owner)
    submitted = read_details(request, stored.games)
    fields, typed = submitted.fields, submitted.typed
    if "preview" in request.POST:
        shown = {SEEN: seen} if seen else {}
        return edit_page_context(request, context.id, "details", typed=typed, preview=submitted.preview(), **shown)
    errors: dict[str, str] = {}
    truncated: list[str] = []
    refused, successors = _resolve(request, fields)
    try:
        if refused:
            raise refused[0]
        cleaned = ModChange(**fields).cleaned()
        truncated = submitted.truncated(cleaned)
        mod = services.own_mod(session, context.id, owner)
        superseded_by, _ = read_successor(session, context.id, owner)
        _check_unchanged(mod, superseded_by, cleaned, successors, seen)
        services.edit_mod(session, context.id, owner, cleaned, submitted.written)
        if successors is not None:
            change_successor(session, context.id, owner, "".join(successors))
    except ApiError as error:
        refused.insert(0, error)
        errors = detail_errors(request, refused, fields, stored.guid)
    request.registry.notify(ModDetailsSaving(context.id or 0, request, errors))
    if not errors:
        return workshop_done(context.id or 0, "details", truncated, "details")
    failure = refused[0] if refused else invalid(next(iter(errors.values())))
    forms.set_error_status(request, failure)
    # After this error, saving again overwrites the other change.
    hidden = {} if failure.code == "changed_meanwhile" or not seen else {SEEN: seen}
    return edit_page_context(request, context.id, "details", errors=errors, typed=typed, **hidden)


def read_draft(session: Session, mod_id: int | None, owner: int, address: str = "") -> OwnModPresenter:
    """Return the owner's mod, whose images are below ``address``, or in the workshop; 404 if it was deleted."""
    mod = read_mod(session, mod_id, owner)
    return OwnModPresenter(mod, read_pictures(session, [mod]), address)


def preview_values(request: Request, draft: OwnModPresenter, back: str) -> dict[str, Any]:
    """Return the values for the template of a mod's page; ``back`` is the path of the page before."""
    session, mod_id, owner = request.dbsession, draft.mod.id, draft.owner
    notes = [replace(note, text=draft.with_own_images(note.text)) for note in read_notes(session, mod_id, owner)]
    notes_page = paginate_notes(notes, query_number(request, "changelog"))
    _, successor = read_successor(session, mod_id, owner)
    shown = page_reader(request).preview(draft, draft.preview_document(), notes_page, draft.sha256, successor)
    author = find_authors(request, [draft]).get(owner)
    return page_values(request, shown, author, back)


class ModPreviews:
    """See :class:`modhub.plugins.moderation.IModPreviews`."""

    def show_page(self, request: Request, mod: ModSummary, address: str, back: str) -> Response:
        """The owner's preview; its note says who else sees it."""
        draft = read_draft(request.dbsession, mod.id, mod.owner, address)
        values = preview_values(request, draft, back) | {"is_judged": True}
        return render_to_response(MOD_TEMPLATE, values, request=request)

    def find_image(self, session: Session, mod: ModSummary, asset_id: int | None) -> StoredFile:
        """As the workshop shows it."""
        return read_own_image(session, mod.id, asset_id, mod.owner)

    def find_file(self, session: Session, mod: ModSummary, sha256: str) -> StoredFile:
        """The first one with these bytes."""
        return read_judged_file(session, mod.id, sha256)
