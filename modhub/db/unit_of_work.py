"""The unit of work of a session: who acts, what is to be done when it commits, and who hears of it.

Features need not know it: `record`, `mark_changed` and the services of the catalogue fill it. The steps of a commit are
listed in one place, `modhub.COMMIT_STEPS`.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final

from sqlalchemy import event
from sqlalchemy.orm import Session, SessionTransaction, sessionmaker

CommitStep = Callable[[Session], None]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: an ``account`` or a ``key`` with its id, an ``operator``, ``nobody`` (not signed in), the ``service``.

    ``address`` and ``name`` are the personal part.
    """

    kind: str
    id: str = ""
    address: str = ""
    name: str = ""
    request_id: str = ""


SERVICE: Final = Actor("service")


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change of what everybody sees, before it has a serial; its time is not earlier than ``after``."""

    mod_id: int | None
    what: str
    after: datetime | None


@dataclass(slots=True)
class PendingWork:
    """What a transaction leaves to its commit. A rollback forgets it, that to a savepoint what came after it."""

    stale_mods: set[int] = field(default_factory=set)
    """Mods whose public copies must be rewritten."""
    stale_scores: set[int] = field(default_factory=set)
    """Mods of which only the score has changed."""
    changes: dict[tuple[str, str], PendingChange] = field(default_factory=dict)
    """By kind and key; of several changes of one thing the last counts."""
    account_id: int | None = None
    """The account that acts, although it is not the one that is signed in."""
    deleted_accounts: set[int] = field(default_factory=set)
    """They leave no personal part in the audit trail."""
    log_lines: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Actions and their facts, to be logged after the commit."""


@dataclass(slots=True)
class UnitOfWork:
    """One for each session. All but ``pending`` stays when the session begins another transaction."""

    registry: Any = None
    """The application's, with the subscribers of events; without one nobody hears of them."""
    find_actor: Callable[[], Actor] = lambda: SERVICE
    is_rehearsal: bool = False
    """The session will be rolled back: what it does has not happened."""
    pending: PendingWork = field(default_factory=PendingWork)
    savepoints: dict[SessionTransaction, PendingWork] = field(default_factory=dict)
    """The pending work at the beginning of each savepoint."""


def unit_of_work(session: Session) -> UnitOfWork:
    """The unit of work of ``session``.

    A session that is not of `Databases.write_session` gets one too, so that services can be tested with any session;
    but nothing is done when it commits.
    """
    unit: UnitOfWork | None = session.info.get(UnitOfWork)
    if unit is None:
        unit = session.info[UnitOfWork] = UnitOfWork()
    return unit


class WriteSession(Session):
    """A session whose unit of work belongs to an application."""

    def __init__(self, *args: Any, registry: Any = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.info[UnitOfWork] = UnitOfWork(registry)


@dataclass(frozen=True, slots=True)
class CommitSteps:
    """What is done for a session, in this order; at the end of a savepoint nothing is."""

    after_flush: tuple[CommitStep, ...] = ()
    before_commit: tuple[CommitStep, ...] = ()
    after_commit: tuple[CommitStep, ...] = ()


def take_steps(factory: sessionmaker[Any], steps: CommitSteps) -> None:
    """Take the steps for each session of the factory, and forget pending work when its transaction ends."""

    def after_flush(session: Session, _context: Any) -> None:
        for step in steps.after_flush:
            step(session)

    def take(some: tuple[CommitStep, ...], session: Session) -> None:
        if not session.in_nested_transaction():
            for step in some:
                step(session)

    event.listen(factory, "after_flush", after_flush)
    event.listen(factory, "before_commit", partial(take, steps.before_commit))
    event.listen(factory, "after_commit", partial(take, steps.after_commit))
    event.listen(factory, "after_transaction_create", _keep_savepoint)
    event.listen(factory, "after_soft_rollback", _return_to_savepoint)
    event.listen(factory, "after_transaction_end", _forget)


def _keep_savepoint(session: Session, transaction: SessionTransaction) -> None:
    if transaction.nested:
        unit = unit_of_work(session)
        unit.savepoints[transaction] = deepcopy(unit.pending)


def _return_to_savepoint(session: Session, transaction: SessionTransaction) -> None:
    if transaction.nested:
        unit = unit_of_work(session)
        unit.pending = unit.savepoints.pop(transaction)


def _forget(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:
        unit = unit_of_work(session)
        unit.pending = PendingWork()
        unit.savepoints.clear()
