"""What moderators can take out of a mod and put back: an image, a changelog entry, the description.

What was removed is in no table that readers or the owner see. Moderation keeps its text, the core its file and the
version that it used. Functions over a session, as :class:`modhub.plugins.declarations.RemovablePart` has them.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pyramid.config import Configurator
from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.blobs.models import trash_blob
from modhub.catalogue.copies import mark_changelog_edited
from modhub.catalogue.documents import images_of
from modhub.catalogue.models import (
    IS_THERE,
    WITH_FILES,
    Asset,
    AssetKind,
    DescriptionSource,
    KeptFile,
    Mod,
    Note,
    NoteSource,
    ReservedVersion,
)
from modhub.catalogue.owning.events import notify_changed
from modhub.catalogue.owning.services import record_change
from modhub.catalogue.owning.texts import WrittenText, keep_source, written_source
from modhub.catalogue.pictures.services import forget_pictures, queue_pictures
from modhub.content.text import N_
from modhub.db import bulk, iso
from modhub.web.traversal import parse_id


def _lock_mod(session: Session, mod_id: int) -> Mod | None:
    """The mod with its files, its row locked until the transaction ends."""
    mods = select(Mod).where(Mod.id == mod_id, IS_THERE).options(WITH_FILES)
    return session.scalars(mods.with_for_update()).one_or_none()


def take_image_out(session: Session, mod_id: int, key: str) -> dict[str, Any] | None:
    """Take out the image with the asset id ``key``. Its file is kept aside as long as the mod exists."""
    mod = _lock_mod(session, mod_id)
    image = next((image for image in (images_of(mod) if mod else ()) if image.id == parse_id(key)), None)
    if mod is None or image is None:
        return None
    kept = {
        "name": image.name,
        "contentType": image.content_type,
        "position": image.position,
        "caption": image.caption,
        "storedAt": iso(image.stored_at),
        "blobId": image.blob_id,
        "bytes": image.size,
        "sha256": image.blob.sha256,
    }
    session.add(
        KeptFile(
            blob_id=image.blob_id, mod_id=mod.id, kind=image.kind, name=image.name, content_type=image.content_type
        )
    )
    forget_pictures(session, [image.id])
    mod.assets.remove(image)
    record(session, "image removed by a moderator", "mod", mod.id, asset=image.id, sha256=image.blob.sha256)
    record_change(session, mod)
    return kept


def restore_image(session: Session, mod_id: int, key: str, kept: Mapping[str, Any]) -> bool:
    """Put the image back in its place, under its address."""
    mod, asset_id = _lock_mod(session, mod_id), parse_id(key)
    file = session.get(KeptFile, kept["blobId"], with_for_update=True)
    is_ours = file is not None and file.mod_id == mod_id
    if mod is None or asset_id is None or not is_ours or session.get(Asset, asset_id) is not None:
        return False
    session.delete(file)
    image = Asset(
        id=asset_id,
        kind=AssetKind.IMAGE.value,
        name=kept["name"],
        content_type=kept["contentType"],
        blob_id=kept["blobId"],
        stored_at=datetime.fromisoformat(kept["storedAt"]),
        position=kept["position"],
        caption=kept["caption"],
    )
    mod.assets.append(image)
    record(session, "image restored by a moderator", "mod", mod.id, asset=asset_id)
    record_change(session, mod)
    queue_pictures(session, image)
    return True


def discard_image(session: Session, mod_id: int, _key: str, kept: Mapping[str, Any]) -> None:
    """Delete the file that is kept aside, unless its mod is evidence: then it is a part of that."""
    is_ours = exists().where(Mod.id == mod_id, IS_THERE)
    file = KeptFile.blob_id == kept["blobId"], KeptFile.mod_id == mod_id, is_ours
    if session.scalar(select(KeptFile.blob_id).where(*file)) is not None:
        trash_blob(session, [kept["blobId"]])
        bulk.execute_bulk(session, delete(KeptFile).where(*file))


def remove_entry(session: Session, mod_id: int, key: str) -> dict[str, Any] | None:
    """Take out the changelog entry of the version ``key``, which stays used. The mod's ``updated_at`` does not move."""
    mod = _lock_mod(session, mod_id)
    by_version = select(Note).where(Note.mod_id == mod_id, Note.version == key).with_for_update()
    note = session.scalars(by_version).one_or_none()
    if mod is None or note is None:
        return None
    stored = session.get(NoteSource, note.id)
    source, chosen = written_source(stored, note.text)
    kept = {
        "id": note.id,
        "title": note.title,
        "text": note.text,
        "createdAt": iso(note.created_at),
        "editedAt": note.edited_at and iso(note.edited_at),
        "automatic": note.automatic,
        "source": None if stored is None else source,
        "format": chosen,
    }
    session.add(ReservedVersion(mod_id=mod_id, version=note.version, size=note.size, sha256=note.sha256))
    keep_source(session, NoteSource, note.id, "", None)
    session.delete(note)
    record(session, "changelog entry removed by a moderator", "mod", mod_id, entry=note.id, version=note.version)
    _publish_changelog(session, mod_id)
    return kept


