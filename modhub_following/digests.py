"""Digests: emails about new versions, each version once (modhub_following/README.md)."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import and_, delete, exists, or_, select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.content.folding import fold_game
from modhub.db import Databases, bulk, shared_now
from modhub.plugins.services import IAccounts, IMods, IPublicMods
from modhub.plugins.workers import raise_if_stopping
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import DIGEST
from modhub_following.contacts import LeaveTokens, find_contact
from modhub_following.email_text import ModGames, compose_digest, listed_versions
from modhub_following.models import Follow, Frequency, Pending, Reader, TargetKind, UploadedVersion
from modhub_following.services import insert_new

PERIODS: Final = {Frequency.DAILY: timedelta(hours=23), Frequency.WEEKLY: timedelta(days=7, hours=-1)}
"""The least time between two digests: an hour less than it says, so that a timer at the same time of day fits."""
RELEASE_BATCH: Final = 100
READER_BATCH: Final = 200
LOOK_SECONDS: Final = 60.0
SETTLED: Final = timedelta(minutes=10)
"""A digest has only versions that are this old: authors write what changed after they have uploaded."""


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
        self._tokens = LeaveTokens(registry.settings["modhub.secret"])

    def run(self, *, settled: timedelta = timedelta(0), beat: Callable[[], object] = bool) -> list[SentDigest]:
        """Queue the digests that are due, of versions that are at least ``settled`` old. Safe in several processes.

        ``beat`` is called before each of them.
        """
        with self._begin() as session:
            time = shared_now(session)
        self._hand_out_all(time - settled)
        return list(self._make_all(time, beat))

    def _hand_out_all(self, until: datetime) -> None:
        """Look up the followers of each new version; a transaction for each, so that only one process does."""
        last = 0
        while True:
            newer = select(UploadedVersion.id).where(UploadedVersion.id > last, UploadedVersion.at <= until)
            with self._begin() as session:
                ids = session.scalars(newer.order_by(UploadedVersion.id).limit(RELEASE_BATCH)).all()
            for release_id in ids:
                with self._begin() as session:
                    self._hand_out(session, release_id)
            if not ids:
                return
            last = ids[-1]

    def _hand_out(self, session: Session, release_id: int) -> None:
        is_this = UploadedVersion.id == release_id
        release = session.scalars(select(UploadedVersion).where(is_this).with_for_update()).one_or_none()
        if release is None:
            return
        session.execute(delete(UploadedVersion).where(is_this))
        mod = find_service(self._registry, IMods).get_mods(session, [release.mod_id]).get(release.mod_id)
        if mod is None or not mod.published:
            return
        document = find_service(self._registry, IPublicMods).get_documents([mod.guid]).get(mod.guid)
        games = [fold_game(game) for game in ModGames.of(document)] if document else []
        matches = or_(
            and_(Follow.kind == TargetKind.MOD.value, Follow.key == str(mod.id)),
            and_(Follow.kind == TargetKind.AUTHOR.value, Follow.key == str(mod.owner)),
            and_(Follow.kind == TargetKind.GAME.value, Follow.key.in_(games)),
        )
        followers = select(Follow.account_id).join(Reader, Reader.account_id == Follow.account_id).distinct()
        followers = followers.where(matches, Follow.created_at <= release.at, Follow.account_id != mod.owner)
        follower_ids = session.scalars(followers.where(Reader.frequency != Frequency.NONE.value)).all()
        same = {"mod_id": mod.id, "version": release.version, "at": release.at}
        for batch in bulk.batches(follower_ids):
            rows = [{"account_id": account_id, **same} for account_id in batch]
            session.execute(insert_new(session, Pending).values(rows).on_conflict_do_nothing())

    def _make_all(self, time: datetime, beat: Callable[[], object]) -> Iterator[SentDigest]:
        last = 0
        has_pending = exists().where(Pending.account_id == Reader.account_id)
        while True:
            due = select(Reader.account_id).where(_is_due(time), has_pending, Reader.account_id > last)
            with self._begin() as session:
                ids = session.scalars(due.order_by(Reader.account_id).limit(READER_BATCH)).all()
            for account_id in ids:
                beat()
                with self._begin() as session:
                    sent = self._make(session, account_id, time)
                if sent is not None:
                    yield sent
            if not ids:
                return
            last = ids[-1]

    def _make(self, session: Session, account_id: int, time: datetime) -> SentDigest | None:
        """Queue the digest of one account and forget what it says, in one transaction; None if there is nothing."""
        if not find_service(self._registry, IAccounts).lock(session, account_id):
            return None
        chosen = select(Reader).where(Reader.account_id == account_id, _is_due(time)).with_for_update()
        reader = session.scalars(chosen).one_or_none()
        if reader is None:
            return None
        newest_first = select(Pending).where(Pending.account_id == account_id).order_by(Pending.at.desc())
        pending = [(row.mod_id, row.version) for row in session.scalars(newest_first)]
        session.execute(delete(Pending).where(Pending.account_id == account_id))
        contact = find_contact(session, account_id)
        versions = list(listed_versions(session, self._registry, pending)) if contact else []
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
    DigestMaker(registry).run(settled=SETTLED, beat=lambda: raise_if_stopping(registry))
