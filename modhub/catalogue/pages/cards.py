"""What lists of cards consist of."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

import msgspec
from sqlalchemy import exists, func, select

from modhub.catalogue.documents import decode_mod
from modhub.catalogue.models import IS_IMAGE, Asset, Game, PublicGame, PublicMod
from modhub.catalogue.pages import statements
from modhub.catalogue.pages.presenter import Figure, ImageFacts, ModPresenter
from modhub.catalogue.reading.service import ListParams, icon_address
from modhub.catalogue.reading.statements import AnySelect
from modhub.content.folding import fold_game
from modhub.content.markup import summarize
from modhub.db import from_micros, iso
from modhub.db.raw_queries import PreparedQuery, Row
from modhub.ui.accent import nearest_hue


@dataclass(frozen=True, slots=True)
class CuratedGame:
    """A curated game. ``small`` and ``medium`` are copies of the icon of 64 and 128 pixels; an SVG has none."""

    name: str
    display_name: str
    icon: str | None
    small: str | None
    medium: str | None
    colour: str | None

    @property
    def hue(self) -> int:
        """The colour of its page in the style sheet."""
        return nearest_hue(self.colour)


class CuratedGames(dict[str, CuratedGame]):
    """The curated games by folded name, in display order."""

    def __init__(self, rows: list[Row]) -> None:
        games = [
            CuratedGame(name, shown, icon_address(icon), icon_address(small), icon_address(medium), colour)
            for name, shown, icon, small, medium, colour in rows
        ]
        super().__init__((fold_game(game.name), game) for game in games)

    def find(self, name: str) -> CuratedGame | None:
        """Return the game that a mod, or a reader, names so."""
        return self.get(fold_game(name))


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list."""

    cards: list[ModPresenter]
    total: int
    params: ListParams

    @property
    def pages(self) -> int:
        """The number of pages, at least one."""
        return max(1, -(-self.total // self.params.size))


class AuthorTotals(NamedTuple):
    """What all published mods of an author have together. ``figures`` are those of features that are not 0."""

    ups: int
    downs: int
    figures: tuple[Figure, ...]


class NoteFacts(msgspec.Struct, array_like=True, frozen=True):
    """A changelog entry as the statements have it."""

    id: int
    version: str
    text: str
    created_at: int
    edited_at: int | None


_decode_notes = msgspec.json.Decoder(list[NoteFacts]).decode
_decode_images = msgspec.json.Decoder(list[ImageFacts]).decode


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


def card_of(row: Row) -> ModPresenter:
    """Return the card in a row of :data:`modhub.catalogue.pages.statements.CARD_COLUMNS`."""
    document, owner, told, ups, downs, image_facts, successor = row[: len(statements.CARD_COLUMNS)]
    read = {"owner": owner, "votes": (ups, downs), "told": told or "", "successor": successor}
    return present(document, image_facts, **read)


def present(document: Any, image_facts: str | None, **read: Any) -> ModPresenter:
    """Present the mod with this stored JSON, and the facts of its images as the statements have them."""
    return ModPresenter(decode_mod(bytes(document)), _decode_images(image_facts or "[]"), **read)


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
    notes = sorted(_decode_notes(row[-1] or "[]"), key=lambda note: -note.id)
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


MODS_IN_ROW: Final = 5
"""Mods of a row."""
TILES: Final = 12
"""Games on the front; the others are behind "All games"."""


class GameTile(NamedTuple):
    """A curated game with mods; ``mod`` is the one whose picture is shown, None without one."""

    folded: str
    mods: int
    mod: ModPresenter | None


def _game_tiles() -> AnySelect:
    number = select(func.count()).where(PublicGame.folded == Game.folded).correlate(Game).scalar_subquery()
    games = select(Game.folded, number.label("mods")).order_by(number.desc(), Game.folded).limit(TILES)
    listed = games.subquery()
    of_game = select(PublicGame.mod_id).where(PublicGame.folded == listed.c.folded)
    has_image = exists().where(Asset.mod_id == PublicGame.mod_id, IS_IMAGE)
    newest = of_game.where(has_image).order_by(PublicGame.updated_at.desc(), PublicGame.mod_id.desc()).limit(1)
    pictured = newest.correlate(listed).scalar_subquery()
    columns = (listed.c.folded, listed.c.mods, PublicMod.document, statements.image_facts())
    joined = select(*columns).outerjoin(PublicMod, PublicMod.id == pictured).where(listed.c.mods > 0)
    return joined.order_by(listed.c.mods.desc(), listed.c.folded)


GAME_TILES: Final = PreparedQuery(_game_tiles())
"""(folded name, number of mods, document of a mod, facts of its images) of the `TILES` games with the most mods.

The mod is the one with an image that was changed last.
"""
