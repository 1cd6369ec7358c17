"""Which rewrites of public copies change what everybody sees, and the check that each change was recorded."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import DecodeError
from sqlalchemy import and_, bindparam, or_, select
from sqlalchemy.orm import Session

from modhub.catalogue.models import PublicMod
from modhub.catalogue.response_schemas import AssetDocument, decode_mod
from modhub.db.changes import MOD, PublicChange, What, mark_mod_changed

_RECORDED: Final = and_(PublicChange.key == PublicMod.guid, PublicChange.kind == MOD)
_IS_UNRECORDED: Final = or_(
    PublicChange.serial.is_(None), PublicChange.what == What.DELETED.value, PublicChange.at < PublicMod.updated_at
)
_PUBLISHED: Final = (
    select(
        PublicMod.id,
        PublicMod.guid,
        PublicMod.document,
        PublicMod.links,
        _IS_UNRECORDED,
        PublicChange.what,
        PublicMod.updated_at,
    )
    .outerjoin(PublicChange, _RECORDED)
    .where(PublicMod.id.in_(bindparam("mod_ids", expanding=True)))
)
_UNRECORDED: Final = (
    select(PublicMod.id).outerjoin(PublicChange, _RECORDED).where(_IS_UNRECORDED).order_by(PublicMod.id)
)
_VANISHED: Final = (
    select(PublicChange.key)
    .outerjoin(PublicMod, PublicMod.guid == PublicChange.key)
    .where(PublicChange.kind == MOD, PublicChange.what != What.DELETED.value, PublicMod.id.is_(None))
    .order_by(PublicChange.serial)
)


class PublishedCopy(NamedTuple):
    """The public copy of a mod before it is rewritten; ``unrecorded``: its last change has no serial.

    ``what`` is its last recorded change.
    """

    guid: str
    document: bytes
    links: str
    unrecorded: bool
    what: str | None
    updated_at: datetime

    @property
    def edited(self) -> What:
        """What an edit is recorded as.

        Once files have changed, edits are recorded as that, too: who has missed the entry of the file, since each
        mod has only its latest, must still learn of it (C-SYNC-25).
        """
        return What.FILE if self.what == What.FILE.value else What.EDITED


def read_published(session: Session, mod_ids: Sequence[int]) -> dict[int, PublishedCopy]:
    """Return the present copies of these mods, by id."""
    return {row[0]: PublishedCopy(*row[1:]) for row in session.execute(_PUBLISHED, {"mod_ids": mod_ids})}


def mark_differences(session: Session, before: Mapping[int, PublishedCopy], copies: Sequence[Any]) -> None:
    """Record what differs between the copies before and the new ``PublicMod`` rows, in the order of the ids."""
    rows = {row.id: row for row in copies}
    for mod_id in sorted(before.keys() | rows.keys()):
        old, new = before.get(mod_id), rows.get(mod_id)
        if new is None:
            assert old is not None
            mark_mod_changed(session, old.guid, None, What.DELETED)
        elif what := _difference(old, new):
            mark_mod_changed(session, new.guid, mod_id, what, after=new.updated_at)


def _difference(old: PublishedCopy | None, new: Any) -> What | None:
    if old is None:
        return What.PUBLISHED
    if (old.document, old.links) == (new.document, new.links):
        return old.edited if old.unrecorded else None
    same_files = old.links == new.links and _files(old.document) == _files(new.document)
    return old.edited if same_files else What.FILE


def mark_changelog_edited(session: Session, mod_id: int) -> None:
    """Record an edit of the changelog if the mod is public; the copy stays as it is (C-SYNC-26)."""
    for published in read_published(session, [mod_id]).values():
        mark_mod_changed(session, published.guid, mod_id, published.edited, after=published.updated_at)


def _files(document: bytes) -> tuple[str, list[AssetDocument]] | None:
    """What an upload changes in the document of a mod; None of a damaged copy, which is being mended."""
    try:
        mod = decode_mod(document)
    except DecodeError:
        return None
    return mod.version, mod.assets


def mark_vanished(session: Session) -> None:
    """Record the deletion of mods that have lost their copies without a record."""
    for guid in session.scalars(_VANISHED):
        mark_mod_changed(session, guid, None, What.DELETED)


def unrecorded_changes(session: Session) -> Iterator[str]:
    """Yield a sentence for each mod whose latest change was not recorded; for ``modhub-admin verify``."""
    for mod_id in session.scalars(_UNRECORDED):
        yield f"The last change of mod {mod_id} is missing from the list of changes."
    for guid in session.scalars(_VANISHED):
        yield f"The list of changes has the mod {guid}, which is not published or is hidden."
