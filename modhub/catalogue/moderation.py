"""What the operator does with anybody's mod. Functions over a session; nothing here knows a request or a command.

A hidden mod has no public copies, so to everybody it is a mod that never was. Its owner goes on working on it, and
nothing that the owner does shows it again.
"""

import re
from typing import Final

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from modhub.catalogue.mod_events import notify_changed
from modhub.catalogue.models import Mod
from modhub.catalogue.services import erase_mods
from modhub.db import now
from modhub.security_log import log_event
from modhub.traversal import parse_id

_GUID: Final = re.compile(r"\A[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z")


def is_named(name: str) -> ColumnElement[bool] | None:
    """The condition for the mod that a number or a GUID in any case names; None for what is neither."""
    folded = name.lower()
    if _GUID.match(folded):
        return Mod.guid == folded
    mod_id = parse_id(name)
    return None if mod_id is None else Mod.id == mod_id


def find_mod(session: Session, name: str) -> Mod | None:
    """The mod that a number or a GUID names, its row locked until the end of the transaction."""
    wanted = is_named(name)
    if wanted is None:
        return None
    return session.scalars(select(Mod).where(wanted).with_for_update()).one_or_none()


def hide_mod(session: Session, mod: Mod, reason: str | None = None) -> bool:
    """Hide a mod whose row is locked; False when it was hidden already. A ``reason`` replaces the one before.

    A draft can be hidden too: publishing it shows nothing then. No time of change moves.
    """
    if reason is not None:
        mod.hidden_reason = reason or None
    is_new = mod.hidden_at is None
    if is_new:
        mod.hidden_at = now()
        log_event("mod hidden", mod=mod.id, guid=mod.guid, owner=mod.owner)
    session.flush()
    if is_new:
        notify_changed(session, mod.id)
    return is_new


def restore_mod(session: Session, mod: Mod) -> bool:
    """Undo :func:`hide_mod` and nothing else; False when the mod was not hidden. A draft stays a draft."""
    if mod.hidden_at is None:
        return False
    mod.hidden_at = mod.hidden_reason = None
    log_event("mod restored", mod=mod.id, guid=mod.guid, owner=mod.owner)
    session.flush()
    notify_changed(session, mod.id)
    return True


def remove_mod(session: Session, mod: Mod) -> None:
    """Delete a mod whose row is locked with its changelog, votes and files, for good."""
    log_event("mod deleted by the operator", mod=mod.id, guid=mod.guid, owner=mod.owner)
    erase_mods(session, [mod.id])
