"""Response bodies of the catalogue (C-MOD-1)."""

import re
from collections.abc import Iterable
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType
from msgspec.json import Decoder

from modhub.base.operations import about
from modhub.catalogue.models import Asset, AssetKind, Mod, Note
from modhub.content import limits
from modhub.db import iso

_ORDER = list(AssetKind)
_CODE_DIGEST = re.compile('kind="code"; sha256="([0-9a-f]{64})"')


class AssetDocument(Struct, rename="camel"):
    """A file of a mod; ``bytes`` is its size."""

    kind: Annotated[str, about("`code`, `css` or `image`", "code")]
    name: Annotated[str, about("The name to save it under", "hud.zip")]
    bytes: Annotated[int, about("Its size", 48213)]
    url: Annotated[str, about("Where it is read. A second code or css upload keeps this address", "/Modhub/file/57")]


class ModDocument(Struct, rename="camel"):
    """A mod, as every call that returns mods returns it."""

    id: Annotated[int, about("The number in addresses", 12)]
    guid: Annotated[
        str,
        about(
            "The name of the mod outside the service and in other mods' lists; given at creation, lower "
            "case, never changes",
            "8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21",
        ),
    ]
    title: Annotated[str, about(f"One line of plain text, trimmed to {limits.TITLE} characters", "Café HUD")]
    description: Annotated[
        str,
        about(
            f"HTML, trimmed to {limits.DESCRIPTION:,} characters, then cleaned to the [allowed tags](#html)",
            "<p>A calm <b>HUD</b>.</p>",
        ),
    ]
    version: Annotated[
        str,
        about("The version of the last code upload, empty before one; only an upload writes it", "1.4"),
    ]
    games: Annotated[
        list[str],
        about(
            f"Names as the owner wrote them; each trimmed to {limits.GAME} characters, empty ones dropped, "
            f"merged when they differ only in capitals or outer spaces, the first {limits.GAMES} kept",
            ["Portal 2"],
        ),
    ]
    requires: Annotated[
        list[str],
        about(
            "GUIDs of the mods that it requires, whether they are on the service or not, in the capitals "
            f"that the author wrote: compare GUIDs without regard to case; at most {limits.GUIDS}",
            ["01234567-89ab-cdef-0123-456789abcdef"],
        ),
    ]
    conflicts_with: Annotated[
        list[str],
        about(f"GUIDs of mods that must not be installed together with it; at most {limits.GUIDS}", []),
    ]
    published: Annotated[
        bool,
        about("false until it is published; it stays true while the operator [hides](#hidden-mods) the mod", True),
    ]
    created_at: Annotated[str, about("Time", "2026-11-20T17:02:11.004211Z")]
    updated_at: Annotated[
        str,
        about(
            "Time of the last edit, upload, image removal, new order or caption of images, or of publishing; "
            "votes and changelog edits do not move it",
            "2026-11-21T08:15:30.123456Z",
        ),
    ]
    url: Annotated[str, about("The page for people", "/Modhub/12")]
    assets: Annotated[list[AssetDocument], about("The files: code, css, then the images in their owner's order")]


class SingleModDocument(ModDocument):
    """A mod and all that must be installed for it."""

    install: Annotated[
        list[ModDocument],
        about(
            "The whole chain of requirements as complete mods, as deep as it goes, each once and after "
            "everything that it requires; the mod itself is the last. Mods that require each other are in "
            "any order, each once. Install them in this order",
        ),
    ]
    missing: Annotated[
        list[str],
        about(
            "GUIDs of the chain that are not here for everybody (absent, drafts or [hidden](#hidden-mods)), "
            "each once, written as in the list that names it first",
            ["01234567-89ab-cdef-0123-456789abcdef"],
        ),
    ]


