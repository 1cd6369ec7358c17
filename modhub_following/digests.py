"""Digests: emails about new versions, each version once (modhub_following/README.md)."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.db import Databases, shared_now
from modhub.plugins.services import IAccounts
from modhub.plugins.workers import raise_if_stopping
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import DIGEST
from modhub_following.contacts import LeaveTokens, find_contact
from modhub_following.email_text import compose_digest, new_versions
from modhub_following.models import Frequency, Reader
from modhub_following.read_service import FollowReader

PERIODS: Final = {Frequency.DAILY: timedelta(hours=23), Frequency.WEEKLY: timedelta(days=7, hours=-1)}
"""The least time between two digests: an hour less than it says, so that a timer at the same time of day fits."""
READER_BATCH: Final = 200
LOOK_SECONDS: Final = 300.0
SETTLED: Final = timedelta(minutes=10)
"""A digest has only versions that are this old: authors write what changed after they have uploaded. It is also longer
than a transaction takes that writes a version, and than the clocks of two hosts differ."""


class SentDigest(NamedTuple):
    """A digest that was queued."""

    account_id: int
    frequency: str
    versions: int


def _is_due(time: datetime) -> Any:
    """Readers who have waited long enough; a time in the future is of a clock that was set back."""
    waited = (
        and_(Reader.frequency == frequency.value, Reader.sent_at <= time - period)
        for frequency, period in PERIODS.items()
    )
    return and_(Reader.frequency != Frequency.NONE.value, or_(Reader.sent_at.is_(None), Reader.sent_at > time, *waited))


class DigestMaker:
    """Looks up who follows what is new, and queues emails; for the worker."""

    def __init__(self, registry: Any) -> None:
        self._begin = find_service(registry, Databases).write_session.begin
        self._registry = registry
        self._outbox = find_service(registry, AuthServices).outbox
        self._follows = find_service(registry, FollowReader)
        self._tokens = LeaveTokens(registry.settings["modhub.secret"])

    def run(self, *, settled: timedelta = timedelta(0), beat: Callable[[], object] = bool) -> Iterator[SentDigest]:
        """Queue the digests that are due, of versions that are at least ``settled`` old. Safe in several processes.

        ``beat`` is called before each of them.
        """
        last = 0
        while True:
            with self._begin() as session:
                time = shared_now(session)
                due = select(Reader.account_id).where(_is_due(time), Reader.account_id > last)
                ids = session.scalars(due.order_by(Reader.account_id).limit(READER_BATCH)).all()
            for account_id in ids:
                beat()
                # Most readers have nothing new: nothing is locked for them.
                if self._follows.find_untold(account_id):
                    with self._begin() as session:
                        sent = self._make(session, account_id, time, time - settled)
                    if sent is not None:
                        yield sent
            if not ids:
                return
            last = ids[-1]

    def _make(self, session: Session, account_id: int, time: datetime, until: datetime) -> SentDigest | None:
        """Queue the digest of one account and note until when it says all, in one transaction; None if nothing is new.

        A version that is older than ``until`` is not written later: no transaction is as long as versions rest.
        """
        if not find_service(self._registry, IAccounts).lock(session, account_id):
            return None
        chosen = select(Reader).where(Reader.account_id == account_id, _is_due(time)).with_for_update()
        reader = session.scalars(chosen).one_or_none()
        if reader is None:
            return None
        # Read again: another process may have queued a digest before the lock was ours.
        untold = self._follows.find_untold(account_id)
        reader.told_until = max(until, reader.told_until or until)
        contact = find_contact(session, account_id)
        versions = new_versions(session, self._registry, untold, until) if contact else []
        if contact is None or not versions:
            return None
        token = self._tokens.make(account_id, reader.random_id)
        email = compose_digest(self._registry, self._outbox, reader.language, versions, token)
        self._outbox.queue(session, DIGEST, contact, email)
        reader.sent_at = time
        session.flush()
        return SentDigest(account_id, reader.frequency, len(versions))


def queue_digests(registry: Any) -> None:
    """The worker that queues the digests that are due, each whole or not at all; one process at a time."""
    for _ in DigestMaker(registry).run(settled=SETTLED, beat=lambda: raise_if_stopping(registry)):
        pass
