"""The data of the list feed: mods with the changes in their current version."""

from typing import NamedTuple
from uuid import UUID, uuid5

from modhub.catalogue.pages.presenters.mod import SUMMARY, truncate_html
from modhub.catalogue.pages.queries import statements
from modhub.catalogue.pages.queries.page_queries import ModCard, PageReader
from modhub.catalogue.read_service import ListParams
from modhub.db import from_micros, iso
from modhub.markup import to_text
from modhub.raw_queries import Row


class ModUpdate(NamedTuple):
    """A version of a mod as an entry of a feed (RFC 4287).

    ``id`` is permanent for a version, so that feed readers show a new version as new and an edit as an update.
    ``html`` is the changelog text, or the description while that is empty.
    """

    id: str
    published: str
    updated: str
    html: str

    @property
    def summary(self) -> str:
        """The changes as one plain line."""
        return to_text(truncate_html(self.html), SUMMARY)


def recent_updates(reader: PageReader, params: ListParams) -> list[tuple[ModCard, ModUpdate]]:
    """Return one page of published mods, each with its current version."""
    _, rows = reader.catalogue.rows(params, statements.updates_statement)
    cards = [ModCard(bytes(row[0]), *row[1:4], image_facts=row[5]) for row in rows]
    return [(card, _update(card, row)) for card, row in zip(cards, rows, strict=True)]


def _update(card: ModCard, row: Row) -> ModUpdate:
    mod = card.mod
    text, created, edited = row[6:9]
    return ModUpdate(
        id=uuid5(UUID(mod.guid), mod.version).urn,
        published=iso(from_micros(created)) if created else mod.created_at,
        # Editing the changelog does not change the mod's updated_at.
        updated=max(mod.updated_at, iso(from_micros(edited)) if edited else ""),
        html=text or mod.description,
    )
