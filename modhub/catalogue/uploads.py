"""Uploads to a mod: a staged blob becomes its code, its css or one more image.

The file is staged before the mod's row is locked, so that nobody waits for somebody's 64 MB; if the transaction is
refused, the staged file goes with it.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.blobs import Blob
from modhub.blobs.models import create_blob_row, trash_blob
from modhub.catalogue.models import Asset, AssetKind, Mod, Note
from modhub.catalogue.services import own_mod, record_change
from modhub.db import now
from modhub.errors import OwnershipLost, conflict, too_large
from modhub.limits import CODE, CSS, IMAGE, IMAGES

FALLBACKS = {AssetKind.CODE: "mod.bin", AssetKind.CSS: "mod.css", AssetKind.IMAGE: "image"}
"""What a file is called that comes without a name."""
LIMITS = {AssetKind.CODE: CODE, AssetKind.CSS: CSS, AssetKind.IMAGE: IMAGE}
"""Bytes that one upload of each kind may have."""


@dataclass(frozen=True, slots=True)
class AssetUpload:
    """A staged file and what was said about it."""

    kind: AssetKind
    name: str
    content_type: str
    blob: Blob
    version: str = ""


def store_upload(session: Session, mod_id: int | None, owner: int, given: AssetUpload) -> Mod:
    """Store an upload. 409 for a version that is used (C-UP-4), 413 when images would pass 10 MB in all."""
    mod = own_mod(session, mod_id, owner)
    if given.kind is AssetKind.CODE:
        _refuse_used(session, mod, given.version)
        _note_upload(session, mod, given)
        mod.version = given.version
    if given.kind is AssetKind.IMAGE:
        used = sum(asset.blob.size for asset in mod.assets if asset.kind == AssetKind.IMAGE)
        if used + given.blob.size > IMAGES:
            raise too_large(IMAGES)
    _place(session, mod, given)
    record_change(session, mod)
    return mod


def _refuse_used(session: Session, mod: Mod, version: str) -> None:
    used = session.scalars(select(Note).where(Note.mod_id == mod.id, Note.version == version)).one_or_none()
    if used is not None:
        raise conflict(
            "version_used",
            "This mod has already used the version %(version)s.",
            values={"version": version, "field": "version"},
            version=version,
            bytes=used.size,
            sha256=used.sha256,
        )


def _note_upload(session: Session, mod: Mod, given: AssetUpload) -> None:
    session.add(
        Note(
            mod_id=mod.id,
            version=given.version,
            size=given.blob.size,
            sha256=given.blob.sha256,
            title=given.version,
            created_at=now(),
        )
    )


def _place(session: Session, mod: Mod, given: AssetUpload) -> None:
    """One code and one css: a second keeps the asset's id and replaces its file (C-FILE-1). Images accumulate."""
    blob = create_blob_row(session, given.blob)
    time = now()
    asset = None
    if given.kind is not AssetKind.IMAGE:
        asset = next((asset for asset in mod.assets if asset.kind == given.kind), None)
    if asset is None:
        asset = Asset(kind=given.kind.value)
        mod.assets.append(asset)
    else:
        trash_blob(session, [asset.blob_id])
        # A date of HTTP is a whole second: another file has another one, else who asks by date keeps the one before.
        time = max(time, asset.stored_at.replace(microsecond=0) + timedelta(seconds=1))
    asset.name = given.name
    asset.content_type = given.content_type
    asset.blob = blob
    asset.stored_at = time


def remove_image(session: Session, mod_id: int | None, asset_id: int | None, owner: int) -> None:
    """Remove one image (C-UP-14)."""
    mod = own_mod(session, mod_id, owner)
    image = next((asset for asset in mod.assets if asset.id == asset_id and asset.kind == AssetKind.IMAGE), None)
    if image is None:
        raise OwnershipLost
    trash_blob(session, [image.blob_id])
    mod.assets.remove(image)
    record_change(session, mod)
