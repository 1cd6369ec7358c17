"""Response bodies of the catalogue (C-MOD-1)."""

import re
from collections.abc import Iterable

from msgspec import Struct

from modhub.catalogue.models import Asset, AssetKind, Mod, Note
from modhub.db import iso

_ORDER = list(AssetKind)
_CODE_DIGEST = re.compile('kind="code"; sha256="([0-9a-f]{64})"')


class AssetDocument(Struct, rename="camel"):
    """A file of a mod; ``bytes`` is its size."""

    kind: str
    name: str
    bytes: int
    url: str


class ModDocument(Struct, rename="camel"):
    """A mod, as every call that returns mods returns it."""

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


class SingleModDocument(ModDocument):
    """``GET /api/modhub/{id}``, for its description: the body is composed of stored documents."""

    install: list[ModDocument]
    missing: list[str]


class ModListDocument(Struct):
    """``GET /api/modhub``, for its description: the body is composed of stored documents."""

    count: int
    total: int
    page: int
    size: int
    more: bool
    mods: list[ModDocument]


class GameDocument(Struct, rename="camel"):
    """A game that the operator keeps."""

    name: str
    display_name: str
    icon_url: str | None


class GamesDocument(Struct):
    """``GET /api/modhub/games``"""

    count: int
    games: list[GameDocument]


class MineDocument(Struct):
    """``GET /api/modhub/mine``"""

    count: int
    mods: list[ModDocument]


class NoteDocument(Struct, rename="camel", frozen=True):
    """A changelog entry; hashable, so that it can be part of a fragment's cache key."""

    id: int
    title: str | None
    text: str
    created_at: str
    edited_at: str | None
    automatic: bool


class CaptionDocument(Struct, rename="camel"):
    """The caption of an image, empty if it has none."""

    asset_id: int
    url: str
    caption: str


class CaptionsDocument(Struct):
    """``GET`` and ``PUT /api/modhub/{id}/captions``"""

    count: int
    captions: list[CaptionDocument]


class FileDocument(Struct, rename="camel"):
    """A file of the caller's mod; ``sha256`` is the ``ETag`` that it has once the mod is published."""

    asset_id: int
    kind: str
    name: str
    bytes: int
    sha256: str
    caption: str


class FilesDocument(Struct):
    """``GET /api/modhub/{id}/files``"""

    count: int
    files: list[FileDocument]


class RemovedDocument(Struct):
    """The names of the tags and attributes that the allowlist removes."""

    tags: list[str]
    attributes: list[str]


class PreviewDocument(Struct):
    """``html`` is what is stored if it is sent as it is; ``trimmed``: the end of the text does not fit."""

    html: str
    trimmed: bool
    removed: RemovedDocument


class NotesDocument(Struct):
    """``GET /api/modhub/{id}/notes``"""

    count: int
    notes: list[NoteDocument]


class VotesDocument(Struct, omit_defaults=True):
    """The votes on a mod; ``value`` is the caller's own vote, omitted without an account."""

    ups: int
    downs: int
    value: int | None = None


def is_image_type(content_type: str) -> bool:
    """Whether the stored type of a file is an image type, so that a browser may show it (C-FILE-1)."""
    return content_type.lower().startswith("image/")


def asset_document(asset: Asset) -> AssetDocument:
    """Build the document of an asset; its blob must be loaded."""
    return AssetDocument(asset.kind, asset.name, asset.size, f"/Modhub/file/{asset.id}")


def in_order(assets: Iterable[Asset]) -> list[Asset]:
    """Sort assets: code, css, then images in their owner's order, later uploads last (C-MOD-12)."""
    return sorted(assets, key=_place)


def _place(asset: Asset) -> tuple[int, bool, int, int]:
    return _ORDER.index(AssetKind(asset.kind)), asset.position is None, asset.position or 0, asset.id


def mod_document(mod: Mod) -> ModDocument:
    """Build the document of a mod; its assets and their blobs must be loaded."""
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


def captions_document(mod: Mod) -> CaptionsDocument:
    """Build the document of all captions of a mod, whose assets must be loaded."""
    images = [asset for asset in in_order(mod.assets) if asset.kind == AssetKind.IMAGE]
    captions = [CaptionDocument(image.id, f"/Modhub/file/{image.id}", image.caption or "") for image in images]
    return CaptionsDocument(len(captions), captions)


def files_document(mod: Mod) -> FilesDocument:
    """Build the document of all files of a mod, whose assets and their blobs must be loaded."""
    files = [
        FileDocument(asset.id, asset.kind, asset.name, asset.size, asset.blob.sha256, asset.caption or "")
        for asset in in_order(mod.assets)
    ]
    return FilesDocument(len(files), files)


def file_links(mod: Mod) -> str:
    """Build the ``Link`` header (RFC 8288) with the downloads of a mod's code and css.

    ``sha256`` is the ``ETag`` without quotes. It contains no text of the owner, so its length is limited.
    """
    files = {asset.kind: asset for asset in mod.assets}
    return ", ".join(
        f'<{asset_document(file).url}>; rel="enclosure"; kind="{kind.value}"; sha256="{file.blob.sha256}"'
        for kind in (AssetKind.CODE, AssetKind.CSS)
        if (file := files.get(kind.value)) is not None
    )


def code_digest(links: str) -> str:
    """Return the SHA-256 of the code in the ``Link`` header of a published mod; empty without code."""
    match = _CODE_DIGEST.search(links)
    return match[1] if match else ""


def note_document(note: Note) -> NoteDocument:
    """Build the document of a changelog entry."""
    edited = None if note.edited_at is None else iso(note.edited_at)
    return NoteDocument(note.id, note.title, note.text, iso(note.created_at), edited, note.automatic)