class ModListDocument(Struct):
    """A page of the list of mods."""

    count: Annotated[int, about("Mods in this answer", 1)]
    total: Annotated[int, about("All that match", 41)]
    page: Annotated[int, about("The page that was used", 1)]
    size: Annotated[int, about("The size that was used", 1)]
    more: Annotated[bool, about("Whether a next page has any", True)]
    mods: Annotated[list[ModDocument], about("The mods of this page")]


class GameDocument(Struct, rename="camel"):
    """A game that the operator keeps."""

    name: Annotated[str, about("What a mod's string is compared with", "Portal 2")]
    display_name: Annotated[str, about("What to show; never empty", "Portal 2")]
    icon_url: Annotated[str | None, about("The icon; null when there is none", "/Modhub/game-icon/3")]


class GamesDocument(Struct):
    """``GET /api/modhub/games``"""

    count: Annotated[int, about("How many there are", 1)]
    games: Annotated[list[GameDocument], about("The games")]


class MineDocument(Struct):
    """``GET /api/modhub/mine``"""

    count: Annotated[int, about("How many there are", 1)]
    mods: Annotated[list[ModDocument], about("All mods of the account, drafts too, most recently changed first")]


class NoteDocument(Struct, rename="camel"):
    """A changelog entry."""

    id: Annotated[int, about("The number in addresses", 31)]
    title: Annotated[
        str | None,
        about(f"At first the version of the upload; trimmed to {limits.TITLE} characters", "1.4"),
    ]
    text: Annotated[
        str,
        about(f"[HTML](#html) of at most {limits.NOTE:,} characters; empty at first", "<p>Fewer lines.</p>"),
    ]
    created_at: Annotated[str, about("Time of the upload", "2026-11-21T08:15:30.123456Z")]
    edited_at: Annotated[str | None, about("Time of the last edit", "2026-11-21T09:00:00.000000Z")]
    automatic: Annotated[bool, about("true as long as it is as the upload wrote it", False)]


class CaptionDocument(Struct, rename="camel"):
    """The caption of an image, empty if it has none."""

    asset_id: Annotated[int, about("The number of the image in addresses", 58)]
    url: Annotated[str, about("The image as uploaded", "/Modhub/file/58")]
    caption: Annotated[
        str,
        about(f"Plain text of at most {limits.CAPTION} characters; empty when there is none", "The calm layout"),
    ]


def caption_document(asset_id: int, caption: str | None) -> CaptionDocument:
    """Build the document of an image's caption."""
    return CaptionDocument(asset_id, f"/Modhub/file/{asset_id}", caption or "")


class CaptionsDocument(Struct):
    """``GET`` and ``PUT /api/modhub/{id}/captions``"""

    count: Annotated[int, about("How many images there are", 1)]
    captions: Annotated[list[CaptionDocument], about("The images in order")]


class NotesDocument(Struct):
    """``GET /api/modhub/{id}/notes``"""

    count: Annotated[int, about("How many entries there are", 1)]
    notes: Annotated[list[NoteDocument], about("The entries, newest first")]


class VotesDocument(Struct):
    """The votes on a mod; ``value`` is the caller's own vote, omitted without an account."""

    ups: Annotated[int, about("Votes for", 7)]
    downs: Annotated[int, about("Votes against", 1)]
    value: Annotated[int | UnsetType, about("Your own: 1, 0 for none, or -1; absent without an account", 1)] = UNSET


def is_image_type(content_type: str) -> bool:
    """Whether the stored type of a file is an image type, so that a browser may show it (C-FILE-1)."""
    return content_type.lower().startswith("image/")


def asset_document(asset: Asset) -> AssetDocument:
    """Build the document of an asset; its blob must be loaded."""
    return AssetDocument(asset.kind, asset.name, asset.size, f"/Modhub/file/{asset.id}")


def in_order(assets: Iterable[Asset]) -> list[Asset]:
    """Sort assets: code, css, then images in their owner's order, later uploads last (C-MOD-12)."""
    return sorted(assets, key=_place)


