"""``/Modhub/mine…``: owners create, edit, publish and delete mods, without scripts (C-PAGE-2).

The views use the same service functions as the API. Errors are shown beside the field, and the input is preserved.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

from modhub.base.errors import BODY_TOO_LARGE, UPLOAD_TOO_LARGE, ApiError, invalid
from modhub.catalogue.bodies import ModChange, check_references, fold_guid
from modhub.catalogue.documents import decode_mod
from modhub.catalogue.owning import services
from modhub.catalogue.owning.reads import (
    WORKSHOP_PAGE_SIZE,
    read_mod,
    read_mods_page,
    read_own_notes,
    read_pictures,
    read_source,
    read_titles,
    read_untold,
)
from modhub.catalogue.owning.rehearsal import DraftProblem, check_draft
from modhub.catalogue.owning.successors import read_successor
from modhub.catalogue.owning.texts import clean_unlimited_line
from modhub.catalogue.owning.uploads import IMAGES_TOO_LARGE
from modhub.catalogue.owning.views import account_id_of
from modhub.catalogue.pages.browse import page_numbers, page_reader
from modhub.catalogue.pages.mod import shift_headings
from modhub.catalogue.pages.presenter import OwnModPresenter
from modhub.catalogue.pages.statements import MAX_DEPENDENTS_COUNTED
from modhub.catalogue.pages.typed_details import reference_lines
from modhub.catalogue.resources import ModPermission, ModResource
from modhub.content import limits
from modhub.content.text import N_
from modhub.plugins.resources import IMine, IOwnMod
from modhub.plugins.services import IPublicMods
from modhub.ui import forms
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import encode, query, query_number
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import page

DETAIL_FIELDS: Final = {
    "title": "Title",
    "description": "Description",
    "games": "Games",
    "requires": "Requires",
    "conflictsWith": "Conflicts with",
    "supersededBy": "Superseded by",
}
NOTE_FIELDS: Final = {"title": "Title", "text": "What changed"}
FIELD_LABELS: Final = {
    **DETAIL_FIELDS,
    **NOTE_FIELDS,
    "version": "Version",
    "caption": "Caption",
}
"""Labels by JSON field name; translated where they are shown."""


def field_message(request: Request, error: ApiError) -> str:
    """Return the error as a translated sentence, with field labels instead of JSON names."""
    ui = PageHelpers(request)
    translate = ui.messages.gettext
    limit = error.extra.get("limitBytes")
    if error.sentence not in {UPLOAD_TOO_LARGE, IMAGES_TOO_LARGE, BODY_TOO_LARGE} or limit is None:
        return error.localized(
            translate, {name: translate(N_("“%(name)s”"), name=translate(FIELD_LABELS[name])) for name in FIELD_LABELS}
        )
    if error.sentence == IMAGES_TOO_LARGE:
        return translate(N_("The images may have at most %(size)s in total. Nothing was saved."), size=ui.size(limit))
    return translate(N_("The file is too large; the limit is %(size)s. Nothing was saved."), size=ui.size(limit))


def field_of(error: ApiError, default: str = "") -> str:
    """Return the JSON name of the field with the error."""
    return str(error.values.get("field", default))


def detail_errors(
    request: Request, refused: Iterable[ApiError], submitted: Mapping[str, Any], own_guid: str = ""
) -> dict[str, str]:
    """Return the messages for these errors and all others in ``submitted``, by field."""
    mod = ModChange(**submitted)
    checks: tuple[Callable[[], object], ...] = (
        mod.clean_title if "title" in submitted else lambda: None,
        lambda: check_references(own_guid, submitted.get("requires"), None),
        lambda: check_references(own_guid, None, submitted.get("conflicts_with")),
    )
    errors: dict[str, ApiError] = {}
    for error in refused:
        errors.setdefault(field_of(error), error)
    for check in checks:
        try:
            check()
        except ApiError as another:
            errors.setdefault(field_of(another), another)
    return {name: field_message(request, errors[name]) for name in sorted(errors, key=[*DETAIL_FIELDS, ""].index)}


@dataclass(frozen=True, slots=True)
class Task:
    """What is left to do in a step. ``names`` are the GUIDs, games or titles that it is about; ``name`` is in its text.

    ``must``: required before publishing. ``is_note``: for information only.
    """

    part: str
    text: str
    names: tuple[str, ...] = ()
    name: str = ""
    must: bool = False
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the workshop: a step of a draft, a tab of a published mod."""

    part: str
    label: str
    is_done: bool
    tasks: tuple[Task, ...]


