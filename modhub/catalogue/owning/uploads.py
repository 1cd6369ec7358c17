"""Uploads to a mod: a staged blob becomes its code, its css or another image.

The file is staged before the mod's row is locked, so that a slow upload blocks nobody. If the transaction fails, the
staged file is discarded.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import select, union_all
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import conflict, too_large
from modhub.blobs import Blob
from modhub.blobs.models import create_blob_row, trash_blob
from modhub.catalogue.documents import images_of
from modhub.catalogue.models import Asset, AssetKind, Mod, Note, ReservedVersion
from modhub.catalogue.owning.events import ask_to_store
from modhub.catalogue.owning.images import find_image
from modhub.catalogue.owning.services import own_mod, record_change
from modhub.catalogue.pictures.services import forget_pictures, queue_pictures
from modhub.content.limits import CODE, CSS, IMAGE, IMAGES
from modhub.content.text import N_
from modhub.db import now

FALLBACKS = {AssetKind.CODE: "mod.bin", AssetKind.CSS: "mod.css", AssetKind.IMAGE: "image"}
"""Default file names."""
LIMITS = {AssetKind.CODE: CODE, AssetKind.CSS: CSS, AssetKind.IMAGE: IMAGE}
"""Maximum bytes of an upload of each kind."""
IMAGES_TOO_LARGE: Final = N_("The images of a mod may have at most %(limit)s bytes in total; nothing was saved.")


@dataclass(frozen=True, slots=True)
class AssetUpload:
    """A staged file and its metadata."""

    kind: AssetKind
    name: str
    content_type: str
    blob: Blob
    version: str = ""
    archive_problems: list[dict[str, str]] | None = None
    """Of a code file, as :func:`modhub.catalogue.owning.archives.judge_code` returns them."""
    is_recognized: bool = True
    """Whether the first bytes are those of an image; only for messages, since a type that was sent counts."""


def store_upload(session: Session, mod_id: int | None, owner: int, upload: AssetUpload) -> Mod:
    """Store an upload. 409 for a used version (C-UP-4), 413 if all images together would exceed 10 MB."""
    mod = own_mod(session, mod_id, owner)
    if upload.kind is AssetKind.CODE:
        check_version(session, mod.id, upload.version)
    if upload.kind is AssetKind.IMAGE:
        check_room(mod, upload.blob.size)
    before = _replaced_asset(mod, upload)
    ask_to_store(session, owner, mod.id, upload.blob.size, before.blob.size if before is not None else 0)
    if upload.kind is AssetKind.CODE:
        _add_note(session, mod, upload)
        mod.version = upload.version
    asset = _add_or_replace(session, mod, upload, before)
    facts = {"kind": upload.kind.value, "version": upload.version or None, "sha256": upload.blob.sha256}
    record(session, "file uploaded", "mod", mod.id, **facts)
    record_change(session, mod, upload.version if mod.published else "")
    if upload.kind is AssetKind.IMAGE:
        queue_pictures(session, asset)
    return mod


def check_room(mod: Mod, more: int) -> None:
    """Raise 413 if all images of the mod and ``more`` bytes would exceed 10 MB."""
    if sum(image.size for image in images_of(mod)) + more > IMAGES:
        raise too_large(IMAGES, IMAGES_TOO_LARGE)


def check_version(session: Session, mod_id: int | None, version: str) -> None:
    """Raise 409 if the mod has used the version (C-UP-4)."""
    columns = [(model.mod_id, model.version, model.size, model.sha256) for model in (Note, ReservedVersion)]
    by_version = union_all(*(select(*row).where(row[0] == mod_id, row[1] == version) for row in columns))
    note = session.execute(by_version).first()
    if note is not None:
        raise conflict(
            "version_used",
            "Version %(version)s already exists; choose another.",
            values={"version": version, "field": "version"},
            version=version,
            bytes=note.size,
            sha256=note.sha256,
        )


def _add_note(session: Session, mod: Mod, upload: AssetUpload) -> None:
    session.add(
        Note(
            mod_id=mod.id,
            version=upload.version,
            size=upload.blob.size,
            sha256=upload.blob.sha256,
            title=upload.version,
            created_at=now(),
        )
    )


def _replaced_asset(mod: Mod, upload: AssetUpload) -> Asset | None:
    """The code or css that the upload replaces; an image replaces nothing."""
    if upload.kind is AssetKind.IMAGE:
        return None
    return next((asset for asset in mod.assets if asset.kind == upload.kind), None)


def _add_or_replace(session: Session, mod: Mod, upload: AssetUpload, before: Asset | None) -> Asset:
    """Replace the file of the code or css, keeping the asset id (C-FILE-1), or add an image."""
    blob = create_blob_row(session, upload.blob)
    time = now()
    asset = before
    if asset is None:
        asset = Asset(kind=upload.kind.value)
        mod.assets.append(asset)
    else:
        trash_blob(session, [asset.blob_id])
        # Last-Modified has a resolution of one second: a new file needs a later one, else caches keep the old file.
        time = max(time, asset.stored_at.replace(microsecond=0) + timedelta(seconds=1))
    asset.name = upload.name
    asset.content_type = upload.content_type
    asset.blob = blob
    asset.stored_at = time
    asset.archive_problems = upload.archive_problems
    return asset


def remove_image(session: Session, mod_id: int | None, asset_id: int | None, owner: int) -> None:
    """Remove one image (C-UP-14)."""
    mod = own_mod(session, mod_id, owner)
    image = find_image(mod, asset_id)
    drop_image(session, mod, image)
    record(session, "image deleted", "mod", mod.id, asset=image.id, sha256=image.blob.sha256)
    record_change(session, mod)


def drop_image(session: Session, mod: Mod, image: Asset) -> None:
    """Delete an image of a mod that is locked, with its file and its pictures."""
    trash_blob(session, [image.blob_id])
    forget_pictures(session, [image.id])
    mod.assets.remove(image)
