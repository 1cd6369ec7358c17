"""The shapes that the catalogue answers with (C-MOD-1)."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from modhub.catalogue.models import Asset, AssetKind, Mod, Note
from modhub.db import iso

_ORDER = list(AssetKind)


class AssetDocument(Struct, rename="camel"):
    """A file of a mod; ``bytes`` is its size."""

    kind: str
    name: str
    bytes: int
    url: str


class ModDocument(Struct, rename="camel"):
    """A mod as every mod-returning call gives it."""

    id: int
    guid: str
    title: str
    description: str
    version: str
    games: list[str]
    requires: list[str]
    conflicts_with: list[str]
    published: bool
    created_at: str
    updated_at: str
    url: str
    assets: list[AssetDocument]


class MineDocument(Struct):
    """``GET /api/modhub/mine``"""

    count: int
    mods: list[ModDocument]


class NoteDocument(Struct, rename="camel", frozen=True):
    """A changelog entry; as a value it can be a part of what a piece of a page is kept by."""

    id: int
    title: str | None
    text: str
    created_at: str
    edited_at: str | None
    automatic: bool


class VotesDocument(Struct, omit_defaults=True):
    """The votes of a mod; ``value`` is the caller's own, left out for a caller without an account."""

    ups: int
    downs: int
    value: int | None = None


class AssetRow(NamedTuple):
    """A file of a mod, read without its object."""

    mod_id: int
    id: int
    kind: str
    name: str
    content_type: str
    size: int
    sha256: str


class ModRow(NamedTuple):
    """A mod with its files, read without its object."""

    id: int
    guid: str
    title: str
    description: str
    version: str
    games: list[str]
    requires: list[str]
    conflicts: list[str]
    published: bool
    created_at: datetime
    updated_at: datetime
    ups: int
    downs: int
    hidden_at: datetime | None
    hidden_reason: str | None
    assets: list[AssetRow]


AnyAsset = Asset | AssetRow


def is_picture(content_type: str) -> bool:
    """Whether a file's stored type says that a browser may show it (C-FILE-1)."""
    return content_type.lower().startswith("image/")


def asset_document(asset: AnyAsset) -> AssetDocument:
    """One asset; the blob of an ``Asset`` must be loaded."""
    return AssetDocument(asset.kind, asset.name, asset.size, f"/Modhub/file/{asset.id}")


def in_order(assets: Iterable[AnyAsset]) -> list[AnyAsset]:
    """Code, css, then the images as uploaded (C-MOD-12)."""
    return sorted(assets, key=lambda asset: (_ORDER.index(AssetKind(asset.kind)), asset.id))


def mod_document(mod: Mod | ModRow) -> ModDocument:
    """One mod; the assets of a ``Mod`` and their blobs must be loaded."""
    return ModDocument(
        id=mod.id,
        guid=mod.guid,
        title=mod.title,
        description=mod.description,
        version=mod.version,
        games=mod.games,
        requires=mod.requires,
        conflicts_with=mod.conflicts,
        published=mod.published,
        created_at=iso(mod.created_at),
        updated_at=iso(mod.updated_at),
        url=f"/Modhub/{mod.id}",
        assets=[asset_document(asset) for asset in in_order(mod.assets)],
    )


def file_links(mod: Mod) -> str:
    """The ``Link`` header (RFC 8288) that ties a mod's code and css, as read, to their downloads.

    ``sha256`` is the ``ETag`` without its quotes. Nothing that an owner writes is in it, so that it stays short.
    """
    files = {asset.kind: asset for asset in mod.assets}
    return ", ".join(
        f'<{asset_document(file).url}>; rel="enclosure"; kind="{kind.value}"; sha256="{file.blob.sha256}"'
        for kind in (AssetKind.CODE, AssetKind.CSS)
        if (file := files.get(kind.value)) is not None
    )


def note_document(note: Note) -> NoteDocument:
    """One changelog entry."""
    edited = None if note.edited_at is None else iso(note.edited_at)
    return NoteDocument(note.id, note.title, note.text, iso(note.created_at), edited, note.automatic)
