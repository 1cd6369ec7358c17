"""The details of a mod in the workshop: ``/Modhub/mine/new``, and the form of ``/Modhub/mine/{id}``."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from modhub.base.errors import ApiError, conflict
from modhub.catalogue import services
from modhub.catalogue.owner_queries import read_mod
from modhub.catalogue.owner_views import account_id_of, locked_account_id
from modhub.catalogue.pages.presenters.form_errors import DETAIL_FIELDS, detail_errors
from modhub.catalogue.pages.presenters.removed_markup import preview_text
from modhub.catalogue.pages.presenters.truncation import truncated_details
from modhub.catalogue.pages.typed_details import resolve_references, split_games
from modhub.catalogue.pages.views.browse import page_reader
from modhub.catalogue.pages.views.mod import shift_headings
from modhub.catalogue.pages.views.workshop import details_fingerprint, edit_page_context, form, workshop_done
from modhub.catalogue.references import remove_duplicates
from modhub.catalogue.request_schemas import CleanedMod, ModChange, NewMod
from modhub.catalogue.resources import ModPermission, ModResource
from modhub.catalogue.written_texts import WrittenText, write_text
from modhub.content import limits
from modhub.content.text import N_
from modhub.plugins.resources import IMine, IOwnMod
from modhub.ui import forms
from modhub.web.request import Request
from modhub.web.views import page

NEW: Final = "modhub.catalogue:templates/workshop/new.jinja2"
SEEN: Final = "seen"
"""The hidden field with the fingerprint of the fields that the form was rendered with."""
_PRESERVED: Final = {**DETAIL_FIELDS, "format": ""}
_LISTS: Final = frozenset({"games", "requires", "conflictsWith"})


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
    if "conflictsWith" in fields:
        fields["conflicts_with"] = fields.pop("conflictsWith")
    if "games" in fields:
        fields["games"] = split_games(fields["games"], games, page_reader(request).games())
    written = None
    if "description" in fields:
        typed["format"] = post.get("format", "")
        written = write_text(typed["description"], typed["format"], limits.DESCRIPTION)
        fields["description"] = written.uncleaned
    return SubmittedDetails(fields, typed, written)


def _raise_first(errors: list[ApiError]) -> None:
    if errors:
        raise errors[0]


def _check_unchanged(mod: Any, cleaned: CleanedMod, seen: str) -> None:
    """409 if the mod was edited since the form was rendered, so that no edit is silently overwritten.

    A form submitted twice is accepted: the stored fields already equal the submitted ones.
    """
    current = details_fingerprint(mod.title, mod.description, mod.games, mod.requires, mod.conflicts)
    lists = [remove_duplicates(guids or []) for guids in (cleaned.lists.requires, cleaned.lists.conflicts)]
    submitted = details_fingerprint(cleaned.title, cleaned.description, cleaned.games, *lists)
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
    try:
        _raise_first(resolve_references(request, fields))
        cleaned = NewMod(**{"title": "", **fields}).cleaned()
        truncated = submitted.truncated(cleaned)
        mod = services.create_mod(request.dbsession, locked_account_id(request), cleaned, submitted.written)
    except ApiError as error:
        forms.set_error_status(request, error)
        return {**new_mod_page(context, request), "errors": detail_errors(request, error, fields), "typed": typed}
    return workshop_done(mod.id, "created", truncated)


@form(context=IOwnMod, preserve_fields={**_PRESERVED, SEEN: ""})
def change_mod_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}``: only submitted fields are changed."""
    session, owner, seen = request.dbsession, account_id_of(request), request.POST.get(SEEN, "")
    with request.databases.readonly_session() as reading:
        stored = read_mod(reading, context.id, owner)
    submitted = read_details(request, stored.games)
    fields, typed = submitted.fields, submitted.typed
    if "preview" in request.POST:
        shown = {SEEN: seen} if seen else {}
        return edit_page_context(request, context.id, part="details", typed=typed, preview=submitted.preview(), **shown)
    try:
        _raise_first(resolve_references(request, fields))
        cleaned = ModChange(**fields).cleaned()
        truncated = submitted.truncated(cleaned)
        _check_unchanged(services.own_mod(session, context.id, owner), cleaned, seen)
        mod = services.edit_mod(session, context.id, owner, cleaned, submitted.written)
    except ApiError as error:
        forms.set_error_status(request, error)
        # After this error, saving again overwrites the other change.
        hidden = {} if error.code == "changed_meanwhile" or not seen else {SEEN: seen}
        errors = detail_errors(request, error, fields, stored.guid)
        return edit_page_context(request, context.id, part="details", errors=errors, typed=typed, **hidden)
    return workshop_done(mod.id, "details", truncated, "details")
