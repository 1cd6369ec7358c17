"""Notify subscribers about mods, in the transaction of the change (`modhub.plugins.events`, ADR 018)."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from modhub.base.service_registry import find_optional_service
from modhub.db.unit_of_work import unit_of_work
from modhub.plugins.declarations import Declarations
from modhub.plugins.events import ModChanged, ModPublished, ModsDeleted, StorageRequested, VersionUploaded


def notify_published(session: Session, mod_id: int) -> None:
    """Notify that the mod has become public. Call it after the flush."""
    _notify(session, ModPublished, mod_id)


def notify_changed(session: Session, mod_id: int) -> None:
    """Notify that the mod has changed. Call it after the flush."""
    _notify(session, ModChanged, mod_id)


def notify_version(session: Session, mod_id: int, version: str) -> None:
    """Notify that the published mod has a new version. Call it after the flush."""
    _notify(session, VersionUploaded, mod_id, version)


def ask_to_store(session: Session, account_id: int, mod_id: int | None, size: int = 0, replaced: int = 0) -> None:
    """Let subscribers refuse a new mod (``mod_id`` is None) or a file. What an operator's command stores is not asked.

    Call it before anything of it is written.
    """
    if unit_of_work(session).find_actor().kind == "account":
        _notify(session, StorageRequested, account_id, mod_id, size, replaced)


def notify_deleted(session: Session, mod_ids: list[int]) -> None:
    """Notify that the mods are about to be deleted. Call it while their rows are locked and still exist."""
    _notify(session, ModsDeleted, tuple(mod_ids))


def check_publication(session: Session, mod_id: int) -> None:
    """Let features refuse that the mod is published now (``config.add_publish_check``)."""
    registry = unit_of_work(session).registry
    declared = None if registry is None else find_optional_service(registry, Declarations)
    for check in () if declared is None else declared.publish_checks.values():
        check(session, mod_id)


def _notify(session: Session, event: Callable[..., object], *values: object) -> None:
    registry = unit_of_work(session).registry
    if registry is not None:
        registry.notify(event(*values, session, registry))
