"""What the images of a mod tell about their author, and a copy of an image that does not (C-PIC-22, C-PIC-23).

Images are stored as they are sent. So their owner is told what is in them, and decides.
"""

import re
from typing import BinaryIO

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.blobs import Blob, BlobStore, RemoteFile
from modhub.blobs.models import create_blob_row
from modhub.blobs.store import COPY_BYTES
from modhub.catalogue.copies import mark_changelog_edited
from modhub.catalogue.documents import images_of
from modhub.catalogue.models import Asset, DescriptionSource, Mod, Note
from modhub.catalogue.owning.events import ask_to_store
from modhub.catalogue.owning.images import find_image, place_images
from modhub.catalogue.owning.services import own_mod, record_change
from modhub.catalogue.owning.texts import digest_of
from modhub.catalogue.owning.uploads import check_room, drop_image
from modhub.catalogue.pictures.services import queue_pictures
from modhub.db import now


def read_stored(store: BlobStore, key: str, size: int, sha256: str) -> bytes:
    """Return the content of a small file. Errors as in :meth:`BlobStore.open`."""
    with store.open(key, size, sha256) as opened:
        if isinstance(opened, RemoteFile):
            with opened.fetch(0, size) as fetched:
                return _read_all(fetched)
        return _read_all(opened)


def _read_all(file: BinaryIO) -> bytes:
    # A file without a buffer may return less than it was asked for.
    return b"".join(iter(lambda: file.read(COPY_BYTES), b""))


def replace_image(session: Session, mod_id: int | None, asset_id: int | None, owner: int, blob: Blob) -> Asset:
    """Put a copy of an image in its place, with its name, caption and mentions in the texts; delete the image.

    The copy is a new asset, because an address never changes its bytes.
    """
    mod = own_mod(session, mod_id, owner)
    images, old = images_of(mod), find_image(mod, asset_id)
    check_room(mod, blob.size - old.blob.size)
    ask_to_store(session, owner, mod.id, blob.size, old.blob.size)
    new = Asset(
        kind=old.kind,
        name=old.name,
        content_type=old.content_type,
        caption=old.caption,
        blob=create_blob_row(session, blob),
        stored_at=now(),
    )
    mod.assets.append(new)
    place_images([new if image is old else image for image in images])
    drop_image(session, mod, old)
    session.flush()
    _replace_mentions(session, mod, old.id, new.id)
    record(session, "image metadata removed", "mod", mod.id, asset=old.id, by=new.id, sha256=old.blob.sha256)
    record_change(session, mod)
    queue_pictures(session, new)
    return new


def _replace_mentions(session: Session, mod: Mod, old_id: int, new_id: int) -> None:
    """Descriptions and changelogs may show images of the mod by their address."""
    mention, address = re.compile(rf"(?<![\w.-])/Modhub/file/{old_id}(?!\d)"), f"/Modhub/file/{new_id}"
    description = mention.sub(address, mod.description)
    source = session.get(DescriptionSource, mod.id)
    if source is not None and source.sha256 == digest_of(mod.description):
        source.source, source.sha256 = mention.sub(address, source.source), digest_of(description)
    mod.description = description
    is_edited = False
    for note in session.scalars(select(Note).where(Note.mod_id == mod.id, Note.text.contains("/Modhub/file/"))):
        text = mention.sub(address, note.text)
        is_edited |= text != note.text
        note.text = text
    if is_edited:
        mark_changelog_edited(session, mod.id)
