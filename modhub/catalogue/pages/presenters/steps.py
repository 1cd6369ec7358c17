"""The parts of the workshop's page, which are the steps of a mod: what is done, and what is left to do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from modhub.catalogue.rehearsal import DraftProblem
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
    ("images", "caption_missing"): Task(
        "images", N_("Without a caption, which screen readers read aloud:"), is_note=True
    ),
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
    for anchor, label in _LABELS.items():
        of_step = tuple(task for task in tasks if task.anchor == anchor)
        is_done = begun.get(anchor, True) and all(task.is_note for task in of_step)
        steps.append(Step(anchor, label, is_done, of_step))
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
