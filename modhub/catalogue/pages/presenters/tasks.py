"""The to-do list of a mod in the workshop."""

from dataclasses import dataclass
from typing import Any

from modhub.catalogue.pages.presenters.draft import OwnModPresenter
from modhub.catalogue.pages.queries.page_queries import PageReader
from modhub.folding import fold_game
from modhub.text import N_


@dataclass(frozen=True, slots=True)
class Task:
    """An entry of the to-do list. ``names`` are the GUIDs, games or titles that it is about.

    ``must``: required before publishing. ``is_note``: for information only.
    """

    text: str
    names: tuple[str, ...] = ()
    must: bool = False
    anchor: str = ""
    is_note: bool = False


def open_tasks(draft: OwnModPresenter, reader: PageReader, games: dict[str, Any]) -> list[Task]:
    """Return the open tasks, most urgent first. Their texts are translated where they are shown."""
    mod = draft.mod
    missing = tuple(guid for guid, required in reader.named(mod.requires) if required is None)
    conflicts = tuple(rival.mod.title for _, rival in reader.named(mod.conflicts_with) if rival is not None)
    unlisted = tuple(game for game in mod.games if fold_game(game) not in games)
    candidates = [
        (
            draft.code is None,
            Task(N_("Upload a code file; the mod cannot be published without one."), must=True, anchor="files"),
        ),
        (bool(missing), Task(N_("Required mods that are not on this site:"), missing, anchor="details")),
        (not mod.description, Task(N_("Write a description."), anchor="details")),
        (
            bool(unlisted),
            Task(
                N_("These games are not in our list, so they have no icon (check the spelling):"),
                unlisted,
                is_note=True,
            ),
        ),
        (not draft.images, Task(N_("Add an image; lists show the first one."), anchor="files")),
        (bool(conflicts), Task("Conflicts with:", conflicts, is_note=True)),
        (draft.code is not None and not mod.published, Task(N_("Check the preview, then publish."), anchor="publish")),
    ]
    return [task for is_open, task in candidates if is_open]
