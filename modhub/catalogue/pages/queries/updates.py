"""What the feed of a list tells: each of its mods with what changed in its newest version."""

from typing import NamedTuple
from uuid import UUID, uuid5

from modhub.catalogue.pages.presenters.mod import SUMMARY, beginning
from modhub.catalogue.pages.queries import statements
from modhub.catalogue.pages.queries.page_queries import ModCard, PageReader
from modhub.catalogue.read_service import ListParams
from modhub.db import from_micros, iso
from modhub.markup import to_text
from modhub.raw_queries import Row


class ModUpdate(NamedTuple):
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


def recent_updates(reader: PageReader, wish: ListParams) -> list[tuple[ModCard, ModUpdate]]:
    """One page of published mods, each with its newest version."""
    _, rows = reader.catalogue.rows(wish, statements.updates_statement)
    cards = [ModCard(bytes(row[0]), *row[1:4], odd=row[5]) for row in rows]
    return [(card, _update(card, row)) for card, row in zip(cards, rows, strict=True)]


def _update(card: ModCard, row: Row) -> ModUpdate:
    mod = card.mod
    text, created, edited = row[6:9]
    return ModUpdate(
        id=uuid5(UUID(mod.guid), mod.version).urn,
        published=iso(from_micros(created)) if created else mod.created_at,
        # An edit of the changelog does not move the mod's own time.
        updated=max(mod.updated_at, iso(from_micros(edited)) if edited else ""),
        html=text or mod.description,
    )
