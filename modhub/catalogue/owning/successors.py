"""The mod that supersedes another one, as its owner says; readers see it only if it is published."""

from typing import Annotated, Any

import msgspec
from sqlalchemy import Select, bindparam, select
from sqlalchemy.orm import Session, aliased

from modhub.audit import record
from modhub.base.errors import invalid
from modhub.base.operations import about
from modhub.catalogue.bodies import fold_guid
from modhub.catalogue.documents import decode_mod
from modhub.catalogue.models import Mod, PublicMod, Successor
from modhub.catalogue.owning.services import own_mod, record_change


class SuccessorDocument(msgspec.Struct):
    """A published mod that supersedes another one."""

    guid: Annotated[str, about("The GUID of the mod", "7d5f2b1c-8a3e-4c9d-b6f0-1e2d3c4b5a69")]
    id: Annotated[int, about("The number in addresses", 13)]
    title: Annotated[str, about("Its title", "Calm HUD")]
    url: Annotated[str, about("The page for people", "/Modhub/13")]


class SupersededDocument(msgspec.Struct, rename="camel"):
    """``GET`` and ``PUT /api/modhub/{id}/superseded``: null if no published mod supersedes this one."""

    superseded_by: Annotated[
        SuccessorDocument | None,
        about("The mod that takes its place; null if there is none, or if it is not published"),
    ]


def with_successor(mod: Any) -> Select[Any, Any]:
    """(GUID of the successor or NULL, its document if it is published) of the mod ``id``."""
    successor = aliased(PublicMod)
    joined = select(Successor.guid, successor.document).select_from(mod)
    joined = joined.outerjoin(Successor, Successor.mod_id == mod.id).outerjoin(
        successor, successor.guid == Successor.guid
    )
    return joined.where(mod.id == bindparam("id"))


def read_successor(session: Session, mod_id: int | None, owner: int) -> tuple[str, SuccessorDocument | None]:
    """Return (GUID as stored or "", the successor if it is published) of the owner's mod."""
    row = session.execute(with_successor(Mod).where(Mod.owner == owner), {"id": mod_id}).first()
    return ("", None) if row is None else (row[0] or "", successor_document(row[1]))


def successor_document(document: Any) -> SuccessorDocument | None:
    """Build the successor's document from its stored JSON, None without one."""
    if document is None:
        return None
    mod = decode_mod(bytes(document))
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
