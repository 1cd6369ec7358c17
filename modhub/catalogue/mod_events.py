"""Tells subscribers what happens to mods, inside the transaction that does it (`modhub.events`, docs/adr/017)."""

from typing import Any, Final

from sqlalchemy.orm import Session

from modhub.events import ModChanged, ModPublished, ModsDeleted

_REGISTRY: Final = "modhub registry"


def connect_sessions(factory: Any, registry: Any) -> None:
    """Let the sessions of ``factory`` reach the subscribers; called once where the application's sessions are made."""
    factory.configure(info={_REGISTRY: registry})


def notify_published(session: Session, mod_id: int) -> None:
    """The mod has just become public, and its row says so."""
    registry = session.info[_REGISTRY]
    registry.notify(ModPublished(mod_id, session, registry))


def notify_changed(session: Session, mod_id: int) -> None:
    """The mod has changed, and its rows say so."""
    registry = session.info[_REGISTRY]
    registry.notify(ModChanged(mod_id, session, registry))


def notify_deleted(session: Session, mod_ids: list[int]) -> None:
    """The mods are about to be deleted; their rows are locked and still there."""
    registry = session.info[_REGISTRY]
    registry.notify(ModsDeleted(tuple(mod_ids), session, registry))
