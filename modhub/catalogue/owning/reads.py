"""Owners read their own mods, published or not. Functions over a session; every statement filters by owner.

The session is a read-only one, also in a request that may write: what is shown after a refused form is what is stored,
and nobody waits for the lock of writers to read.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, joinedload, subqueryload

from modhub.base.errors import found, not_found
from modhub.blobs.models import StoredBlob
from modhub.catalogue.bodies import fold_guid
from modhub.catalogue.documents import NoteDocument, is_image_type, note_document
from modhub.catalogue.models import IS_IMAGE, Asset, DescriptionSource, KeptFile, Mod, Note, NoteSource
from modhub.catalogue.owning.texts import written_source
from modhub.catalogue.pictures.models import PictureSet
from modhub.web.downloads import StoredFile

WORKSHOP_PAGE_SIZE: Final = 20
"""Mods per page of the workshop."""


def _of_owner(owner: int) -> Select[Mod]:
    newest = select(Mod).where(Mod.owner == owner).order_by(Mod.updated_at.desc(), Mod.id.desc())
    # Not selectinload, which asks once for every 500 mods.
    return newest.options(subqueryload(Mod.assets).joinedload(Asset.blob))


def read_mods(session: Session, owner: int) -> Sequence[Mod]:
    """Return all mods of the owner with their files, most recently changed first."""
    return session.scalars(_of_owner(owner)).all()


def read_mods_page(session: Session, owner: int, number: int) -> tuple[Sequence[Mod], int]:
    """Return (one page of the owner's mods, most recently changed first; their total number)."""
    total = session.scalar(select(func.count()).select_from(Mod).where(Mod.owner == owner)) or 0
    page = _of_owner(owner).limit(WORKSHOP_PAGE_SIZE).offset((number - 1) * WORKSHOP_PAGE_SIZE)
    return session.scalars(page).all(), total


def read_titles(session: Session, owner: int) -> dict[str, str]:
    """Return the titles of the owner's mods by folded GUID."""
    rows = session.execute(select(Mod.guid, Mod.title).where(Mod.owner == owner))
    return {fold_guid(guid): title for guid, title in rows}


def read_mod(session: Session, mod_id: int | None, owner: int) -> Mod:
    """Return the owner's mod with its files; 404 if it was deleted after the ACL check."""
    return found(session.scalars(_of_owner(owner).where(Mod.id == mod_id)).one_or_none())


def read_pictures(session: Session, mods: Iterable[Mod]) -> dict[int, PictureSet]:
    """Return what became of the images of these mods of one owner, by asset id."""
    is_of_mod = Asset.mod_id.in_([mod.id for mod in mods])
    sets = select(PictureSet).join(Asset, Asset.id == PictureSet.asset_id).where(is_of_mod)
    return {pictures.asset_id: pictures for pictures in session.scalars(sets)}


def _is_own(mod_id: int | None, owner: int) -> Any:
    return select(Mod.id).where(Mod.owner == owner, Mod.id == mod_id)


def read_notes(session: Session, mod_id: int | None, owner: int) -> list[NoteDocument]:
    """Return the changelog of the owner's mod, newest first."""
    notes = select(Note).where(Note.mod_id.in_(_is_own(mod_id, owner))).order_by(Note.id.desc())
    return [note_document(note) for note in session.scalars(notes)]


class OwnNote(NamedTuple):
    """A changelog entry for its owner: with the version that it reserves, and the source of its text."""

    document: NoteDocument
    version: str
    source: str
    text_format: str


def read_own_notes(session: Session, mod_id: int | None, owner: int) -> list[OwnNote]:
    """Return the changelog of the owner's mod as the owner writes it, newest first; sources as of `written_source`."""
    joined = select(Note, NoteSource).outerjoin(NoteSource, NoteSource.note_id == Note.id)
    rows = session.execute(joined.where(Note.mod_id.in_(_is_own(mod_id, owner))).order_by(Note.id.desc()))
    return [OwnNote(note_document(note), note.version, *written_source(stored, note.text)) for note, stored in rows]


def read_untold(session: Session, mods: Iterable[Mod]) -> dict[int, int]:
    """Return the entries of the current versions of these mods that have no text, by the id of the mod."""
    is_untold = Note.mod_id.in_([mod.id for mod in mods]), Note.version == Mod.version, Note.text == ""
    rows = session.execute(select(Note.mod_id, Note.id).join(Mod, Mod.id == Note.mod_id).where(*is_untold))
    return {row.mod_id: row.id for row in rows}


def read_source(session: Session, mod: Mod) -> tuple[str, str]:
    """Return (source, chosen format) of the description; itself if it is HTML, or if it was changed by other means."""
    return written_source(session.get(DescriptionSource, mod.id), mod.description)


def read_own_image(session: Session, mod_id: int | None, asset_id: int | None, owner: int) -> StoredFile:
    """Return one image of the owner's mod, not to be cached; 404 if there is no such image."""
    images = select(Asset).where(Asset.mod_id.in_(_is_own(mod_id, owner)), IS_IMAGE)
    image = found(session.scalars(images.where(Asset.id == asset_id).options(joinedload(Asset.blob))).one_or_none())
    return _private_file(image, inline=is_image_type(image.content_type))


def read_judged_file(session: Session, mod_id: int, sha256: str) -> StoredFile:
    """Return a file that a mod has, or that is kept aside of it, by its digest: for moderators, as an attachment."""
    holders: tuple[Any, Any] = (Asset, KeptFile)
    for holder in holders:
        files = select(holder).join(holder.blob).where(holder.mod_id == mod_id, StoredBlob.sha256 == sha256)
        file = session.scalars(files.options(joinedload(holder.blob)).limit(1)).one_or_none()
        if file is not None:
            return _private_file(file, inline=False)
    raise not_found()


def _private_file(asset: Asset | KeptFile, *, inline: bool) -> StoredFile:
    return StoredFile(
        key=asset.blob.key,
        size=asset.blob.size,
        sha256=asset.blob.sha256,
        name=asset.name,
        content_type=asset.content_type,
        modified=asset.stored_at if isinstance(asset, Asset) else asset.blob.created_at,
        inline=inline,
        cache_control="no-store",
        private=True,
    )
