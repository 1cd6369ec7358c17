"""What owners read of their own mods, published or not: from their own rows, never from anybody else's.

By the short way (:mod:`modhub.raw_queries`), since loading the rows as objects took most of the time of these answers.
"""

from typing import Any, Final

import msgspec
from sqlalchemy import Text, bindparam, cast, func, select

from modhub.blobs.models import StoredBlob
from modhub.catalogue.models import Asset, AssetKind, Mod, Note
from modhub.catalogue.queries import FILE_COLUMNS, NOTE_COLUMNS
from modhub.catalogue.read_service import file_of, note_of
from modhub.catalogue.response_schemas import AssetRow, ModRow, NoteDocument
from modhub.db import from_micros
from modhub.downloads import StoredFile
from modhub.errors import not_found
from modhub.raw_queries import RawQueryExecutor, Row

WORKSHOP_PAGE_SIZE: Final = 20
"""Mods on one page of the workshop."""
_names = msgspec.json.Decoder(list[str]).decode
_OWN: Final = Mod.owner == bindparam("owner")
_LISTS: Final = [cast(column, Text) for column in (Mod.games, Mod.requires, Mod.conflicts)]
_WORDS: Final = (Mod.id, Mod.guid, Mod.title, Mod.description, Mod.version, *_LISTS)
_FACTS: Final = (Mod.published, Mod.created_at, Mod.updated_at, Mod.ups, Mod.downs, Mod.hidden_at, Mod.hidden_reason)
_OF_FILE: Final = (Asset.mod_id, Asset.id, Asset.kind, Asset.name, Asset.content_type)


class OwnerReader:
    """The owner's own reading side; one for an application. Every statement asks for the owner too."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        mods = select(*_WORDS, *_FACTS).where(_OWN)
        newest = mods.order_by(Mod.updated_at.desc(), Mod.id.desc())
        stored = StoredBlob.id == Asset.blob_id
        files = select(*_OF_FILE, StoredBlob.size, StoredBlob.sha256).join(Mod, Mod.id == Asset.mod_id)
        files = files.join(StoredBlob, stored).where(_OWN)
        shelf: list[Any] = [bindparam(f"mod{at}", 0) for at in range(WORKSHOP_PAGE_SIZE)]
        own = select(Mod.id).where(_OWN, Mod.id == bindparam("id"))
        image = select(*FILE_COLUMNS).join(StoredBlob, stored).where(Asset.mod_id.in_(own))
        self._reader = reader
        self._total = reader.prepare(select(func.count()).select_from(Mod).where(_OWN))
        self._all, self._all_files = reader.prepare(newest), reader.prepare(files)
        self._page = reader.prepare(newest.limit(WORKSHOP_PAGE_SIZE).offset(bindparam("offset")))
        self._one = reader.prepare(mods.where(Mod.id == bindparam("id")))
        self._files = reader.prepare(files.where(Asset.mod_id.in_(shelf)))
        self._notes = reader.prepare(select(*NOTE_COLUMNS).where(Note.mod_id.in_(own)).order_by(Note.id.desc()))
        self._image = reader.prepare(image.where(Asset.id == bindparam("asset"), Asset.kind == AssetKind.IMAGE.value))

    def page(self, owner: int, number: int) -> tuple[list[ModRow], int]:
        """(a page of the caller's mods, most recently changed first; how many there are in all)."""
        total: int = self._reader.rows(self._total, owner=owner)[0][0]
        return self._whole(
            owner, self._reader.rows(self._page, owner=owner, offset=(number - 1) * WORKSHOP_PAGE_SIZE)
        ), total

    def one(self, mod_id: int | None, owner: int) -> ModRow:
        """The caller's mod; 404 when it went away after its ACL was judged."""
        found = self._whole(owner, self._reader.rows(self._one, id=mod_id, owner=owner))
        if not found:
            raise not_found()
        return found[0]

    def all(self, owner: int) -> list[ModRow]:
        """All the caller's mods, most recently changed first."""
        return _joined(self._reader.rows(self._all, owner=owner), self._reader.rows(self._all_files, owner=owner))

    def _whole(self, owner: int, mods: list[Row]) -> list[ModRow]:
        wanted = {f"mod{at}": row[0] for at, row in enumerate(mods)}
        return _joined(mods, self._reader.rows(self._files, owner=owner, **wanted) if mods else [])

    def notes(self, mod_id: int | None, owner: int) -> list[NoteDocument]:
        """The changelog of the caller's mod, newest first."""
        return [note_of(row) for row in self._reader.rows(self._notes, id=mod_id, owner=owner)]

    def image(self, mod_id: int | None, asset_id: int | None, owner: int) -> StoredFile:
        """One image of the caller's mod, shown to its owner alone; 404 when there is none."""
        rows = self._reader.rows(self._image, id=mod_id, asset=asset_id, owner=owner)
        if not rows:
            raise not_found()
        return file_of(rows[0], inline=True, cache_control="no-store", private=True)


def _joined(mods: list[Row], files: list[Row]) -> list[ModRow]:
    # The mods were read first: a file of one that came since has none here.
    assets: dict[int, list[AssetRow]] = {row[0]: [] for row in mods}
    for row in files:
        if row[0] in assets:
            assets[row[0]].append(AssetRow(*row))
    return [_own_mod(row, assets[row[0]]) for row in mods]


def _own_mod(row: Row, assets: list[AssetRow]) -> ModRow:
    lists = [_names(column) for column in row[5:8]]
    hidden_at = None if row[13] is None else from_micros(row[13])
    facts = (bool(row[8]), from_micros(row[9]), from_micros(row[10]), row[11], row[12], hidden_at, row[14])
    return ModRow._make((*row[:5], *lists, *facts, assets))
