"""The audit trail: what operators, keys and accounts did, in one table.

``record(session, "mod published", "mod", 12)`` is all that a feature needs: who acts, from where, and in which request
is known from the session.
"""

from pyramid.config import Configurator

from modhub.audit.history import collect_entries, read_own_entries
from modhub.audit.recording import (
    act_for_account,
    act_for_operator,
    erase_account,
    erase_old,
    find_batch,
    record,
    record_batch,
    record_nothing,
)
from modhub.plugins.events import AccountDeleted, DatabaseRestored

__all__ = [
    "act_for_account",
    "act_for_operator",
    "find_batch",
    "read_own_entries",
    "record",
    "record_batch",
    "record_nothing",
]


def _erase_deleted_account(event: AccountDeleted) -> None:
    erase_account(event.session, event.account_id)


def _record_restore(event: DatabaseRestored) -> None:
    act_for_operator(event.session)
    record(event.session, "backup restored", "database")


def includeme(config: Configurator) -> None:
    """Register the worker and the commands."""
    config.add_subscriber(_erase_deleted_account, AccountDeleted)
    config.add_subscriber(_record_restore, DatabaseRestored)
    config.add_worker("old audit entries", erase_old, every=3600)
    config.add_personal_data("history", collect_entries)
    config.include("modhub.audit.commands")
