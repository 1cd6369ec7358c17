"""What the feed of a list tells: each of its mods with what changed in its newest version."""

from typing import NamedTuple
from uuid import UUID, uuid5

from modhub.catalogue.finding import Wish
from modhub.catalogue.pages import statements
from modhub.catalogue.pages.reading import Card, PageReader
from modhub.catalogue.pages.shown import SUMMARY, beginning
from modhub.db import from_micros, iso
from modhub.markup import to_text
from modhub.reader import Row


class Update(NamedTuple):
    """A version of a mod as an entry of a feed (RFC 4287).

    ``id``: of this version for ever, so that a reader shows another version as something new and an edit as an edit.
    ``html``: what changed; until its author writes that, what the mod is.
    """

    id: str
    published: str
    updated: str
    html: str

    @property
    def summary(self) -> str:
        """What changed, as one plain line."""
        return to_text(beginning(self.html), SUMMARY)


def updates(reader: PageReader, wish: Wish) -> list[tuple[Card, Update]]:
    """One page of published mods, each with its newest version."""
    _, rows = reader.catalogue.rows(wish, statements.updates_statement)
    cards = [Card(bytes(row[0]), *row[1:4], odd=row[5]) for row in rows]
    return [(card, _update(card, row)) for card, row in zip(cards, rows, strict=True)]


def _update(card: Card, row: Row) -> Update:
    mod = card.mod
    text, created, edited = row[6:9]
    return Update(
        id=uuid5(UUID(mod.guid), mod.version).urn,
        published=iso(from_micros(created)) if created else mod.created_at,
        # An edit of the changelog does not move the mod's own time.
        updated=max(mod.updated_at, iso(from_micros(edited)) if edited else ""),
        html=text or mod.description,
    )
