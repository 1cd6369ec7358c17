"""Notify subscribers about mods, in the transaction of the change (`modhub.plugins.events`, ADR 018)."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from modhub.base.service_registry import find_optional_service
from modhub.db.unit_of_work import unit_of_work
from modhub.plugins.events import ModChanged, ModPublished, ModPublishing, ModsDeleted
from modhub.plugins.moderation import IQuotas


def notify_published(session: Session, mod_id: int) -> None:
    """Notify that the mod has become public. Call it after the flush."""
    _notify(session, ModPublished, mod_id)


def notify_changed(session: Session, mod_id: int, version: str = "") -> None:
    """Notify that the mod has changed, or has a new ``version``. Call it after the flush."""
    _notify(session, ModChanged, mod_id, version=version)


def ask_to_store(session: Session, account_id: int, mod_id: int | None, size: int = 0, replaced: int = 0) -> None:
    """Let quotas refuse a new mod (``mod_id`` is None) or a file. What an operator's command stores is not asked.

    Call it before anything of it is written.
    """
    unit = unit_of_work(session)
    quotas = None if unit.registry is None else find_optional_service(unit.registry, IQuotas)
    if quotas is not None and unit.find_actor().kind == "account":
        quotas.take(session, account_id, mod_id, size, replaced)


def notify_deleted(session: Session, mod_ids: list[int]) -> None:
    """Notify that the mods are about to be deleted. Call it while their rows are locked and still exist."""
    _notify(session, ModsDeleted, tuple(mod_ids))


def notify_publishing(session: Session, mod_id: int) -> None:
    """Let subscribers refuse that the mod is published now."""
    _notify(session, ModPublishing, mod_id)


def _notify(session: Session, event: Callable[..., object], value: object, **more: object) -> None:
    registry = unit_of_work(session).registry
    if registry is not None:
        registry.notify(event(value, session, registry, **more))
