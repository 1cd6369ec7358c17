"""Notify subscribers about mods, in the transaction of the change (`modhub.plugins.events`, ADR 018)."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from modhub.base.service_registry import find_optional_service
from modhub.db.unit_of_work import unit_of_work
from modhub.plugins.events import ModChanged
from modhub.plugins.moderation import IQuotas


def notify_changed(session: Session, mod_id: int, version: str = "") -> None:
    """Notify that the mod has changed, or has a new ``version``. Call it after the flush."""
    notify(session, ModChanged, mod_id, version=version)


def ask_to_store(session: Session, account_id: int, mod_id: int | None, size: int = 0, replaced: int = 0) -> None:
    """Let quotas refuse a new mod (``mod_id`` is None) or a file. What an operator's command stores is not asked.

    Call it before anything of it is written.
    """
    unit = unit_of_work(session)
    quotas = None if unit.registry is None else find_optional_service(unit.registry, IQuotas)
    if quotas is not None and unit.find_actor().kind == "account":
        quotas.take(session, account_id, mod_id, size, replaced)


def notify(session: Session, event: Callable[..., object], value: object, **more: object) -> None:
    """Notify of an event about a mod, or about several. Call it while their rows are locked and exist."""
    registry = unit_of_work(session).registry
    if registry is not None:
        registry.notify(event(value, session, registry, **more))
