"""Asking for an archive, and what ends it. Functions over a session."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, joinedload

from modhub.audit import record
from modhub.base.errors import conflict
from modhub.blobs.models import StoredBlob, trash_blob
from modhub.db import now
from modhub.db.bulk import execute_bulk
from modhub_moderation.personal_data.models import DataArchive

ARCHIVE_KEPT: Final = timedelta(days=7)
"""How long a ready archive can be downloaded."""


def ask_for_archive(session: Session, account_id: int, language: str) -> None:
    """Have an archive made of an account whose row is locked; a ready one is replaced. 409 while one is being made."""
    archive = session.get(DataArchive, account_id, with_for_update=True)
    if archive is None:
        archive = DataArchive(account_id=account_id)
        session.add(archive)
    elif archive.blob_id is None:
        raise conflict("archive_waits", "Your data are being put together already.")
    else:
        trash_blob(session, [archive.blob_id])
    archive.asked_at = archive.next_at = now()
    archive.language = language[:20]
    archive.attempts, archive.blob_id, archive.ready_at = 0, None, None
    record(session, "own data asked for", "account", account_id)
    session.flush()


def find_archive(session: Session, account_id: int) -> DataArchive | None:
    """The archive of an account with its file, waiting or ready; None if there is none, or its days are over."""
    archive = session.scalars(
        select(DataArchive).where(DataArchive.account_id == account_id).options(joinedload(DataArchive.blob))
    ).one_or_none()
    if archive is None or (archive.ready_at is not None and archive.ready_at <= now() - ARCHIVE_KEPT):
        return None
    return archive


def end_archives(session: Session, which: Any) -> int:
    """Delete archives, and have their files swept; how many there were."""
    trash_blob(session, select(StoredBlob.id).join(DataArchive, DataArchive.blob_id == StoredBlob.id).where(which))
    return execute_bulk(session, delete(DataArchive).where(which))


def end_old_archives(session: Session) -> None:
    """Delete those whose days are over."""
    end_archives(session, DataArchive.ready_at <= now() - ARCHIVE_KEPT)


def postpone(session: Session, account_id: int, asked_at: datetime) -> None:
    """Try again later, after each failure twice as late, up to a day."""
    archive = session.get(DataArchive, account_id, with_for_update=True)
    if archive is not None and archive.asked_at == asked_at:
        archive.attempts += 1
        archive.next_at = now() + min(timedelta(minutes=2**archive.attempts), timedelta(days=1))


def describe_archives(session: Session, blob_ids: Collection[int]) -> dict[int, str]:
    """``the data of account 7``, by the id of the stored file's row; for the operator."""
    rows = session.execute(select(DataArchive.blob_id, DataArchive.account_id).where(DataArchive.blob_id.in_(blob_ids)))
    return {blob_id: f"the data of account {account_id}" for blob_id, account_id in rows if blob_id is not None}
