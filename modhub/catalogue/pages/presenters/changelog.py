"""The changelog of a mod's page: entries, and versions of which nobody has said what changed."""

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from modhub.catalogue.response_schemas import NoteDocument


class AgedNote(NamedTuple):
    """An entry with the ages that its page shows: as parts of a cache key they make it be rendered again."""

    note: NoteDocument
    created: str
    edited: str

    @property
    def is_bare(self) -> bool:
        """Whether it says no more than that there was a version."""
        return self.note.automatic and not self.note.text


def fold_bare(notes: Iterable[AgedNote]) -> tuple[tuple[AgedNote, ...], ...]:
    """Group the entries in their order: those that stand alone, and runs of bare ones."""
    # A key of its own for each entry that stands alone.
    runs = groupby(notes, key=lambda aged: None if aged.is_bare else aged.note.id)
    return tuple(tuple(run) for _, run in runs)