_STEPS: Final = {
    "details": "Details",
    "files": "Files",
    "images": "Images",
    "changelog": "Changelog",
    "publish": "Publish",
}
"""The parts of a draft, in the order in which they are done; each is a page."""
_TABS: Final = {
    "files": "New version",
    "details": "Details",
    "images": "Images",
    "changelog": "Changelog",
    "publish": "More",
}
"""Those of a published mod: what its author comes for every week is the first."""


def chosen_part(part: str, steps: Sequence[Step], *, is_published: bool) -> str:
    """Return this part if there is one of that name, else a new version, and of a draft what is to do."""
    if part in _STEPS:
        return part
    if is_published:
        return "files"
    return next((step.part for step in steps if not step.is_done), "publish")


_TASKS: Final = {
    ("description", "missing"): Task("details", N_("Write a description.")),
    ("description", "trimmed"): Task(
        "details", N_("The description is at its maximum length; its end may have been cut off."), is_note=True
    ),
    ("requires", "missing"): Task("details", N_("Required mods that are not on this site:")),
    ("games", "unlisted"): Task(
        "details", N_("Not in our list of games, so without an icon (check the spelling):"), is_note=True
    ),
    ("conflictsWith", "published"): Task("details", "Conflicts with:", is_note=True),
    ("code", "missing"): Task("files", N_("Upload a code file; the mod cannot be published without one."), must=True),
    ("images", "missing"): Task("images", N_("Add an image. The first one appears in lists.")),
    ("images", "caption_missing"): Task("images", N_("Without a caption, which screen readers read aloud:")),
    ("images", "not_shown"): Task("images", N_("Not an image that browsers can show:")),
    ("changelog", "missing"): Task("changelog", N_("Describe what's new in %(name)s.")),
}
"""What is said of a problem, in this order; the rehearsal has the others."""


def steps_of(problems: Sequence[DraftProblem], *, has_notes: bool, is_published: bool) -> list[Step]:
    """Return the steps with their open tasks. The texts are translated where they are shown."""
    tasks = _open_tasks(problems)
    if not is_published and not any(problem.is_blocking for problem in problems):
        tasks.append(Task("publish", N_("Check the preview, then publish.")))
    # Without an open task, but not done: nothing to describe was uploaded yet, nothing is ready to be published.
    begun = {"changelog": has_notes, "publish": is_published}
    steps = []
    for part, label in (_TABS if is_published else _STEPS).items():
        of_step = tuple(task for task in tasks if task.part == part)
        is_done = begun.get(part, True) and all(task.is_note for task in of_step)
        steps.append(Step(part, label, is_done, of_step))
    return steps


def _open_tasks(problems: Sequence[DraftProblem]) -> list[Task]:
    tasks = []
    for key, task in _TASKS.items():
        names = [problem.name for problem in problems if (problem.about, problem.problem) == key]
        if names and key[0] == "changelog":
            tasks.append(replace(task, name=names[0]))
        elif names:
            tasks.append(replace(task, names=tuple(filter(None, names))))
    return tasks


MINE: Final = "modhub.catalogue:templates/workshop/mine.jinja2"
ROW: Final = "modhub.catalogue:templates/workshop/row.jinja2"
EDIT: Final = "modhub.catalogue:templates/workshop/edit.jinja2"
form = partial(
    page, containment=IMine, request_method="POST", permission=ModPermission.EDIT, renderer=EDIT, preserve_fields={}
)
"""A form on a mod's workshop page; on an error the page is shown again."""


