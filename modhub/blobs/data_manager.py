"""Files take part in the transaction: what is staged is published by its commit and vanishes with its abort.

The order of a commit: rows are flushed, files are published (our vote), rows are committed
(zope.sqlalchemy votes last), answer. So a crash leaves at most a file that no row names, never a row without its file.
"""

from typing import Any

from transaction.interfaces import IDataManagerSavepoint, ISavepointDataManager
from zope.interface import implementer

from modhub.blobs.store import Blob, BlobStore, Readable

# The data managers of other packages, transaction and pyramid_tm have no types.
_Manager = Any
_Transaction = Any


def stage(tm: _Manager, store: BlobStore, stream: Readable, limit: int) -> Blob:
    """Store ``stream`` as a part of the current transaction of ``tm`` and return its blob.

    Refusals as in :meth:`BlobStore.stage`. The row that names the blob belongs into the same transaction. Every retry
    of a request stages anew; the attempt before has taken its file away. The stream is read from where it stands, and
    ``pyramid_retry`` does not rewind it: the caller does (``request.make_body_seekable()``).
    """
    current = tm.get()
    blob = store.stage(stream, limit)
    try:
        current.join(StagedBlob(tm, store, blob.key))
    except BaseException:
        store.discard(blob.key)
        raise
    return blob


@implementer(ISavepointDataManager)
class StagedBlob:
    """The data manager of one staged blob.

    One for each blob, because then savepoints need no bookkeeping: the transaction itself aborts a data manager that
    joined after the savepoint that is rolled back to, and one that joined before it has nothing to take back.
    """

    def __init__(self, tm: _Manager, store: BlobStore, key: str) -> None:
        self.transaction_manager = tm
        self._store = store
        self._key = key
        self._decided = False
        self._published = False

    def abort(self, _transaction: _Transaction) -> None:
        """Take the file away, if the transaction is not over: with after-commit hooks this is called once more then."""
        if not self._decided:
            self._decided = True
            self._store.discard(self._key)

    def tpc_begin(self, _transaction: _Transaction) -> None:
        """Nothing to do: the bytes are on disk already."""

    def commit(self, _transaction: _Transaction) -> None:
        """Nothing to do before the vote."""

    def tpc_vote(self, _transaction: _Transaction) -> None:
        """Publish, before the rows commit; a refusal (502) undoes the transaction."""
        self._store.publish(self._key)
        self._published = True

    def tpc_finish(self, _transaction: _Transaction) -> None:
        """The rows are committed: from now on the file stays."""
        self._decided = True

    def tpc_abort(self, transaction: _Transaction) -> None:
        """A vote failed. If ours was in already, it may be the rows' commit whose answer was lost: then they are there.

        So a published file stays, at worst as an orphan for the sweep: never a row without a file.
        """
        if not self._published:
            self.abort(transaction)

    def sortKey(self) -> str:  # noqa: N802 - the name is the transaction package's
        """First of all: we vote before the rows commit, and are decided before any other can fail to finish."""
        return f"!modhub.blobs:{self._key}"

    def savepoint(self) -> "StagedBlobSavepoint":
        """What was staged before the savepoint stays when it is rolled back to."""
        return StagedBlobSavepoint()


@implementer(IDataManagerSavepoint)
class StagedBlobSavepoint:
    """A savepoint at which the blob was staged already."""

    def rollback(self) -> None:
        """Nothing to take back."""
