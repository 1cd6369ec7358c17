"""Files in the transaction: commit, abort, savepoints, a failing commit, retries, a kill."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import transaction
from pyramid.config import Configurator
from pyramid.response import Response
from pyramid_retry import RetryableException
from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from transaction.interfaces import IDataManagerSavepoint, ISavepointDataManager
from webtest import TestApp
from zope.interface.verify import verifyObject
from zope.sqlalchemy import mark_changed

from modhub.base.errors import ApiError
from modhub.blobs import LocalStore, stage
from modhub.blobs.data_manager import StagedBlob


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "files")


@pytest.fixture
def tm() -> transaction.TransactionManager:
    return transaction.TransactionManager(explicit=True)


def put(tm, store, content: bytes = b"content"):
    return stage(tm, store, io.BytesIO(content), 1000)


def kept(store) -> set[str]:
    return {key for key, _ in list(store.keys())}


def readable(store, blob) -> bool:
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


def test_the_interfaces_of_transaction(tm, store):
    manager = StagedBlob(tm, store, "0" * 32)
    assert verifyObject(ISavepointDataManager, manager)
    assert verifyObject(IDataManagerSavepoint, manager.savepoint())


def test_commit_publishes(tm, store):
    with tm:
        first, second = put(tm, store), put(tm, store)
        assert not readable(store, first)
    assert readable(store, first)
    assert readable(store, second)
    assert kept(store) == {first.key, second.key}


def test_abort_leaves_nothing(tm, store):
    with pytest.raises(KeyError), tm:  # noqa: PT012 - the whole transaction is the statement
        put(tm, store)
        put(tm, store)
        raise KeyError
    assert kept(store) == set()


def test_published_before_the_rows_commit(tm, store):
    # T-F3
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


def test_a_savepoint_takes_back_what_was_staged_after_it(tm, store):
    with tm:
        before = put(tm, store)
        savepoint = tm.savepoint()
        after = put(tm, store)
        assert kept(store) == {before.key, after.key}
        savepoint.rollback()
        assert kept(store) == {before.key}
        again = put(tm, store)
    assert kept(store) == {before.key, again.key}
    assert readable(store, before)
    assert readable(store, again)


def test_nested_savepoints(tm, store):
    with tm:
        outer = tm.savepoint()
        blob = put(tm, store)
        inner = tm.savepoint()
        put(tm, store)
        inner.rollback()
        assert kept(store) == {blob.key}
        outer.rollback()
        assert kept(store) == set()


def test_without_a_transaction_nothing_is_staged(tm, store):
    with pytest.raises(transaction.interfaces.NoTransaction):
        put(tm, store)
    assert kept(store) == set()


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


def test_with_a_real_database(tm, store, tmp_path):
    # T-F8
    """zope.sqlalchemy commits when it votes: the row and the file stand or fall together."""
    engine = create_engine(f"sqlite:///{tmp_path}/rows.db")
    # A COMMIT that fails leaves SQLite's transaction open, and SQLAlchemy takes it for ended: roll back by ourselves.
    event.listen(engine, "reset", lambda connection, _record, _state: connection.rollback())
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE mods (id INTEGER PRIMARY KEY)"))
        reference = "REFERENCES mods DEFERRABLE INITIALLY DEFERRED"
        connection.execute(text(f"CREATE TABLE files (key TEXT, mod INTEGER {reference})"))
        connection.execute(text("INSERT INTO mods VALUES (1)"))

    def save(mod):
        with Session(engine) as session, tm:
            mark_changed(session, tm)
            session.execute(text("PRAGMA foreign_keys = ON"))
            session.execute(text("INSERT INTO files VALUES (:key, :mod)"), {"key": put(tm, store).key, "mod": mod})

    save(1)
    with pytest.raises(IntegrityError, match="FOREIGN KEY"):
        save(2)  # SQLite says so when it commits, which is after our vote
    with engine.connect() as connection:
        rows = set(connection.execute(text("SELECT key FROM files")).scalars())
    assert len(rows) == 1
    assert kept(store) > rows, "never a row without a file; the file of the refused commit is left for the sweep"
    engine.dispose()


def test_each_retry_stages_again_and_only_the_last_one_stays(store):
    attempts = []

    def upload(request):
        request.make_body_seekable()  # rewinds: pyramid_retry does not do that for its later attempts
        blob = stage(request.tm, store, request.body_file, 1000)
        attempts.append((blob, kept(store)))
        if len(attempts) < 3:
            raise RetryableException
        return Response(blob.sha256)

    with Configurator(settings={"retry.attempts": 3, "tm.manager_hook": "pyramid_tm.explicit_manager"}) as config:
        config.include("pyramid_retry")
        config.include("pyramid_tm")
        config.add_route("upload", "/")
        config.add_view(upload, route_name="upload")
        app = TestApp(config.make_wsgi_app())
    answer = app.post("/", b"content")
    blob = attempts[-1][0]
    assert answer.text == blob.sha256
    assert len({blob.sha256 for blob, _ in attempts}) == 1, "each attempt reads the whole body"
    assert all(present == {blob.key} for blob, present in attempts), "the attempt before took its file away"
    assert kept(store) == {blob.key}
    assert readable(store, blob)


KILLED = """
import io, os, signal, sys, transaction
from pathlib import Path
from modhub.blobs import LocalStore, stage
from modhub.blobs.data_manager import StagedBlob

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

tm = transaction.TransactionManager()
store = LocalStore(Path(sys.argv[1]))
setattr(StagedBlob, sys.argv[2], die)
with tm:
    stage(tm, store, io.BytesIO(b"content"), 1000)
"""


@pytest.mark.parametrize(("step", "left"), [("tpc_begin", "staging"), ("tpc_vote", "staging"), ("tpc_finish", None)])
def test_a_kill_leaves_one_orphan_that_the_sweep_can_see(store, tmp_path, step, left):
    root = tmp_path / "files"
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", KILLED, str(root), step], check=False, timeout=200
    )
    assert done.returncode == -signal.SIGKILL
    (key,) = kept(store)
    assert (root / "staging" / key).exists() == (left == "staging")
    store.delete(key)
    assert kept(store) == set()
