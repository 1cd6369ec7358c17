"""Recording: one entry for each action, in the transaction of the action."""

import getpass
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from modhub.audit.hashing import EntryMac, canonical_json, personal_digest
from modhub.audit.models import AuditEntry, PersonalPart
from modhub.base.request_ids import REQUEST_ID
from modhub.base.security_log import log_event
from modhub.base.service_registry import find_service
from modhub.db import bulk, now
from modhub.db.unit_of_work import SERVICE, Actor, unit_of_work

_MAX_ADDRESS, _MAX_NAME = 100, 200


def act_for_request(session: Session, request: Any) -> None:
    """Record the actions of this session as those of the request's caller; ``request.dbsession`` does so by itself."""
    unit_of_work(session).find_actor = partial(_actor_of_request, request)


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


def _actor_of_request(request: Any) -> Actor:
    """The caller as the permission of the view has identified it."""
    caller, environ = request.caller, request.environ
    kind, number = "nobody", ""
    if caller.account_id is not None:
        kind, number = "account", str(caller.account_id)
    elif caller.key is not None:
        kind, number = "key", caller.key
    return Actor(kind, number, environ.get("REMOTE_ADDR") or "", "", environ.get(REQUEST_ID, ""))


@contextmanager
def acting_as_service(session: Session) -> Iterator[None]:
    """Record what happens within as the service's own actions: what it decides by itself is not done by who called."""
    unit = unit_of_work(session)
    before, unit.find_actor = unit.find_actor, lambda: SERVICE
    try:
        yield
    finally:
        unit.find_actor = before


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
) -> None:
    """Record what the session's actor did to ``target``: ``record(session, "mod published", "mod", 12)``.

    It is logged when it is committed, and not at all if it is rolled back.

    ``target`` is one word, the kind of thing. Nothing personal may be in ``details``: they are kept without limit.
    """
    unit = unit_of_work(session)
    if unit.is_rehearsal:
        return
    facts = {name: value for name, value in details.items() if value is not None}
    actor = unit.find_actor()
    kind, actor_id = actor.kind, actor.id
    if unit.pending.account_id is not None and kind in {"nobody", "account"}:
        kind, actor_id = "account", str(unit.pending.account_id)
    token, time = secrets.token_hex(16), now()
    entry = AuditEntry(
        token=token,
        at=time,
        actor_kind=kind,
        actor_id=actor_id,
        action=action,
        target_kind=target,
        target_id=str(target_id),
        details=canonical_json(facts) if facts else "",
        request_id=actor.request_id,
        personal_digest="",
    )
    account_id = int(actor_id) if kind == "account" else None
    if (actor.address or actor.name) and account_id not in unit.pending.deleted_accounts:
        personal = PersonalPart(
            token=token,
            at=time,
            account_id=account_id,
            address=_storable(actor.address, _MAX_ADDRESS),
            name=_storable(actor.name, _MAX_NAME),
            salt=secrets.token_hex(16),
        )
        entry.personal_digest = personal_digest(personal)
        session.add(personal)
    # Without an application there is no secret, and `verify` finds the entry.
    entry.mac = "" if unit.registry is None else find_service(unit.registry, EntryMac).sign(entry)
    session.add(entry)
    unit.pending.log_lines.append((action, {target: target_id, **facts}))


def log_committed(session: Session) -> None:
    """Log what the session has recorded; the step after the commit."""
    for action, facts in unit_of_work(session).pending.log_lines:
        log_event(action, **facts)


def _storable(value: str, limit: int) -> str:
    """``value`` without the bytes of an environment variable that are not UTF-8."""
    return value.encode("utf-8", "replace").decode().replace("\0", "")[:limit]


def erase_account(session: Session, account_id: int) -> None:
    """Erase the personal parts of what a deleted account did, and keep none in the rest of the transaction."""
    unit_of_work(session).pending.deleted_accounts.add(account_id)
    session.flush()
    bulk.execute_bulk(session, delete(PersonalPart).where(PersonalPart.account_id == account_id))
