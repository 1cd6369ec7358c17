"""An owner's mods as the workshop shows them: read from the owner's own rows, never from anybody else's."""

import re
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload, selectinload

from modhub.catalogue.documents import ModDocument, NoteDocument, asset_document, in_order, mod_document, note_document
from modhub.catalogue.models import Asset, Kind, Mod, Note
from modhub.catalogue.pages.reading import PageReader
from modhub.catalogue.pages.shown import Shown
from modhub.errors import not_found
from modhub.folding import fold_game

SHELF: Final = 20
"""Mods on one page of the workshop."""
_OWN_FILE: Final = re.compile(r'(?<=src=")/Modhub/file/([0-9]{1,18})(?=")')


@dataclass(frozen=True, slots=True)
class Task:
    """A thing that is left to do. ``must``: the mod cannot be published without it; ``names`` says which.

    ``is_note``: good to know, nothing to do.
    """

    text: str
    names: tuple[str, ...] = ()
    must: bool = False
    anchor: str = ""
    is_note: bool = False


class Draft(Shown):
    """A mod for its owner, published or not."""

    def __init__(self, mod: Mod) -> None:
        assets = {asset.id: asset for asset in in_order(mod.assets)}
        odd = (asset.id for asset in mod.assets if asset.kind == Kind.IMAGE and not asset.is_picture)
        super().__init__(mod_document(mod), ",".join(map(str, odd)))
        self.assets = {asset_id: asset_document(asset) for asset_id, asset in assets.items()}
        self.pictures = [(asset.id, self.assets[asset.id]) for asset in assets.values() if asset.kind == Kind.IMAGE]
        self.sha256 = next((asset.blob.sha256 for asset in assets.values() if asset.kind == Kind.CODE), None)
        self.votes = (mod.ups, mod.downs)

    @property
    def address(self) -> str:
        """The mod in the workshop."""
        return f"/Modhub/mine/{self.mod.id}"

    @property
    def image_bytes(self) -> int:
        """Bytes of all its images."""
        return sum(picture.bytes for _, picture in self.pictures)

    def with_own_images(self, cleaned: str) -> str:
        """Cleaned HTML with the mod's images where their owner can see them: elsewhere a draft's are not to be had."""
        own = {str(asset_id) for asset_id, _ in self.pictures}
        return _OWN_FILE.sub(
            lambda found: f"{self.address}/images/{found[1]}" if found[1] in own else found[0], cleaned
        )

    def as_shown(self) -> ModDocument:
        """The document as the preview shows it: images and own address where only the owner can see them."""
        document = self.mod
        for asset_id, picture in self.pictures:
            picture.url = f"{self.address}/images/{asset_id}"
        document.assets = list(self.assets.values())
        document.description = self.with_own_images(document.description)
        document.url = f"{self.address}/preview"
        return document


def own_drafts(session: Session, owner: int, page: int) -> tuple[list[Draft], int]:
    """(a page of the caller's mods, most recently changed first; how many there are in all)."""
    own = select(Mod).where(Mod.owner == owner).options(selectinload(Mod.assets).joinedload(Asset.blob))
    ordered = own.order_by(Mod.updated_at.desc(), Mod.id.desc()).limit(SHELF).offset((page - 1) * SHELF)
    total = session.scalar(select(func.count()).select_from(Mod).where(Mod.owner == owner)) or 0
    return [Draft(mod) for mod in session.scalars(ordered)], total


def own_draft(session: Session, mod_id: int | None, owner: int) -> Draft:
    """The caller's mod; 404 when it went away after its ACL was judged."""
    statement = select(Mod).where(Mod.id == mod_id, Mod.owner == owner)
    statement = statement.options(selectinload(Mod.assets).joinedload(Asset.blob))
    mod = session.scalars(statement.execution_options(populate_existing=True)).one_or_none()
    if mod is None:
        raise not_found()
    return Draft(mod)


def own_notes(session: Session, mod_id: int | None) -> list[NoteDocument]:
    """Its changelog, newest first."""
    found = session.scalars(select(Note).where(Note.mod_id == mod_id).order_by(Note.id.desc()))
    return [note_document(note) for note in found]


def own_image(session: Session, mod_id: int | None, asset_id: int | None, owner: int) -> Any:
    """The asset row of one image of the caller's mod, with its blob; None when there is none."""
    statement = select(Asset).join(Mod, Mod.id == Asset.mod_id).options(joinedload(Asset.blob))
    wanted = (Asset.id == asset_id, Asset.kind == Kind.IMAGE.value, Mod.id == mod_id, Mod.owner == owner)
    return session.scalars(statement.where(*wanted)).one_or_none()


def tasks(draft: Draft, reader: PageReader, games: dict[str, Any]) -> list[Task]:
    """What is left to do, most urgent first. The texts are translated where they are shown."""
    mod = draft.mod
    missing = tuple(guid for guid, found in reader.named(mod.requires) if found is None)
    conflicts = tuple(found.mod.title for _, found in reader.named(mod.conflicts_with) if found is not None)
    strange = tuple(game for game in mod.games if fold_game(game) not in games)
    found = [
        (
            draft.code is None,
            Task("Upload a code file; without one the mod cannot be published.", must=True, anchor="files"),
        ),
        (bool(missing), Task("Mods that this one needs are not here:", missing, anchor="details")),
        (not mod.description, Task("Write a description.", anchor="details")),
        (
            bool(strange),
            Task("Games that are not on the curated list are shown without an icon:", strange, is_note=True),
        ),
        (not draft.pictures, Task("Add an image: lists show the first one.", anchor="files")),
        (bool(conflicts), Task("It must not be installed beside:", conflicts, is_note=True)),
        (draft.code is not None and not mod.published, Task("Look at the preview, then publish.", anchor="publish")),
    ]
    return [task for wanted, task in found if wanted]
