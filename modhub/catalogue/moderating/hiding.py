"""Moderation: the operator hides, restores and deletes mods. Functions over a session, without request or command.

A hidden mod has no public copies, so it is 404 for everybody but its owner. The owner can still edit it, but cannot
make it visible again.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.catalogue.bodies import GUID, fold_guid
from modhub.catalogue.models import IS_THERE, Mod
from modhub.catalogue.owning.events import notify_changed
from modhub.catalogue.owning.services import erase_mods
from modhub.db import bulk, now
from modhub.web.traversal import parse_id


def find_mod_ids(session: Session, names: Iterable[str]) -> dict[str, int]:
    """The ids of the mods with these ids or GUIDs, in any case, by the names; without names of no mod."""
    ids: dict[str, int] = {}
    for batch in bulk.batches(names):
        guids = [fold_guid(name) for name in batch if GUID.match(name)]
        mod_ids = [mod_id for name in batch if (mod_id := parse_id(name)) is not None]
        named = select(Mod.id, Mod.guid).where(or_(Mod.guid.in_(guids), Mod.id.in_(mod_ids)), IS_THERE)
        by_name = {spelling: mod_id for mod_id, guid in session.execute(named) for spelling in (str(mod_id), guid)}
        ids |= {name: by_name[name.lower()] for name in batch if name.lower() in by_name}
    return ids


def lock_mods(session: Session, mod_ids: Iterable[int]) -> dict[int, Mod]:
    """The mods with these ids, by id. Rows are locked in the order of the ids, so that nobody waits for each other."""
    mods: dict[int, Mod] = {}
    for batch in bulk.batches(sorted(set(mod_ids))):
        locked = select(Mod).where(Mod.id.in_(batch), IS_THERE).order_by(Mod.id).with_for_update()
        mods |= {mod.id: mod for mod in session.scalars(locked)}
    return mods


def hide_mods(
    session: Session, mods: Sequence[Mod], reason: str | None = None, at: datetime | None = None
) -> list[Mod]:
    """Hide mods whose rows are locked, and return those that were not hidden before. ``reason`` replaces the previous.

    A draft can be hidden too, and stays invisible when published. ``updated_at`` does not change. All of them are
    hidden at the same moment, ``at`` or now: by it a batch is undone.
    """
    if reason is not None:
        for mod in mods:
            mod.hidden_reason = reason or None
    moment = at or now()
    newly_hidden = [mod for mod in mods if mod.hidden_at is None]
    for mod in newly_hidden:
        mod.hidden_at = moment
        record(session, "mod hidden", "mod", mod.id, guid=mod.guid, owner=mod.owner)
    session.flush()
    for mod in newly_hidden:
        notify_changed(session, mod.id)
    return newly_hidden


def restore_mods(session: Session, mods: Sequence[Mod]) -> list[Mod]:
    """Undo :func:`hide_mods` and return the mods that were hidden. A draft stays a draft."""
    hidden = [mod for mod in mods if mod.hidden_at is not None]
    for mod in hidden:
        mod.hidden_at = mod.hidden_reason = None
        record(session, "mod restored", "mod", mod.id, guid=mod.guid, owner=mod.owner)
    session.flush()
    for mod in hidden:
        notify_changed(session, mod.id)
    return hidden


def remove_mod(session: Session, mod: Mod) -> None:
    """Permanently delete a mod whose row is locked, with its changelog, votes and files."""
    record(session, "mod deleted by the operator", "mod", mod.id, guid=mod.guid, owner=mod.owner)
    erase_mods(session, [mod.id])
