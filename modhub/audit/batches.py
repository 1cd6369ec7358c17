"""Batches: what one command did to many things at once, as an entry of its own, so that it can be undone as a whole."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit.models import AuditEntry
from modhub.audit.recording import record
from modhub.db import iso

BATCH_TARGET: Final = "batch"


class BatchParts(NamedTuple):
    """What a batch changed: accounts, mods, and the moment that it wrote into their rows."""

    accounts: list[int]
    mods: list[int]
    at: datetime


class _Details(msgspec.Struct):
    at: datetime
    accounts: str = ""
    mods: str = ""


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
    details = msgspec.json.decode(entry.details, type=_Details)
    return BatchParts([*map(int, details.accounts.split())], [*map(int, details.mods.split())], details.at)