def details_fingerprint(*fields: Any) -> str:
    """Return a hash of title, description, games, requires, conflicts and successor."""
    return sha256(encode(fields)).hexdigest()[:32]


def workshop_done(
    mod_id: int, done: str, truncated: list[str] | None = None, part: str = "", anchor: str = ""
) -> Redirect:
    """Redirect to a part of the mod's workshop page, else to what is next; ``done``: the success message."""
    named = {"part": part, "done": done, "trimmed": " ".join(truncated or [])}
    params = urlencode({name: value for name, value in named.items() if value})
    return Redirect(f"/Modhub/mine/{mod_id}?{params}{anchor}")


_LAST_NUMBER: Final = re.compile(r"[0-9]+(?=[^0-9]*\Z)")


def propose_version(current: str, used: Collection[str]) -> str:
    """Return the next version: the last number of ``current`` plus one, or more until it is not in ``used``.

    Versions are free text (C-UP-4): without a number in it, or without room for a longer one, nothing is proposed.
    """
    number = _LAST_NUMBER.search(current)
    if number is None:
        return ""
    before, after, digits = current[: number.start()], current[number.end() :], number[0]
    for value in range(int(digits) + 1, int(digits) + len(used) + 2):
        proposed = f"{before}{value:0{len(digits)}d}{after}"
        if proposed not in used:
            return proposed if len(proposed) <= limits.VERSION else ""
    return ""


def edit_page_context(request: Request, mod_id: int | None, part: str = "", **more: Any) -> dict[str, Any]:
    """Return the values for the template of a mod's workshop page.

    ``part``: the one that is shown, else the one that the address names. ``more``: ``errors``, ``typed`` and
    ``preview`` of a form, and the ``entry`` that has one.
    """
    owner = account_id_of(request)
    with request.databases.readonly_session() as session:
        stored = read_mod(session, mod_id, owner)
        pictures = read_pictures(session, [stored])
        draft = OwnModPresenter(stored, pictures)
        own_notes, own_titles = read_own_notes(session, mod_id, owner), read_titles(session, owner)
        source, chosen = read_source(session, stored)
        superseded_by, successor = read_successor(session, mod_id, owner)
    mod, reader = draft.mod, page_reader(request)
    games, (users, users_total) = reader.games(), reader.users(mod.guid)
    public_titles = _public_titles(request, (*mod.requires, *mod.conflicts_with))
    titles = public_titles | own_titles
    more["typed"] = {
        "description": source,
        "format": chosen,
        "requires": reference_lines(mod.requires, titles),
        "conflictsWith": reference_lines(mod.conflicts_with, titles),
        "supersededBy": f"{successor.title} – {successor.guid}" if successor else superseded_by,
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
        "seen": details_fingerprint(
            mod.title, mod.description, mod.games, mod.requires, mod.conflicts_with, superseded_by
        ),
        "notes": notes,
        "note_sources": {note.document.id: (note.source, note.text_format) for note in own_notes},
        "entry": parse_id(query(request, "entry") or ""),
        "steps": steps,
        "titles": titles,
        "users": users,
        "users_total": users_total,
        "successor_unknown": superseded_by and not successor,
        "many_users": users_total > MAX_DEPENDENTS_COUNTED,
        "games": games,
        "limits": limits,
        "html": lambda cleaned, below: shift_headings(draft.with_own_images(cleaned), below),
        "labels": FIELD_LABELS,
        "errors": {},
        "preview": None,
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
    number = query_number(request)
    mods, total = read_mods_page(request.dbsession, account_id_of(request), number)
    pictures, untold = read_pictures(request.dbsession, mods), read_untold(request.dbsession, mods)
    pages = max(1, -(-total // WORKSHOP_PAGE_SIZE))
    return {
        "rows": [(OwnModPresenter(mod, pictures), untold.get(mod.id)) for mod in mods],
        "total": total,
        "page": number,
        "pages": pages,
        "numbers": page_numbers(number, pages),
        "at": lambda page: f"/Modhub/mine?page={page}" if page > 1 else "/Modhub/mine",
        "done": query(request, "done") or "",
    }


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
