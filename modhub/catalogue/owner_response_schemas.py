"""Response bodies that only owners and holders of keys get."""

from typing import Annotated

from msgspec import Struct

from modhub.base.operations import about
from modhub.catalogue.models import Mod
from modhub.catalogue.response_schemas import in_order


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
