"""Making archives beside requests, one after the other, and telling their owners."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from tempfile import TemporaryFile
from typing import IO, Any, Final

import transaction
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError
from modhub.base.service_registry import find_optional_service, find_service
from modhub.blobs import BlobStore, stage
from modhub.blobs.models import create_blob_row
from modhub.content.text import N_
from modhub.db import Databases, now
from modhub.plugins.moderation import IPersonalArchives
from modhub.plugins.workers import RoundFailed, raise_if_stopping
from modhub.ui.i18n import Catalogs
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import EmailEntry
from modhub_auth.models import Account, Login, LoginKind
from modhub_moderation.personal_data import services
from modhub_moderation.personal_data.models import DataArchive

log = logging.getLogger(__name__)

ARCHIVE_SECONDS: Final = 20.0
FAILURES_BORNE: Final = 3
"""After this many failures an archive is made without the files that cannot be read, and names them."""
EMAIL_KIND: Final = "own data"
SUBJECT: Final = N_("Your data are ready")
READY: Final = N_("The data of your account at %(site)s are ready. Sign in to download them:")
DELETED_AFTER: Final = N_(
    "They are deleted after seven days. If you have not asked for them, choose a new password right away."
)


class _Outdated(Exception):
    """Rolls back an archive that nobody waits for any more."""


def make_archives(registry: Any) -> None:
    """The worker: make what is asked for, and delete what is old."""
    databases = find_service(registry, Databases)
    with databases.write_session.begin() as session:
        services.end_old_archives(session)
    due = select(DataArchive.account_id, DataArchive.asked_at, DataArchive.attempts)
    due = due.where(DataArchive.blob_id.is_(None), DataArchive.next_at <= now()).order_by(DataArchive.asked_at)
    with databases.readonly_session() as session:
        waiting = session.execute(due).all()
    failed = 0
    for account_id, asked_at, attempts in waiting:
        raise_if_stopping(registry)
        try:
            make_archive(registry, account_id, asked_at, skips_unreadable=attempts >= FAILURES_BORNE)
        except (ApiError, OSError) as error:
            reason = error if isinstance(error, ApiError) else error.strerror or type(error).__name__
            log.warning("the data of account %d could not be put together: %s", account_id, reason)
            failed += 1
            with databases.write_session.begin() as session:
                services.postpone(session, account_id, asked_at)
    if failed:
        raise RoundFailed(f"{failed} archives of personal data could not be made; they are tried again")


def make_archive(registry: Any, account_id: int, asked_at: datetime, *, skips_unreadable: bool = False) -> None:
    """Make one archive, and tell its owner; nothing if it has been made, or is not wanted any more."""
    store = find_optional_service(registry, BlobStore)
    if store is None:
        return
    with TemporaryFile() as file:
        with find_service(registry, Databases).readonly_session() as session:
            find_service(registry, IPersonalArchives).write(
                session, account_id, file, beat=lambda: raise_if_stopping(registry), skips_unreadable=skips_unreadable
            )
        try:
            _store(registry, store, file, account_id, asked_at)
        except _Outdated:
            log.info("the data of account %d are not wanted any more", account_id)


def _store(registry: Any, store: BlobStore, file: IO[bytes], account_id: int, asked_at: datetime) -> None:
    with _writing(registry) as (session, manager):
        size = file.tell()
        file.seek(0)
        # Before the row is locked: no lock waits for a slow disk.
        blob = stage(manager, store, file, size)
        archive = session.get(DataArchive, account_id, with_for_update=True)
        if archive is None or archive.asked_at != asked_at or archive.blob_id is not None:
            raise _Outdated
        archive.blob = create_blob_row(session, blob)
        archive.ready_at = now()
        session.flush()
        record(session, "own data put together", "account", account_id, bytes=size)
        _queue_email(registry, session, archive)


def _queue_email(registry: Any, session: Session, archive: DataArchive) -> None:
    """To each confirmed address of the account; it has nothing of the data, and its link needs the session."""
    confirmed = Login.kind == LoginKind.PASSWORD.value, Login.verified, Account.blocked_at.is_(None)
    addresses = select(Login.subject).join(Account, Account.id == Login.account_id).where(*confirmed)
    outbox = find_service(registry, AuthServices).outbox
    messages = find_service(registry, Catalogs).choose(archive.language)
    link = f"{registry.settings['modhub.base_url']}/Modhub/account/data"
    ready = messages.gettext(READY, site=registry.settings["modhub.site_name"])
    parts = [EmailEntry(lines=[ready], link=link), EmailEntry(lines=[messages.gettext(DELETED_AFTER)])]
    email = outbox.compose(messages.language, messages.gettext(SUBJECT), parts)
    for address in session.scalars(addresses.where(Login.account_id == archive.account_id)):
        outbox.queue(session, EMAIL_KIND, address, email)


@contextmanager
def _writing(registry: Any) -> Iterator[tuple[Session, Any]]:
    manager = transaction.TransactionManager(explicit=True)
    with manager:
        yield find_service(registry, Databases).joined_session(manager), manager
