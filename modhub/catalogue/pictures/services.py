"""Which images have pictures: asking for them, storing them, deleting them. Functions over a session."""

from collections.abc import Iterable, Iterator
from typing import Final

from sqlalchemy import Select, delete, exists, func, literal, select
from sqlalchemy.orm import Session

from modhub.blobs import Blob
from modhub.blobs.models import create_blob_row, trash_blob
from modhub.catalogue.models import IS_IMAGE, Asset, AssetKind, Mod
from modhub.catalogue.pictures.child import CONTENT_TYPES, DerivedPictures
from modhub.catalogue.pictures.models import PictureFile, PictureSet, PictureTask
from modhub.db import bulk, now, to_micros

_NO_IMAGE: Final = ~exists().where(Asset.id == PictureSet.asset_id)


def queue_pictures(session: Session, asset: Asset) -> None:
    """Ask for the pictures of a new image, whatever its type: that is sent, and its bytes count (C-PIC-5)."""
    if asset.kind == AssetKind.IMAGE:
        session.add(PictureTask(asset_id=asset.id, due_at=now()))


def queue_all(session: Session) -> None:
    """Ask for the pictures of every image, also of those that have some."""
    is_unasked = ~exists().where(PictureTask.asset_id == Asset.id)
    chosen = select(Asset.id, literal(to_micros(now())), literal(0)).where(IS_IMAGE, is_unasked)
    queued = bulk.upsert(session, PictureTask).from_select(["asset_id", "due_at", "attempts"], chosen)
    session.execute(queued.on_conflict_do_nothing())


def count_images(session: Session) -> int:
    """How many images have pictures, or could have some."""
    return session.scalar(select(func.count()).select_from(Asset).where(IS_IMAGE)) or 0


def store_pictures(session: Session, asset_id: int, derived: DerivedPictures, blobs: list[Blob]) -> bool:
    """Store the pictures of an image in place of earlier ones; False if the image was deleted in the meantime.

    ``blobs`` are the staged files of ``derived.files``.
    """
    if not _finish(session, asset_id):
        return False
    time, digest = now(), derived.digest
    sizes = " ".join(f"{width}x{height}" for width, height in derived.sizes)
    session.add(
        PictureSet(
            asset_id=asset_id,
            width=derived.width,
            height=derived.height,
            digest=digest,
            sizes=sizes,
            made_at=time,
            told=derived.told,
        )
    )
    rows = [create_blob_row(session, blob) for blob in blobs]
    session.flush()
    for file, row in zip(derived.files, rows, strict=True):
        session.add(
            PictureFile(
                asset_id=asset_id,
                name=f"{file.width}-{digest}.{file.extension}",
                content_type=CONTENT_TYPES[file.extension],
                blob_id=row.id,
                made_at=time,
            )
        )
    session.flush()
    return True


def store_problem(session: Session, asset_id: int, problem: str, told: str) -> None:
    """Record that an image has no pictures, and why; and what its metadata tells."""
    if _finish(session, asset_id):
        session.add(PictureSet(asset_id=asset_id, problem=problem, made_at=now(), told=told))
        session.flush()


def _finish(session: Session, asset_id: int) -> bool:
    """Delete the task and the earlier pictures of an image; False if the image was deleted.

    Locks the mod first, as every change of its images does: an image deleted afterwards finds the new rows.
    """
    locked = select(Mod.id).join(Asset, Asset.mod_id == Mod.id).where(Asset.id == asset_id).with_for_update(of=Mod)
    session.execute(locked).all()
    forget_pictures(session, [asset_id])
    return session.scalar(select(Asset.id).where(Asset.id == asset_id)) is not None


def forget_pictures(session: Session, asset_ids: Iterable[int] | Select[int]) -> None:
    """Delete all that belongs to images that are about to be deleted."""
    selected = asset_ids if isinstance(asset_ids, Select) else list(asset_ids)
    trash_blob(session, select(PictureFile.blob_id).where(PictureFile.asset_id.in_(selected)))
    for model in (PictureFile, PictureSet, PictureTask):
        bulk.execute_bulk(session, delete(model).where(model.asset_id.in_(selected)))


def forget_deleted_images(session: Session) -> int:
    """Delete the pictures of images that are gone, and return their number."""
    gone = session.scalars(select(PictureSet.asset_id).where(_NO_IMAGE)).all()
    for batch in bulk.batches(gone):
        forget_pictures(session, batch)
    return len(gone)


def picture_damage(session: Session) -> Iterator[str]:
    """Yield a sentence for each set of pictures that is wrong; nothing if all is well. For ``modhub-admin verify``.

    The bytes of the files are checked with those of all other files.
    """
    for asset_id in session.scalars(select(PictureSet.asset_id).where(_NO_IMAGE).order_by(PictureSet.asset_id)):
        yield f"Image {asset_id} was deleted, but its pictures were not."
    has_files = exists().where(PictureFile.asset_id == PictureSet.asset_id)
    is_incomplete = PictureSet.digest.is_not(None) & ~has_files & ~_NO_IMAGE
    for asset_id in session.scalars(select(PictureSet.asset_id).where(is_incomplete).order_by(PictureSet.asset_id)):
        yield f"The pictures of image {asset_id} are missing; run modhub-admin pictures rebuild."
