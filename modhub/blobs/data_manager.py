"""Data manager for files: commit publishes what was staged, abort discards it.

A commit flushes the rows, publishes the files (our vote) and commits the rows (zope.sqlalchemy votes last).
So a crash leaves at most an orphaned file, never a row without its file.
"""

from typing import Any

from transaction.interfaces import IDataManager
from zope.interface import implementer

from modhub.blobs.store import Blob, BlobStore, Readable

# transaction and pyramid_tm are not typed.
_Manager = Any
_Transaction = Any


def stage(tm: _Manager, store: BlobStore, stream: Readable, limit: int) -> Blob:
    """Stage ``stream`` in the current transaction of ``tm`` and return its blob.

    Raises as :meth:`BlobStore.stage`. Create the row that refers to the blob in the same transaction. Each retry of a
    request stages again; the failed attempt has discarded its file. The stream is read from its current position.
    ``pyramid_retry`` does not rewind it, so the caller must (``request.make_body_seekable()``).
    """
    transaction = tm.get()
    blob = store.stage(stream, limit)
    try:
        transaction.join(StagedBlob(tm, store, blob.key))
    except BaseException:
        store.discard(blob.key)
        raise
    return blob


@implementer(IDataManager)
class StagedBlob:
    """The data manager of one staged blob."""

    def __init__(self, tm: _Manager, store: BlobStore, key: str) -> None:
        self.transaction_manager = tm
        self._store = store
        self._key = key
        self._finished = False
        self._published = False

    def abort(self, _transaction: _Transaction) -> None:
        """Discard the file. No-op after the end of the transaction: after-commit hooks lead to a second call then."""
        if not self._finished:
            self._finished = True
            self._store.discard(self._key)

    def tpc_begin(self, _transaction: _Transaction) -> None:
        """No-op: the file is already on disk."""

    def commit(self, _transaction: _Transaction) -> None:
        """No-op: files are published in the vote."""

    def tpc_vote(self, _transaction: _Transaction) -> None:
        """Publish the file before the rows commit; a failure (502) aborts the transaction."""
        self._store.publish(self._key)
        self._published = True

    def tpc_finish(self, _transaction: _Transaction) -> None:
        """The rows are committed: keep the file."""
        self._finished = True

    def tpc_abort(self, transaction: _Transaction) -> None:
        """A vote failed: discard the file, unless it is published.

        The failure may be a lost reply to the rows' COMMIT, in which case the rows exist. So a published file stays, at
        worst as an orphan for the sweep.
        """
        if not self._published:
            self.abort(transaction)

    def sortKey(self) -> str:  # noqa: N802 - the name is the transaction package's
        """Sorts first: we vote before the rows commit, and finish before another data manager can fail to."""
        return f"!modhub.blobs:{self._key}"
