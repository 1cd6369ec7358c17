"""The mod that supersedes another one, as its owner says; readers see it only if it is published."""

from typing import Any

import msgspec
from sqlalchemy import Select, bindparam, select
from sqlalchemy.orm import Session, aliased

from modhub.audit import record
from modhub.base.errors import invalid
from modhub.catalogue.models import Mod, PublicMod, Successor
from modhub.catalogue.references import fold_guid
from modhub.catalogue.response_schemas import ModDocument
from modhub.catalogue.services import own_mod, record_change
from modhub.db.raw_queries import RawQueryExecutor

_decode = msgspec.json.Decoder(ModDocument).decode


class SuccessorDocument(msgspec.Struct):
    """A published mod that supersedes another one."""

    guid: str
    id: int
    title: str
    url: str


def _with_successor(mod: Any) -> Select[Any, Any]:
    """(GUID of the successor or NULL, its document if it is published) of a mod."""
    successor = aliased(PublicMod)
    joined = select(Successor.guid, successor.document).select_from(mod)
    joined = joined.outerjoin(Successor, Successor.mod_id == mod.id).outerjoin(
        successor, successor.guid == Successor.guid
    )
    return joined.where(mod.id == bindparam("id"))


class SuccessorReader:
    """Reads successors; one per application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader
        self._public = reader.prepare(_with_successor(PublicMod))
        self._own = reader.prepare(_with_successor(Mod).where(Mod.owner == bindparam("owner")))

    def of_published(self, mod_id: int | None) -> tuple[SuccessorDocument | None] | None:
        """Return the successor of a published mod, in a tuple; None if the mod is not published."""
        rows = [] if mod_id is None else self._reader.rows(self._public, id=mod_id)
        return (_document(rows[0][1]),) if rows else None

    def of_own(self, mod_id: int | None, owner: int) -> tuple[str, SuccessorDocument | None]:
        """Return (GUID as stored or "", the successor if it is published) for the owner."""
        rows = self._reader.rows(self._own, id=mod_id, owner=owner)
        return (rows[0][0] or "", _document(rows[0][1])) if rows else ("", None)


def _document(encoded: Any) -> SuccessorDocument | None:
    if encoded is None:
        return None
    mod = _decode(bytes(encoded))
    return SuccessorDocument(mod.guid, mod.id, mod.title, mod.url)


def change_successor(session: Session, mod_id: int | None, owner: int, guid: str) -> None:
    """Set the successor of the owner's mod, or clear it with an empty GUID. 400 for the mod itself."""
    mod = own_mod(session, mod_id, owner)
    if fold_guid(guid) == fold_guid(mod.guid):
        raise invalid("A mod cannot supersede itself.", field="supersededBy")
    stored = session.get(Successor, mod.id)
    if fold_guid(guid) == (stored.guid if stored else ""):
        return
    if stored is not None and not guid:
        session.delete(stored)
    elif stored is not None:
        stored.guid = fold_guid(guid)
    else:
        session.add(Successor(mod_id=mod.id, guid=fold_guid(guid)))
    record(session, "successor changed", "mod", mod.id, successor=fold_guid(guid) or None)
    record_change(session, mod)
