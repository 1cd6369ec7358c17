"""Recording: one entry for each deed, in the transaction of the deed."""

import getpass
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import delete, inspect
from sqlalchemy.orm import Session

from modhub.audit.hashing import EntryMac, canonical_json, personal_digest
from modhub.audit.models import AuditEntry, PersonalPart
from modhub.base.request_ids import REQUEST_ID
from modhub.base.security_log import log_event
from modhub.db import bulk, now

AUDIT_MAC: Final = "modhub audit mac"
"""Where every write session has the :class:`EntryMac`."""
_ACTOR: Final = "modhub audit actor"
"""Where a session has the function that returns its :class:`Actor`."""
_ACCOUNT: Final = "modhub audit account"
"""Where a session has the account that acts, although it is not the one that is signed in."""
_DELETED: Final = "modhub audit deleted accounts"
"""Where a session has the ids of the accounts that it deletes: they leave no personal part."""
_REHEARSAL: Final = "modhub audit rehearsal"
"""Whether a session will be rolled back: what it does has not happened."""
_UNLOGGED: Final = "modhub audit unlogged entries"
"""Where a session has the entries, and what to log of each, until they are committed."""
_MAX_ADDRESS, _MAX_NAME = 100, 200


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


def act_for_request(session: Session, request: Any) -> None:
    """Record the deeds of this session as those of the request's caller; ``request.dbsession`` does so by itself."""
    session.info[_ACTOR] = partial(_actor_of_request, request)


def act_for_account(session: Session, account_id: int) -> None:
    """Record what follows as deeds of this account, unless an operator acts: it signs in, or follows its own link."""
    session.info[_ACCOUNT] = account_id


def record_nothing(session: Session) -> None:
    """Record and log nothing of this session: it is a dry run."""
    session.info[_REHEARSAL] = True


def act_for_operator(session: Session) -> None:
    """Record the deeds of this session as those of the person who runs a command."""
    session.info[_ACTOR] = operator


def _actor_of_request(request: Any) -> Actor:
    """The caller as the permission of the view has identified it."""
    caller, environ = request.caller, request.environ
    kind, number = "nobody", ""
    if caller.account_id is not None:
        kind, number = "account", str(caller.account_id)
    elif caller.key is not None:
        kind, number = "key", caller.key
    return Actor(kind, number, environ.get("REMOTE_ADDR") or "", "", environ.get(REQUEST_ID, ""))


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
    if session.info.get(_REHEARSAL):
        return
    facts = {name: value for name, value in details.items() if value is not None}
    find_actor: Callable[[], Actor] = session.info.get(_ACTOR, lambda: SERVICE)
    actor = find_actor()
    kind, actor_id = actor.kind, actor.id
    if _ACCOUNT in session.info and kind in {"nobody", "account"}:
        kind, actor_id = "account", str(session.info[_ACCOUNT])
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
    if (actor.address or actor.name) and account_id not in session.info.get(_DELETED, ()):
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
    mac: EntryMac = session.info[AUDIT_MAC]
    entry.mac = mac.sign(entry)
    session.add(entry)
    session.info.setdefault(_UNLOGGED, []).append((entry, action, {target: target_id, **facts}))


def log_committed(session: Session) -> None:
    """Log what the session has recorded; called after each of its commits."""
    if session.in_nested_transaction():
        # The end of a savepoint: what is in it can still be rolled back.
        return
    for entry, action, facts in session.info.pop(_UNLOGGED, ()):
        # A rollback, also that of a savepoint, makes an entry transient.
        if not inspect(entry).transient:
            log_event(action, **facts)


def _storable(value: str, limit: int) -> str:
    """``value`` without the bytes of an environment variable that are not UTF-8."""
    return value.encode("utf-8", "replace").decode().replace("\0", "")[:limit]


def erase_account(session: Session, account_id: int) -> None:
    """Erase the personal parts of what a deleted account did, and keep none in the rest of the transaction."""
    session.info.setdefault(_DELETED, set()).add(account_id)
    session.flush()
    bulk.execute_bulk(session, delete(PersonalPart).where(PersonalPart.account_id == account_id))
