"""Files in the transaction: commit, abort, a failing commit, retries, a kill."""

import io
import os

import pytest
import transaction

from modhub.base.errors import ApiError
from modhub.blobs import LocalStore, stage


@pytest.fixture
def store(tmp_path):
    return LocalStore(tmp_path / "files")


@pytest.fixture
def tm():
    return transaction.TransactionManager(explicit=True)


def put(tm, store, content=b"content"):
    return stage(tm, store, io.BytesIO(content), 1000)


def kept(store):
    return {key for key, _ in list(store.keys())}


def readable(store, blob):
    return store.verify(blob.key, blob.size, blob.sha256) is None


class Other:
    """A data manager that sorts as zope.sqlalchemy's does, and calls ``on_step`` at each step."""

    def __init__(self, tm, on_step, key="~sqlalchemy:1"):
        self.transaction_manager = tm
        self.on_step = on_step
        self.key = key
        tm.get().join(self)

    def __getattr__(self, name):
        if name not in {"abort", "tpc_begin", "commit", "tpc_vote", "tpc_finish", "tpc_abort"}:
            raise AttributeError(name)
        return lambda _transaction: self.on_step(name)

    def sortKey(self):  # noqa: N802 - the name is the transaction package's
        return self.key


def test_published_before_the_rows_commit(tm, store):
    # T-F1
    """Else a crash in between would leave a row without its file."""
    seen = []
    with tm:
        Other(tm, lambda name: seen.append((name, readable(store, blob))))
        blob = put(tm, store)
    assert seen == [("tpc_begin", False), ("commit", False), ("tpc_vote", True), ("tpc_finish", True)]


@pytest.mark.parametrize(("step", "left"), [("tpc_begin", 0), ("commit", 0), ("tpc_vote", 1)])
def test_a_commit_of_the_rows_that_fails_takes_the_files_away_unless_its_answer_may_be_lost(tm, store, step, left):
    # T-F8
    def on_step(name):
        if name == step:
            raise RuntimeError("the database said no")

    with pytest.raises(RuntimeError), tm:  # noqa: PT012 - as above
        Other(tm, on_step)
        put(tm, store)
    # A commit that fails while it votes may have happened all the same: its file is left for the sweep.
    assert len(kept(store)) == left


@pytest.mark.parametrize("key", ["a letter", "~sqlalchemy:1"])
def test_the_files_stay_when_something_fails_after_the_rows_are_committed(tm, store, key):
    def on_step(name):
        if name == "tpc_finish":
            raise RuntimeError("too late")

    with pytest.raises(RuntimeError), tm:  # noqa: PT012 - as above
        Other(tm, on_step, key)
        blob = put(tm, store)
    assert readable(store, blob)


def test_the_files_stay_when_there_are_after_commit_hooks(tm, store):
    """transaction then calls ``abort`` on every data manager of the transaction that was committed."""
    with tm:
        blob = put(tm, store)
        tm.get().addAfterCommitHook(lambda _status: None)
    assert readable(store, blob)


def test_a_store_that_refuses_to_publish_undoes_everything(tm, store, monkeypatch):
    seen = []
    publish = store.publish

    def full_after_one(key):
        publish(key)
        monkeypatch.setattr(os, "fsync", lambda _descriptor: (_ for _ in ()).throw(OSError(5, "Input/output error")))

    monkeypatch.setattr(store, "publish", full_after_one)
    with pytest.raises(ApiError) as caught, tm:  # noqa: PT012 - as above
        Other(tm, seen.append)
        put(tm, store)
        put(tm, store)
    assert caught.value.status == 502
    assert "tpc_vote" not in seen
    assert len(kept(store)) == 1, "the one that was published before is left for the sweep"


def test_a_transaction_that_takes_nobody_in_any_more(tm, store):
    def on_step(name):
        if name == "tpc_vote":
            raise RuntimeError

    tm.begin()
    Other(tm, on_step)
    with pytest.raises(RuntimeError):
        tm.commit()
    with pytest.raises(transaction.interfaces.TransactionFailedError):
        put(tm, store)
    assert kept(store) == set()
    tm.abort()
