"""Notify subscribers about mods, in the transaction of the change (`modhub.events`, ADR 018)."""

from typing import Any, Final

from sqlalchemy.orm import Session

from modhub.db import Databases
from modhub.events import ModChanged, ModPublished, ModsDeleted, VersionUploaded

_REGISTRY: Final = "modhub registry"


def connect_sessions(databases: Databases, registry: Any) -> None:
    """Give the write sessions access to the registry; called once."""
    databases.add_session_info(_REGISTRY, registry)


def notify_published(session: Session, mod_id: int) -> None:
    """Notify that the mod has become public. Call it after the flush."""
    registry = session.info[_REGISTRY]
    registry.notify(ModPublished(mod_id, session, registry))


def notify_changed(session: Session, mod_id: int) -> None:
    """Notify that the mod has changed. Call it after the flush."""
    registry = session.info[_REGISTRY]
    registry.notify(ModChanged(mod_id, session, registry))


def notify_version(session: Session, mod_id: int, version: str) -> None:
    """Notify that the published mod has a new version. Call it after the flush."""
    registry = session.info[_REGISTRY]
    registry.notify(VersionUploaded(mod_id, version, session, registry))


def notify_deleted(session: Session, mod_ids: list[int]) -> None:
    """Notify that the mods are about to be deleted. Call it while their rows are locked and still exist."""
    registry = session.info[_REGISTRY]
    registry.notify(ModsDeleted(tuple(mod_ids), session, registry))
