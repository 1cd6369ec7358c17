"""What is left to do on a mod before it is as its owner will want it."""

from dataclasses import dataclass
from typing import Any

from modhub.catalogue.pages.presenters.draft import OwnModPresenter
from modhub.catalogue.pages.queries.page_queries import PageReader
from modhub.folding import fold_game
from modhub.text import N_


@dataclass(frozen=True, slots=True)
class Task:
    """A thing that is left to do. ``must``: the mod cannot be published without it; ``names`` says which.

    ``is_note``: good to know, nothing to do.
    """

    text: str
    names: tuple[str, ...] = ()
    must: bool = False
    anchor: str = ""
    is_note: bool = False


def open_tasks(draft: OwnModPresenter, reader: PageReader, games: dict[str, Any]) -> list[Task]:
    """What is left to do, most urgent first. The texts are translated where they are shown."""
    mod = draft.mod
    missing = tuple(guid for guid, found in reader.named(mod.requires) if found is None)
    conflicts = tuple(found.mod.title for _, found in reader.named(mod.conflicts_with) if found is not None)
    strange = tuple(game for game in mod.games if fold_game(game) not in games)
    found = [
        (
            draft.code is None,
            Task(N_("Upload a code file; the mod cannot be published without one."), must=True, anchor="files"),
        ),
        (bool(missing), Task(N_("Required mods that are not on this site:"), missing, anchor="details")),
        (not mod.description, Task(N_("Write a description."), anchor="details")),
        (
            bool(strange),
            Task(
                N_("These games are not in our list, so they have no icon (check the spelling):"), strange, is_note=True
            ),
        ),
        (not draft.images, Task(N_("Add an image; lists show the first one."), anchor="files")),
        (bool(conflicts), Task("Conflicts with:", conflicts, is_note=True)),
        (draft.code is not None and not mod.published, Task(N_("Check the preview, then publish."), anchor="publish")),
    ]
    return [task for wanted, task in found if wanted]