def restore_entry(session: Session, mod_id: int, key: str, kept: Mapping[str, Any]) -> bool:
    """Put the entry back under its id."""
    mod = _lock_mod(session, mod_id)
    reserved = session.get(ReservedVersion, (mod_id, key), with_for_update=True)
    if mod is None or reserved is None:
        return False
    edited_at = kept["editedAt"]
    note = Note(
        id=kept["id"],
        mod_id=mod_id,
        version=key,
        size=reserved.size,
        sha256=reserved.sha256,
        title=kept["title"],
        text=kept["text"],
        created_at=datetime.fromisoformat(kept["createdAt"]),
        edited_at=edited_at and datetime.fromisoformat(edited_at),
        automatic=kept["automatic"],
    )
    session.add(note)
    session.delete(reserved)
    _restore_source(session, NoteSource, note.id, kept)
    record(session, "changelog entry restored by a moderator", "mod", mod_id, entry=note.id, version=key)
    _publish_changelog(session, mod_id)
    return True


def _publish_changelog(session: Session, mod_id: int) -> None:
    session.flush()
    mark_changelog_edited(session, mod_id)
    notify_changed(session, mod_id)


def remove_description(session: Session, mod_id: int, _key: str) -> dict[str, Any] | None:
    """Empty the description."""
    mod = _lock_mod(session, mod_id)
    if mod is None or not mod.description:
        return None
    stored = session.get(DescriptionSource, mod.id)
    source, chosen = written_source(stored, mod.description)
    kept = {"text": mod.description, "source": None if stored is None else source, "format": chosen}
    _set_description(session, mod, "", {"source": None})
    record(session, "description removed by a moderator", "mod", mod.id)
    return kept


def restore_description(session: Session, mod_id: int, _key: str, kept: Mapping[str, Any]) -> bool:
    """Put the description back; False if the owner has written another one, which stays."""
    mod = _lock_mod(session, mod_id)
    if mod is None or mod.description not in {"", kept["text"]}:
        return False
    if not mod.description:
        _set_description(session, mod, kept["text"], kept)
        record(session, "description restored by a moderator", "mod", mod.id)
    return True


def _set_description(session: Session, mod: Mod, html: str, kept: Mapping[str, Any]) -> None:
    mod.description = html
    _restore_source(session, DescriptionSource, mod.id, kept)
    record_change(session, mod)


def _restore_source(
    session: Session, model: type[DescriptionSource | NoteSource], key: int, kept: Mapping[str, Any]
) -> None:
    source = kept["source"]
    written = None if source is None else WrittenText(source, kept["format"], kept["text"], is_cut=False)
    keep_source(session, model, key, kept.get("text", ""), written)


def includeme(config: Configurator) -> None:
    """Declare the parts."""
    config.add_removable_part("image", N_("Image"), take_image_out, restore_image, discard=discard_image)
    config.add_removable_part("changelog", N_("Changelog entry"), remove_entry, restore_entry)
    config.add_removable_part("description", N_("Description"), remove_description, restore_description)
