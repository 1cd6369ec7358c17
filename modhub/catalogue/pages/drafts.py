"""An owner's mods as the workshop shows them: read from the owner's own rows, never from anybody else's.

By the short way (:mod:`modhub.reader`), since loading the rows as objects took most of the time of these pages.
"""

import re
from typing import Any, Final

import msgspec
from sqlalchemy import Text, bindparam, cast, func, select

from modhub.blobs.models import StoredBlob
from modhub.catalogue.documents import (
    AssetRow,
    ModDocument,
    ModRow,
    NoteDocument,
    asset_document,
    in_order,
    is_picture,
    mod_document,
)
from modhub.catalogue.finding import file_of, note_of
from modhub.catalogue.models import Asset, Kind, Mod, Note
from modhub.catalogue.pages.shown import Shown
from modhub.catalogue.queries import FILE, NOTE, AnySelect
from modhub.db import from_micros
from modhub.downloads import StoredFile
from modhub.errors import not_found
from modhub.reader import Reader, Row

SHELF: Final = 20
"""Mods on one page of the workshop."""
_OWN_FILE: Final = re.compile(r'(?<=src=")/Modhub/file/([0-9]{1,18})(?=")')
_names = msgspec.json.Decoder(list[str]).decode


class Draft(Shown):
    """A mod for its owner, published or not."""

    def __init__(self, mod: ModRow) -> None:
        ordered = in_order(mod.assets)
        odd = (asset.id for asset in mod.assets if asset.kind == Kind.IMAGE and not is_picture(asset.content_type))
        super().__init__(mod_document(mod), ",".join(map(str, odd)))
        self.assets = {asset.id: asset_document(asset) for asset in ordered}
        self.pictures = [(asset.id, self.assets[asset.id]) for asset in ordered if asset.kind == Kind.IMAGE]
        self.sha256 = next((asset.sha256 for asset in mod.assets if asset.kind == Kind.CODE), None)
        self.votes = (mod.ups, mod.downs)

    @property
    def address(self) -> str:
        """The mod in the workshop."""
        return f"/Modhub/mine/{self.mod.id}"

    @property
    def image_bytes(self) -> int:
        """Bytes of all its images."""
        return sum(picture.bytes for _, picture in self.pictures)

    def with_own_images(self, cleaned: str) -> str:
        """Cleaned HTML with the mod's images where their owner can see them: elsewhere a draft's are not to be had."""
        own = {str(asset_id) for asset_id, _ in self.pictures}
        return _OWN_FILE.sub(
            lambda found: f"{self.address}/images/{found[1]}" if found[1] in own else found[0], cleaned
        )

    def as_shown(self) -> ModDocument:
        """The document as the preview shows it: images and own address where only the owner can see them."""
        document = self.mod
        for asset_id, picture in self.pictures:
            picture.url = f"{self.address}/images/{asset_id}"
        document.assets = list(self.assets.values())
        document.description = self.with_own_images(document.description)
        document.url = f"{self.address}/preview"
        return document


_OWN: Final = Mod.owner == bindparam("owner")
_LISTS: Final = [cast(column, Text) for column in (Mod.games, Mod.requires, Mod.conflicts)]
_WORDS: Final = (Mod.id, Mod.guid, Mod.title, Mod.description, Mod.version, *_LISTS)
_FACTS: Final = (Mod.published, Mod.created_at, Mod.updated_at, Mod.ups, Mod.downs)
_OF_FILE: Final = (Asset.mod_id, Asset.id, Asset.kind, Asset.name, Asset.content_type)


def _of_mods() -> AnySelect:
    """The files of the mods whose ids are given as ``mod0`` and so on, a shelf of them at most."""
    files = select(*_OF_FILE, StoredBlob.size, StoredBlob.sha256).join(Mod, Mod.id == Asset.mod_id)
    wanted: list[Any] = [bindparam(f"mod{at}", 0) for at in range(SHELF)]
    return files.join(StoredBlob, StoredBlob.id == Asset.blob_id).where(_OWN, Asset.mod_id.in_(wanted))


class Drafts:
    """The owner's own reading side; one for an application. Every statement asks for the owner too."""

    def __init__(self, reader: Reader) -> None:
        mods = select(*_WORDS, *_FACTS).where(_OWN)
        shelf = mods.order_by(Mod.updated_at.desc(), Mod.id.desc()).limit(SHELF).offset(bindparam("offset"))
        own = select(Mod.id).where(_OWN, Mod.id == bindparam("id"))
        image = select(*FILE).join(StoredBlob, StoredBlob.id == Asset.blob_id).where(Asset.mod_id.in_(own))
        self._reader = reader
        self._total = reader.prepare(select(func.count()).select_from(Mod).where(_OWN))
        self._page = reader.prepare(shelf)
        self._one = reader.prepare(mods.where(Mod.id == bindparam("id")))
        self._files = reader.prepare(_of_mods())
        self._notes = reader.prepare(select(*NOTE).where(Note.mod_id.in_(own)).order_by(Note.id.desc()))
        self._image = reader.prepare(image.where(Asset.id == bindparam("asset"), Asset.kind == Kind.IMAGE.value))

    def page(self, owner: int, number: int) -> tuple[list[Draft], int]:
        """(a page of the caller's mods, most recently changed first; how many there are in all)."""
        total: int = self._reader.rows(self._total, owner=owner)[0][0]
        return self._drafts(owner, self._reader.rows(self._page, owner=owner, offset=(number - 1) * SHELF)), total

    def one(self, mod_id: int | None, owner: int) -> Draft:
        """The caller's mod; 404 when it went away after its ACL was judged."""
        found = self._drafts(owner, self._reader.rows(self._one, id=mod_id, owner=owner))
        if not found:
            raise not_found()
        return found[0]

    def _drafts(self, owner: int, mods: list[Row]) -> list[Draft]:
        assets: dict[int, list[AssetRow]] = {row[0]: [] for row in mods}
        wanted = {f"mod{at}": mod_id for at, mod_id in enumerate(assets)}
        for row in self._reader.rows(self._files, owner=owner, **wanted) if mods else ():
            assets[row[0]].append(AssetRow(*row))
        return [Draft(_own_mod(row, assets[row[0]])) for row in mods]

    def notes(self, mod_id: int | None, owner: int) -> list[NoteDocument]:
        """The changelog of the caller's mod, newest first."""
        return [note_of(row) for row in self._reader.rows(self._notes, id=mod_id, owner=owner)]

    def image(self, mod_id: int | None, asset_id: int | None, owner: int) -> StoredFile:
        """One image of the caller's mod, shown to its owner alone; 404 when there is none."""
        rows = self._reader.rows(self._image, id=mod_id, asset=asset_id, owner=owner)
        if not rows:
            raise not_found()
        return file_of(rows[0], inline=True, cache_control="no-store", private=True)


def _own_mod(row: Row, assets: list[AssetRow]) -> ModRow:
    lists = [_names(column) for column in row[5:8]]
    facts = (bool(row[8]), from_micros(row[9]), from_micros(row[10]), *row[11:])
    return ModRow._make((*row[:5], *lists, *facts, assets))