def images_of(mod: Mod) -> list[Asset]:
    """Return the images of a mod in their owner's order."""
    return [asset for asset in in_order(mod.assets) if asset.kind == AssetKind.IMAGE]


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
    captions = [caption_document(image.id, image.caption) for image in images_of(mod)]
    return CaptionsDocument(len(captions), captions)


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


decode_mod = Decoder(ModDocument).decode
"""The document of a mod out of its JSON."""


def code_digest(links: str) -> str:
    """Return the SHA-256 of the code in the ``Link`` header of a published mod; empty without code."""
    match = _CODE_DIGEST.search(links)
    return match[1] if match else ""


def note_document(note: Note) -> NoteDocument:
    """Build the document of a changelog entry."""
    edited = None if note.edited_at is None else iso(note.edited_at)
    return NoteDocument(note.id, note.title, note.text, iso(note.created_at), edited, note.automatic)


class FileDocument(Struct, rename="camel"):
    """A file of the caller's mod; ``sha256`` is the ``ETag`` that it has once the mod is published."""

    asset_id: Annotated[int, about("The number of the file in addresses", 57)]
    kind: Annotated[str, about("`code`, `css` or `image`", "code")]
    name: Annotated[str, about("The name to save it under", "hud.zip")]
    bytes: Annotated[int, about("Its size", 48213)]
    sha256: Annotated[
        str,
        about(
            "SHA-256, 64 lower-case hexadecimal digits: the `ETag` that the file has once the mod is published",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
    ]
    caption: Annotated[str, about("The caption of an image; empty when there is none", "")]


class FilesDocument(Struct):
    """``GET /api/modhub/{id}/files``"""

    count: Annotated[int, about("How many files there are", 1)]
    files: Annotated[list[FileDocument], about("The files in the order of `assets`")]


class RemovedDocument(Struct):
    """The names of the tags and attributes that the allowlist removes."""

    tags: Annotated[list[str], about("Tags, whose text stays", ["marquee"])]
    attributes: Annotated[list[str], about("Attributes", ["onclick"])]


class PreviewDocument(Struct):
    """``html`` is what is stored if it is sent as it is; ``trimmed``: the end of the text does not fit."""

    html: Annotated[str, about("What is stored if you send it as it is", "<p>A <strong>calm</strong> HUD.</p>")]
    trimmed: Annotated[bool, about("Whether the end of the text does not fit", False)]
    removed: Annotated[RemovedDocument, about("What the [allowed tags](#html) leave out, by name")]


class KeyDocument(Struct):
    """``GET /api/modhub/key``"""

    ok: Annotated[bool, about("Always true", True)]


class VersionUsedDocument(Struct):
    """Why a version cannot be used, and what the upload that has used it stored (C-UP-4)."""

    error: Annotated[str, about("The code", "version_used")]
    message: Annotated[str, about("The sentence", "Version 1.4 already exists; choose another.")]
    version: Annotated[str, about("The version that is used", "1.4")]
    bytes: Annotated[int, about("Size of what its upload stored", 48213)]
    sha256: Annotated[
        str,
        about(
            "SHA-256 of what its upload stored, lower-case hexadecimal",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
    ]


class QuotaDocument(Struct):
    """Why an account cannot have another mod, where the operator has set quotas."""

    error: Annotated[str, about("The code", "quota")]
    message: Annotated[str, about("The sentence", "Your account may have no further mod: it has 20 of 20.")]
    limit: Annotated[int, about("The mods that the account may have", 20)]
    used: Annotated[int, about("The mods that it has, drafts included", 20)]


def files_document(mod: Mod) -> FilesDocument:
    """Build the document of all files of a mod, whose assets and their blobs must be loaded."""
    files = [
        FileDocument(asset.id, asset.kind, asset.name, asset.size, asset.blob.sha256, asset.caption or "")
        for asset in in_order(mod.assets)
    ]
    return FilesDocument(len(files), files)
