"""Recording: one entry for each action, in the transaction of the action.

A batch, what one command did to many things at once, has an entry of its own, so that it can be undone as a whole.
"""

import getpass
import json
import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from modhub.audit.history import by_account, facts_of
from modhub.audit.models import AuditEntry
from modhub.base.security_log import log_event
from modhub.base.service_registry import find_service
from modhub.db import Databases, bulk, is_transient, iso, now
from modhub.db.unit_of_work import Actor, unit_of_work

BATCH_TARGET: Final = "batch"
_MAX_ADDRESS, _MAX_NAME = 100, 200
_ERASED: Final = {"address": None, "name": None}


def act_for_account(session: Session, account_id: int) -> None:
    """Record the rest of the transaction as actions of this account: it signs in, or follows its own link.

    An operator who acts stays the actor.
    """
    unit_of_work(session).pending.account_id = account_id


def record_nothing(session: Session) -> None:
    """Record and log nothing of this session: it is a dry run."""
    unit_of_work(session).is_rehearsal = True


def act_for_operator(session: Session) -> None:
    """Record the actions of this session as those of the person who runs a command."""
    unit_of_work(session).find_actor = operator


def operator() -> Actor:
    """The person at the command line, by the name of the system's user and the address of an SSH session."""
    try:
        name = os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    address = os.environ.get("SSH_CONNECTION", "").partition(" ")[0]
    return Actor("operator", address=address, name=name)


def record(
    session: Session,
    action: str,
    target: str,
    target_id: int | str = "",
    **details: int | str | None,
) -> AuditEntry | None:
    """Record what the session's actor did to ``target``: ``record(session, "mod published", "mod", 12)``.

    It is logged when it is committed, and not at all if it is rolled back. Returns the entry, None in a dry run.

    ``target`` is one word, the kind of thing. Nothing personal may be in ``details``: they are kept without limit.
    """
    unit = unit_of_work(session)
    if unit.is_rehearsal:
        return None
    facts = {name: value for name, value in details.items() if value is not None}
    actor = unit.find_actor()
    kind, actor_id = actor.kind, actor.id
    if unit.pending.account_id is not None and kind in {"nobody", "account"}:
        kind, actor_id = "account", str(unit.pending.account_id)
    is_deleted = kind == "account" and int(actor_id) in unit.pending.deleted_accounts
    entry = AuditEntry(
        at=now(),
        actor_kind=kind,
        actor_id=actor_id,
        action=action,
        target_kind=target,
        target_id=str(target_id),
        details=json.dumps(facts) if facts else "",
        request_id=actor.request_id,
        address=None if is_deleted else _storable(actor.address, _MAX_ADDRESS),
        name=None if is_deleted else _storable(actor.name, _MAX_NAME),
    )
    session.add(entry)
    unit.pending.log_lines.append((action, {target: target_id, **facts}))
    return entry


class BatchParts(NamedTuple):
    """What a batch changed: accounts, mods, and the moment that it wrote into their rows."""

    accounts: list[int]
    mods: list[int]
    at: datetime


def record_batch(
    session: Session, action: str, at: datetime, *, accounts: Sequence[int] = (), mods: Sequence[int] = ()
) -> int | None:
    """Record a batch, besides the entries of its parts; its number, None in a dry run."""
    account_ids, mod_ids = (" ".join(map(str, many)) or None for many in (accounts, mods))
    entry = record(session, action, BATCH_TARGET, at=iso(at), accounts=account_ids, mods=mod_ids)
    session.flush()
    return None if entry is None else entry.id


def find_batch(session: Session, number: int) -> BatchParts | None:
    """The batch with this number in the audit trail; None if that entry is not one."""
    is_batch = (AuditEntry.id == number, AuditEntry.target_kind == BATCH_TARGET)
    entry = session.scalars(select(AuditEntry).where(*is_batch)).one_or_none()
    if entry is None:
        return None
    facts = facts_of(entry.details)
    accounts, mods = ([*map(int, facts.get(name, "").split())] for name in ("accounts", "mods"))
    return BatchParts(accounts, mods, datetime.fromisoformat(facts["at"]))


def log_committed(session: Session) -> None:
    """Log what the session has recorded; the step after the commit."""
    for action, facts in unit_of_work(session).pending.log_lines:
        log_event(action, **facts)


def _storable(value: str, limit: int) -> str | None:
    """``value`` without the bytes of an environment variable that are not UTF-8; None if it is empty."""
    return value.encode("utf-8", "replace").decode().replace("\0", "")[:limit] or None


def erase_account(session: Session, account_id: int) -> None:
    """Erase what is personal in the entries of a deleted account, and keep none in the rest of the transaction."""
    unit_of_work(session).pending.deleted_accounts.add(account_id)
    session.flush()
    bulk.execute_bulk(session, update(AuditEntry).where(*by_account(account_id)).values(_ERASED))


def erase_old(registry: Any) -> None:
    """The worker that erases what is personal after ``modhub.audit_days``. Writers go first: it waits for no lock."""
    oldest = now() - timedelta(days=registry.settings["modhub.audit_days"])
    is_personal = AuditEntry.address.is_not(None) | AuditEntry.name.is_not(None)
    expired = select(AuditEntry.id).where(AuditEntry.at <= oldest, is_personal).limit(bulk.BATCH)
    erase = update(AuditEntry).where(AuditEntry.id.in_(expired)).values(_ERASED)
    erased = 1
    try:
        while erased:
            with find_service(registry, Databases).best_effort_session.begin() as session:
                erased = bulk.execute_bulk(session, erase)
    except Exception as error:
        if not is_transient(error):
            raise
