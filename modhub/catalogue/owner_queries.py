"""Owners read their own mods, published or not. Every statement filters by owner.

Raw statements (:mod:`modhub.db.raw_queries`), because loading ORM objects took most of the time of these responses.
"""

from typing import Any, Final

import msgspec
from sqlalchemy import Text, bindparam, cast, func, select

from modhub.base.errors import not_found
from modhub.blobs.models import StoredBlob
from modhub.catalogue.descriptions import digest_of
from modhub.catalogue.models import Asset, AssetKind, DescriptionSource, Mod, Note
from modhub.catalogue.pictures.models import PictureSet
from modhub.catalogue.queries import FILE_COLUMNS, NOTE_COLUMNS
from modhub.catalogue.read_service import file_of, note_of
from modhub.catalogue.response_schemas import AssetRow, ModRow, NoteDocument
from modhub.db import from_micros
from modhub.db.raw_queries import RawQueryExecutor, Row
from modhub.http.downloads import StoredFile

WORKSHOP_PAGE_SIZE: Final = 20
"""Mods per page of the workshop."""
_decode_list = msgspec.json.Decoder(list[str]).decode
_BY_OWNER: Final = Mod.owner == bindparam("owner")
_LISTS: Final = [cast(column, Text) for column in (Mod.games, Mod.requires, Mod.conflicts)]
_TEXTS: Final = (Mod.id, Mod.guid, Mod.title, Mod.description, Mod.version, *_LISTS)
_FACTS: Final = (Mod.published, Mod.created_at, Mod.updated_at, Mod.ups, Mod.downs, Mod.hidden_at, Mod.hidden_reason)
_FILE_COLUMNS: Final = (Asset.mod_id, Asset.id, Asset.kind, Asset.name, Asset.content_type)
_IMAGE_COLUMNS: Final = (Asset.position, Asset.caption, PictureSet.digest, PictureSet.sizes, PictureSet.problem)


class OwnerReader:
    """Reads the mods of an owner; one per application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        mods = select(*_TEXTS, *_FACTS).where(_BY_OWNER)
        newest = mods.order_by(Mod.updated_at.desc(), Mod.id.desc())
        is_stored_as = StoredBlob.id == Asset.blob_id
        file_columns = (*_FILE_COLUMNS, StoredBlob.size, StoredBlob.sha256, *_IMAGE_COLUMNS)
        files = select(*file_columns).select_from(Asset).join(Mod, Mod.id == Asset.mod_id)
        files = files.join(StoredBlob, is_stored_as).outerjoin(PictureSet, PictureSet.asset_id == Asset.id)
        files = files.where(_BY_OWNER)
        page_ids: list[Any] = [bindparam(f"mod{index}", 0) for index in range(WORKSHOP_PAGE_SIZE)]
        mod_id = select(Mod.id).where(_BY_OWNER, Mod.id == bindparam("id"))
        image = select(*FILE_COLUMNS).join(StoredBlob, is_stored_as).where(Asset.mod_id.in_(mod_id))
        self._reader = reader
        self._total = reader.prepare(select(func.count()).select_from(Mod).where(_BY_OWNER))
        self._mods, self._all_files = reader.prepare(newest), reader.prepare(files)
        self._page = reader.prepare(newest.limit(WORKSHOP_PAGE_SIZE).offset(bindparam("offset")))
        self._mod = reader.prepare(mods.where(Mod.id == bindparam("id")))
        self._files = reader.prepare(files.where(Asset.mod_id.in_(page_ids)))
        self._notes = reader.prepare(select(*NOTE_COLUMNS).where(Note.mod_id.in_(mod_id)).order_by(Note.id.desc()))
        source_columns = (DescriptionSource.source, DescriptionSource.text_format, DescriptionSource.sha256)
        self._source = reader.prepare(select(*source_columns).where(DescriptionSource.mod_id.in_(mod_id)))
        self._code = reader.prepare(image.where(Asset.kind == AssetKind.CODE.value))
        self._image = reader.prepare(image.where(Asset.id == bindparam("asset"), Asset.kind == AssetKind.IMAGE.value))

    def page(self, owner: int, number: int) -> tuple[list[ModRow], int]:
        """Return (one page of the owner's mods, most recently changed first; their total number)."""
        total: int = self._reader.rows(self._total, owner=owner)[0][0]
        return self._with_files(
            owner, self._reader.rows(self._page, owner=owner, offset=(number - 1) * WORKSHOP_PAGE_SIZE)
        ), total

    def mod(self, mod_id: int | None, owner: int) -> ModRow:
        """Return the owner's mod; 404 if it was deleted after the ACL check."""
        mods = self._with_files(owner, self._reader.rows(self._mod, id=mod_id, owner=owner))
        if not mods:
            raise not_found()
        return mods[0]

    def mods(self, owner: int) -> list[ModRow]:
        """Return all mods of the owner, most recently changed first."""
        return _join_files(self._reader.rows(self._mods, owner=owner), self._reader.rows(self._all_files, owner=owner))

    def _with_files(self, owner: int, mods: list[Row]) -> list[ModRow]:
        ids = {f"mod{index}": row[0] for index, row in enumerate(mods)}
        return _join_files(mods, self._reader.rows(self._files, owner=owner, **ids) if mods else [])

    def notes(self, mod_id: int | None, owner: int) -> list[NoteDocument]:
        """Return the changelog of the owner's mod, newest first."""
        return [note_of(row) for row in self._reader.rows(self._notes, id=mod_id, owner=owner)]

    def source(self, mod_id: int | None, owner: int, description: str) -> tuple[str, str] | None:
        """Return (source, chosen format) of this description; None for HTML, or if it was changed by other means."""
        for source, chosen, digest in self._reader.rows(self._source, id=mod_id, owner=owner):
            if digest == digest_of(description):
                return source, chosen
        return None

    def code(self, mod_id: int | None, owner: int) -> StoredFile | None:
        """Return the code file of the owner's mod; None if there is none."""
        rows = self._reader.rows(self._code, id=mod_id, owner=owner)
        return file_of(rows[0], inline=False, cache_control="no-store", private=True) if rows else None

    def image(self, mod_id: int | None, asset_id: int | None, owner: int) -> StoredFile:
        """Return one image of the owner's mod, not to be cached; 404 if there is no such image."""
        rows = self._reader.rows(self._image, id=mod_id, asset=asset_id, owner=owner)
        if not rows:
            raise not_found()
        return file_of(rows[0], inline=True, cache_control="no-store", private=True)


def _join_files(mods: list[Row], files: list[Row]) -> list[ModRow]:
    # The mods were read first: skip files of a mod created since.
    assets: dict[int, list[AssetRow]] = {row[0]: [] for row in mods}
    for row in files:
        if row[0] in assets:
            assets[row[0]].append(AssetRow(*row))
    return [_mod_row(row, assets[row[0]]) for row in mods]


def _mod_row(row: Row, assets: list[AssetRow]) -> ModRow:
    lists = [_decode_list(column) for column in row[5:8]]
    hidden_at = None if row[13] is None else from_micros(row[13])
    facts = (bool(row[8]), from_micros(row[9]), from_micros(row[10]), row[11], row[12], hidden_at, row[14])
    return ModRow._make((*row[:5], *lists, *facts, assets))
