"""The parts of the workshop's page, which are the steps of a mod: what is done, and what is left to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from modhub.catalogue.pages.presenters.draft import OwnModPresenter
from modhub.catalogue.pages.queries.page_queries import PageReader
from modhub.catalogue.rehearsal import is_description_full
from modhub.catalogue.response_schemas import NoteDocument, decode_mod
from modhub.content.folding import fold_game
from modhub.content.text import N_


@dataclass(frozen=True, slots=True)
class Task:
    """What is left to do in a step. ``names`` are the GUIDs, games or titles that it is about; ``name`` is in its text.

    ``must``: required before publishing. ``is_note``: for information only.
    """

    anchor: str
    text: str
    names: tuple[str, ...] = ()
    name: str = ""
    must: bool = False
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the workshop, a section of its page. ``anchor`` is the id of its heading."""

    anchor: str
    label: str
    is_done: bool
    tasks: tuple[Task, ...]


_LABELS: Final = {
    "details": "Details",
    "files": "Files",
    "images": "Images",
    "changelog": "Changelog",
    "publish": "Publish",
}
NEW_VERSION: Final = "new-version"
"""The part with the form of a code file: of a draft it is within the files."""


def chosen_part(part: str, steps: Sequence[Step], *, is_published: bool) -> str:
    """Return the part of the page that is shown: this one, else a new version, and of a draft what is to do."""
    if part in _LABELS:
        return part
    if is_published or part == NEW_VERSION:
        return NEW_VERSION if is_published else "files"
    return next((step.anchor for step in steps if not step.is_done), "publish")


def steps_of(
    draft: OwnModPresenter, notes: Sequence[NoteDocument], reader: PageReader, games: dict[str, Any]
) -> list[Step]:
    """Return the steps with their open tasks. The texts are translated where they are shown."""
    tasks = _open_tasks(draft, notes, reader, games)
    # Without an open task, but not done: nothing to describe was uploaded yet, nothing is ready to be published.
    begun = {"changelog": bool(notes), "publish": draft.mod.published}
    steps = []
    for anchor, label in _LABELS.items():
        of_step = tuple(task for task in tasks if task.anchor == anchor)
        is_done = begun.get(anchor, True) and all(task.is_note for task in of_step)
        steps.append(Step(anchor, label, is_done, of_step))
    return steps


def _open_tasks(
    draft: OwnModPresenter, notes: Sequence[NoteDocument], reader: PageReader, games: dict[str, Any]
) -> list[Task]:
    mod = draft.mod
    missing = tuple(guid for guid, required in reader.named(mod.requires) if required is None)
    conflicts = tuple(decode_mod(rival).title for _, rival in reader.named(mod.conflicts_with) if rival is not None)
    unlisted = tuple(game for game in mod.games if fold_game(game) not in games)
    silent = tuple(image.name for image in draft.own_images if image.is_image and not image.caption)
    broken = tuple(image.name for image in draft.own_images if not image.is_image)
    untold = next((note.title or mod.version for note in notes[:1] if not note.text), "")
    candidates = [
        (not mod.description, Task("details", N_("Write a description."))),
        (
            is_description_full(mod.description),
            Task(
                "details",
                N_("The description is at its maximum length; its end may have been cut off."),
                is_note=True,
            ),
        ),
        (bool(missing), Task("details", N_("Required mods that are not on this site:"), missing)),
        (
            bool(unlisted),
            Task(
                "details",
                N_("Not in our list of games, so without an icon (check the spelling):"),
                unlisted,
                is_note=True,
            ),
        ),
        (bool(conflicts), Task("details", "Conflicts with:", conflicts, is_note=True)),
        (
            draft.code is None,
            Task("files", N_("Upload a code file; the mod cannot be published without one."), must=True),
        ),
        (not draft.images, Task("images", N_("Add an image. The first one appears in lists."))),
        (
            bool(silent),
            Task("images", N_("Without a caption, which screen readers read aloud:"), silent, is_note=True),
        ),
        (bool(broken), Task("images", N_("Not an image that browsers can show:"), broken)),
        (bool(untold), Task("changelog", N_("Describe what's new in %(name)s."), name=untold)),
        (draft.code is not None and not mod.published, Task("publish", N_("Check the preview, then publish."))),
    ]
    return [task for is_open, task in candidates if is_open]
