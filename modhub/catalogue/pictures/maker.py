"""Making derived pictures: claims a task, decodes in a child process, stores the result.

A claim lasts for `LEASE`: if the process is killed, another one continues after that. So two processes never make the
same pictures at the same time, and each has at most one child.
"""

import io
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, NamedTuple

import transaction
from sqlalchemy import Update, delete, select, update

from modhub.base.service_registry import find_optional_service, find_service
from modhub.blobs import BlobStore, stage
from modhub.blobs.models import StoredBlob
from modhub.catalogue.models import Asset
from modhub.catalogue.pictures import services
from modhub.catalogue.pictures.child import CHILD_FAILED, MAX_OUTPUT, Decoder, DecodingFailed, DerivedPictures
from modhub.catalogue.pictures.models import PictureTask
from modhub.db import Databases, bulk, now
from modhub.plugins.workers import is_stopping, time_is_up

log = logging.getLogger(__name__)
LEASE: Final = timedelta(seconds=8)
"""How long a claimed task belongs to one worker, which renews the claim while its child runs."""
PAUSE: Final = timedelta(seconds=30)
"""How long a task waits after an error of the store or the database."""
MAX_ATTEMPTS: Final = 3
"""Attempts whose child failed, or whose process was killed, before the image is given up."""
PICTURE_SECONDS: Final = 1.0
CANDIDATES: Final = 10
"""Due tasks that a worker looks at, of which others may be faster to claim some."""


class ClaimedTask(NamedTuple):
    """A task that belongs to this worker, and the file of its image; ``key`` is None if the image was deleted."""

    asset_id: int
    attempts: int
    key: str | None
    size: int
    sha256: str


class _ImageDeleted(Exception):
    """Rolls back the pictures of an image that was deleted in the meantime."""


class PictureMaker:
    """Makes pictures; for the worker and for ``modhub-admin pictures rebuild``."""

    def __init__(
        self,
        databases: Databases,
        store: BlobStore,
        decoder: Decoder | None = None,
        is_stopping: Callable[[], bool] = bool,
    ) -> None:
        """``is_stopping`` tells that the current image is to be left to the next start."""
        self._databases = databases
        self._store = store
        self._decoder = decoder or Decoder()
        self._is_stopping = is_stopping

    def make_next(self) -> bool:
        """Make the pictures of one image; False if no task is due."""
        task = self._claim()
        if task is None:
            return False
        if task.key is None:
            self._write_result(task, None)
            return True
        try:
            derived = self._decode(task)
            self._store_pictures(task, derived)
        except DecodingFailed as error:
            if self._is_stopping():
                self._postpone(task, timedelta(0))
            elif error.problem != CHILD_FAILED or task.attempts >= MAX_ATTEMPTS:
                log.info("no pictures of image %d: %s", task.asset_id, error.problem)
                self._write_result(task, error.problem, error.told)
            else:
                self._postpone(task, timedelta(0), attempts=task.attempts)
        except Exception:
            # The image is not at fault, so the attempt does not count.
            self._postpone(task, PAUSE)
            raise
        return True

    def _claim(self) -> ClaimedTask | None:
        time = now()
        # A task is never due later than that, unless the clock was set back (T-F7).
        is_due = (PictureTask.due_at <= time) | (PictureTask.due_at > time + max(LEASE, PAUSE))
        due = select(PictureTask.asset_id, PictureTask.due_at, PictureTask.attempts).where(is_due)
        image = select(Asset.id, StoredBlob.key, StoredBlob.size, StoredBlob.sha256)
        image = image.join(StoredBlob, StoredBlob.id == Asset.blob_id)
        with self._databases.readonly_session() as session:
            for task in session.execute(due.order_by(PictureTask.due_at, PictureTask.asset_id).limit(CANDIDATES)):
                is_unchanged = (PictureTask.asset_id == task.asset_id) & (PictureTask.due_at == task.due_at)
                claim = {"due_at": time + LEASE, "attempts": task.attempts + 1}
                if self._update(update(PictureTask).where(is_unchanged).values(claim)):
                    file = session.execute(image.where(Asset.id == task.asset_id)).one_or_none()
                    _, key, size, sha256 = file or (None, None, 0, "")
                    return ClaimedTask(task.asset_id, task.attempts + 1, key, size, sha256)
        return None

    def _update(self, statement: Update) -> bool:
        with self._databases.write_session.begin() as session:
            return bulk.execute_bulk(session, statement) == 1

    def _decode(self, task: ClaimedTask) -> DerivedPictures:
        if task.attempts > MAX_ATTEMPTS:
            # Each attempt ended with the process that made it.
            raise DecodingFailed(CHILD_FAILED)
        assert task.key is not None
        with self._store.open(task.key, task.size, task.sha256) as source:
            return self._decoder.decode(source, lambda: self._keep(task))

    def _keep(self, task: ClaimedTask) -> None:
        """Renew the claim while the child runs; a process that stops ends the child."""
        if self._is_stopping():
            raise DecodingFailed(CHILD_FAILED)
        self._set_due(task, LEASE)

    def _store_pictures(self, task: ClaimedTask, derived: DerivedPictures) -> None:
        manager = transaction.TransactionManager(explicit=True)
        try:
            with manager:
                blobs = [stage(manager, self._store, io.BytesIO(file.content), MAX_OUTPUT) for file in derived.files]
                session = self._databases.joined_session(manager)
                if not services.store_pictures(session, task.asset_id, derived, blobs):
                    raise _ImageDeleted
        except _ImageDeleted:
            self._write_result(task, None)

    def _write_result(self, task: ClaimedTask, problem: str | None, told: str = "") -> None:
        """End the task without pictures; None for an image that was deleted."""
        with self._databases.write_session.begin() as session:
            if problem is not None:
                services.store_problem(session, task.asset_id, problem, told)
            bulk.execute_bulk(session, delete(PictureTask).where(PictureTask.asset_id == task.asset_id))

    def _postpone(self, task: ClaimedTask, pause: timedelta, attempts: int | None = None) -> None:
        self._set_due(task, pause, attempts=task.attempts - 1 if attempts is None else attempts)

    def _set_due(self, task: ClaimedTask, pause: timedelta, **values: int) -> None:
        due = {"due_at": now() + pause, **values}
        self._update(update(PictureTask).where(PictureTask.asset_id == task.asset_id).values(due))


def make_all_pictures(registry: Any) -> None:
    """Make the pictures that are due, as many as there is time for."""
    store = find_optional_service(registry, BlobStore)
    if store is not None:
        maker = PictureMaker(find_service(registry, Databases), store, is_stopping=lambda: is_stopping(registry))
        is_over = time_is_up(registry)
        while not is_over() and maker.make_next():
            pass
