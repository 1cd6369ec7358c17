"""Moderation: the operator hides, restores and deletes mods. Functions over a session, without request or command.

A hidden mod has no public copies, so it is 404 for everybody but its owner. The owner can still edit it, but cannot
make it visible again.
"""

import re
from typing import Final

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.catalogue.mod_events import notify_changed
from modhub.catalogue.models import Mod
from modhub.catalogue.services import erase_mods
from modhub.db import now
from modhub.web.traversal import parse_id

_GUID: Final = re.compile(r"\A[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z")


def matches_name(name: str) -> ColumnElement[bool] | None:
    """Return the condition for a mod by its id or GUID, in any case; None if ``name`` is neither."""
    folded = name.lower()
    if _GUID.match(folded):
        return Mod.guid == folded
    mod_id = parse_id(name)
    return None if mod_id is None else Mod.id == mod_id


def find_mod(session: Session, name: str) -> Mod | None:
    """Return the mod with this id or GUID and lock its row until the end of the transaction."""
    condition = matches_name(name)
    if condition is None:
        return None
    return session.scalars(select(Mod).where(condition).with_for_update()).one_or_none()


def hide_mod(session: Session, mod: Mod, reason: str | None = None) -> bool:
    """Hide a mod whose row is locked; False if it was already hidden. ``reason`` replaces the previous one.

    A draft can be hidden too, and stays invisible when published. ``updated_at`` does not change.
    """
    if reason is not None:
        mod.hidden_reason = reason or None
    is_new = mod.hidden_at is None
    if is_new:
        mod.hidden_at = now()
        record(session, "mod hidden", "mod", mod.id, guid=mod.guid, owner=mod.owner)
    session.flush()
    if is_new:
        notify_changed(session, mod.id)
    return is_new


def restore_mod(session: Session, mod: Mod) -> bool:
    """Undo :func:`hide_mod`; False if the mod was not hidden. A draft stays a draft."""
    if mod.hidden_at is None:
        return False
    mod.hidden_at = mod.hidden_reason = None
    record(session, "mod restored", "mod", mod.id, guid=mod.guid, owner=mod.owner)
    session.flush()
    notify_changed(session, mod.id)
    return True


def remove_mod(session: Session, mod: Mod) -> None:
    """Permanently delete a mod whose row is locked, with its changelog, votes and files."""
    record(session, "mod deleted by the operator", "mod", mod.id, guid=mod.guid, owner=mod.owner)
    erase_mods(session, [mod.id])
