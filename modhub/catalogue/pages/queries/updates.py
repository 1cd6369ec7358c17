"""The data of feeds: the versions of mods, each with its changes."""

from typing import Any, NamedTuple
from uuid import UUID, uuid5

import msgspec

from modhub.catalogue.pages.presenters.mod import Figure, ModPresenter
from modhub.catalogue.read_service import ListParams
from modhub.content.markup import summarize
from modhub.db import from_micros, iso
from modhub.db.raw_queries import Row


class NoteFacts(msgspec.Struct, array_like=True, frozen=True):
    """A changelog entry as the statements have it."""

    id: int
    version: str
    text: str
    created_at: int
    edited_at: int | None


_decode = msgspec.json.Decoder(list[NoteFacts]).decode


class FeedEntry(NamedTuple):
    """A version of a mod as an entry of a feed (RFC 4287).

    ``id`` is permanent for a version, so that feed readers show a new version as new and an edit as an update.
    ``html`` is the changelog text, or the description while that is empty.
    """

    id: str
    version: str
    published: str
    updated: str
    html: str

    @property
    def summary(self) -> str:
        """The changes as one plain line."""
        return summarize(self.html)


ModUpdate = tuple[ModPresenter, FeedEntry]
"""A mod with one of its versions."""


def card_of(row: Row, figures: tuple[Figure, ...] = ()) -> ModPresenter:
    """Return the card in a row of :data:`modhub.catalogue.pages.queries.statements.CARD_COLUMNS`."""
    document, owner, changed, told, ups, downs, image_facts = row[:7]
    values = {
        "owner": owner,
        "votes": (ups, downs),
        "changed": from_micros(changed),
        "told": told or "",
        "figures": figures,
    }
    return ModPresenter(bytes(document), image_facts, **values)


def newest_updates(rows: list[Row], params: ListParams) -> list[ModUpdate]:
    """Return the versions of mods in rows of `UPDATE_COLUMNS`, newest first; in the order of votes the current ones."""
    if params.sort == "top":
        return [(card, entries[0]) for card, entries in map(_entries, rows)]
    updates = [(card, entry) for card, entries in map(_entries, rows) for entry in entries]
    return sorted(updates, key=_last_change, reverse=True)[: params.size]


def _last_change(update: ModUpdate) -> Any:
    # An edit of the changelog of an old version does not bring it before the current one.
    card, entry = update
    return (card.mod.updated_at if entry.version == card.mod.version else entry.published), card.mod.id


def _entries(row: Row) -> tuple[ModPresenter, list[FeedEntry]]:
    """The current version first. An older one is listed as long as its changelog entry is."""
    card = card_of(row)
    notes = sorted(_decode(row[7] or "[]"), key=lambda note: -note.id)
    current = next((note for note in notes if note.version == card.mod.version), None)
    older = [_entry(card, note.version, note, "") for note in notes if note.version != card.mod.version]
    return card, [_entry(card, card.mod.version, current, card.mod.updated_at), *older]


def _entry(card: ModPresenter, version: str, note: NoteFacts | None, changed: str) -> FeedEntry:
    mod = card.mod
    published = iso(from_micros(note.created_at)) if note else mod.created_at
    edited = iso(from_micros(note.edited_at)) if note and note.edited_at else ""
    return FeedEntry(
        id=uuid5(UUID(mod.guid), version).urn,
        version=version,
        published=published,
        # Editing the changelog does not change the mod's updated_at.
        updated=max(published, changed, edited),
        html=(note.text if note else "") or mod.description,
    )
