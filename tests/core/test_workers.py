"""Background work: rounds, failures, stops, and leases that one process holds by the database's clock."""

import logging
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
import transaction
from prometheus_client import REGISTRY
from sqlalchemy import BigInteger, insert, literal_column, select, type_coerce, update
from sqlalchemy.exc import OperationalError

from modhub.catalogue.models import Game
from modhub.plugins.declarations import Declarations, Worker
from modhub.plugins.leases import CLOCKS, LEASE_SECONDS, HeldLease, Lease, LeaseLost, release_leases
from modhub.plugins.workers import (
    LONGEST_FAILURE_PAUSE,
    ROUND_SECONDS,
    RoundFailed,
    Stopping,
    Workers,
    _Turn,
    find_worker_problems,
    is_stopping,
    time_is_up,
)
from tests import people
from tests.races import at_once


def worker(run, every=0.01, name="deeds", **more):
    return Worker(name, run, every, **{"long": False, "alone": False, "at_stop": False, **more})


@pytest.fixture
def workers():
    made = Workers()
    yield made
    made.stop()


def lease_of(site, holder):
    return HeldLease(site.databases, "deeds", holder, LEASE_SECONDS)


def add_game(site, name):
    people.write(site, insert(Game).values(name=name, folded=name))


def shift(site, seconds):
    """Let the lease end ``seconds`` later than it does."""
    clock = literal_column(CLOCKS[site.databases.dialect], BigInteger)
    until = type_coerce(clock + int(seconds * 1e6), Lease.until.type)
    people.write(site, update(Lease).values(until=until))


def test_rounds_go_on_until_a_stop_and_one_is_the_last(site, workers):
    rounds, enough = [], threading.Event()

    def run(registry):
        assert registry is site.registry
        rounds.append(workers.is_stopping)
        if len(rounds) == 3:
            enough.set()

    workers.start(site.registry, [worker(run, at_stop=True)])
    assert enough.wait(60)
    workers.stop()
    assert rounds.count(True) in (1, 2)  # one of them may have been under way
    count = len(rounds)
    time.sleep(0.1)
    assert len(rounds) == count


@pytest.mark.slow
def test_a_stop_waits_for_a_round_and_a_long_one_ends_early(site, start):
    mine, began = site.find_service(Workers), threading.Event()
    mine.failed.pop("deeds", None)  # the application is shared
    before = threading.enumerate()  # those of other tests may still end

    def run(registry):
        began.set()
        while not is_stopping(registry):
            time.sleep(0.01)
        raise Stopping

    mine.start(site.registry, [worker(run)])
    assert began.wait(60)
    mine.stop()
    mine.is_stopping = False
    assert "deeds" not in mine.failed
    assert not [thread for thread in threading.enumerate() if thread not in before]


def full_database():
    cause = sqlite3.OperationalError("database or disk is full")
    cause.sqlite_errorcode = sqlite3.SQLITE_FULL
    return OperationalError("UPDATE secret SET x = ?", (1,), cause)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ZeroDivisionError("of /secret/path"), ("deeds wait: ZeroDivisionError", True)),
        (RoundFailed("the server hung up"), ("deeds wait: the server hung up", False)),
        (full_database(), ("deeds wait: the database is not available: database or disk is full", False)),
    ],
)
def test_the_first_of_several_failures_is_logged_and_each_is_counted(site, workers, caplog, error, failure):
    fails = True

    def run(_registry):
        if fails:
            raise error

    deeds = worker(run)
    caplog.set_level(logging.INFO, "modhub.plugins.workers")
    for _ in range(3):
        assert not workers.run_round(site.registry, deeds)
    fails = False
    assert workers.run_round(site.registry, deeds)
    fails = True
    assert not workers.run_round(site.registry, deeds)
    logged = [
        (record.getMessage(), bool(record.exc_info)) for record in caplog.records if "deeds" in record.getMessage()
    ]
    assert logged == [failure, ("deeds go on", False), failure]
    assert read("failed_rounds") == 1
    assert time.time() - 60 < (read("success_timestamp_seconds") or 0) <= time.time()
    assert read("interval_seconds") == deeds.every


def test_the_pause_grows_while_rounds_fail(workers):
    turn, pauses = _Turn(worker(print, 2.0), 2.0, 0.0), [2.0]
    for succeeded in [False] * 5 + [True, True]:
        workers._end_turn(turn, succeeded, is_last=False)
        assert turn.due == pytest.approx(time.monotonic() + turn.pause, abs=1)
        pauses.append(turn.pause)
    assert pauses == [2.0, 4.0, 8.0, 16.0, LONGEST_FAILURE_PAUSE, LONGEST_FAILURE_PAUSE, 2.0, 2.0]


class Hanging:
    """Rounds that hang until they are let go."""

    def __init__(self):
        self.began, self.go_on = threading.Event(), threading.Event()

    def run(self, _registry):
        self.began.set()
        assert self.go_on.wait(20)


@pytest.mark.slow
def test_two_long_rounds_that_hang_hold_up_no_short_one(site, workers, monkeypatch):
    """Two long rounds that hang hold up other long ones, but not emails; their leases are renewed.

    With a short round that hangs too nothing runs in this process, which its metrics tell (`ModhubWorkerLate`).
    Another process takes over when the leases have expired, and a stop waits no longer than `STOP_SECONDS`.
    """
    monkeypatch.setattr("modhub.plugins.workers.LEASE_SECONDS", 1.5)
    monkeypatch.setattr("modhub.plugins.workers.STOP_SECONDS", 0.2)
    first, second, third, emails = (Hanging() for _ in range(4))
    emails.go_on.set()
    planned = [
        worker(first.run, long=True, alone=True),
        worker(second.run, name="pictures", long=True),
        worker(third.run, every=0.1, name="scans", long=True),
        worker(emails.run, name="emails"),
    ]
    workers.start(site.registry, planned)
    other, deadline = HeldLease(site.databases, "deeds", "other", 1.5), time.monotonic() + 3  # twice as long as a lease
    assert first.began.wait(60)
    assert second.began.wait(60)
    while time.monotonic() < deadline:
        emails.began.clear()
        assert emails.began.wait(20)
        assert not other.take()
    assert not third.began.is_set()
    emails.go_on.clear()
    while not other.take():
        time.sleep(0.1)
    second.go_on.set()
    assert third.began.wait(60), "one long round ended"
    before = time.monotonic()
    workers.stop()
    assert time.monotonic() - before < 30
    for hanging in (first, third, emails):
        hanging.go_on.set()


@pytest.mark.postgres
def test_a_lease_has_one_holder_and_passes_on_when_it_lapses(site):
    first, other = (lease_of(site, holder) for holder in ("one", "other"))
    assert first.take()
    assert not other.take()
    assert first.take()
    shift(site, -0.001)
    assert other.take()
    assert not first.take()
    release_leases(site.databases, "one", [])  # nothing of its own
    release_leases(site.databases, "other", ["deeds"])  # its round runs
    assert not first.take()
    release_leases(site.databases, "other", [])
    assert first.take()
    # A clock that was set back by an hour: nobody waits for it.
    shift(site, 3600)
    assert other.take()


@pytest.mark.postgres
def test_who_does_not_hold_the_lease_only_reads(site):
    assert lease_of(site, "one").take()
    with site.counted() as statements:
        assert not lease_of(site, "other").take()
    assert [statement.split()[0] for statement in statements] == ["SELECT"]


@pytest.mark.postgres
def test_many_take_it_at_once_and_one_has_it(site):
    for _ in range(5):
        leases = [lease_of(site, f"{number}") for number in range(6)]
        assert sorted(at_once([lease.take for lease in leases])) == [False] * 5 + [True]
        shift(site, -1)


@pytest.mark.postgres
def test_what_a_woken_process_writes_is_rolled_back(site):
    other = lease_of(site, "other")

    def run(_registry):
        add_game(site, "before")
        # While this process is frozen, the lease lapses.
        elsewhere = threading.Thread(target=lambda: (shift(site, -1), other.take()))
        elsewhere.start()
        elsewhere.join()
        manager = transaction.TransactionManager(explicit=True)
        with pytest.raises(LeaseLost), manager:
            site.databases.joined_session(manager).add(Game(name="joined", folded="joined"))
        add_game(site, "after")

    assert not Workers().run_round(site.registry, worker(run, 60, alone=True))
    add_game(site, "later, in no round")
    assert people.read(site, select(Game.name)) == ["before", "later, in no round"]


@pytest.mark.postgres
def test_only_the_holder_runs_a_round_and_hands_it_on_at_a_stop(site):
    first, other, runs = Workers(), Workers(), []
    alone = worker(lambda _: runs.append(1), 60, alone=True)
    assert first.run_round(site.registry, alone)
    assert other.run_round(site.registry, alone)
    assert runs == [1]
    first.start(site.registry, [alone])
    first.stop()
    assert other.run_round(site.registry, alone)
    assert runs == [1, 1]


@pytest.mark.postgres
def test_who_has_lost_the_lease_exports_neither_success_nor_failure(site):
    # C-RUN-19
    mine, fails = site.find_service(Workers), False

    def run(_registry):
        if fails:
            raise RoundFailed("no")

    alone = worker(run, 60, alone=True)
    assert mine.run_round(site.registry, alone)
    fails = True
    for _ in range(2):
        assert not mine.run_round(site.registry, alone)
    assert (read("success_timestamp_seconds") is None, read("failed_rounds")) == (False, 2)
    shift(site, -1)
    assert lease_of(site, "other").take()
    assert mine.run_round(site.registry, alone)
    assert (read("success_timestamp_seconds"), read("failed_rounds")) == (None, 0)


def read(metric):
    """What this process exports about the worker."""
    return REGISTRY.get_sample_value(f"modhub_worker_{metric}", {"worker": "deeds"})


ENDS = """
import atexit, os, signal, sys, threading
import modhub
from modhub.plugins.events import ApplicationStarted
from modhub.server import serve

def run(registry):
    print("round", flush=True)

config = modhub.configure({"sqlalchemy.url": sys.argv[1], "modhub.secret": "0" * 64})
config.add_worker("deeds", run, every=3600, alone=True, at_stop=True)
config.commit()
app = config.make_wsgi_app()
config.registry.notify(ApplicationStarted(config.registry))

@atexit.register
def end():
    print("exit", [thread.name for thread in threading.enumerate() if "modhub worker" in thread.name], flush=True)

class Filter:
    def __init__(self, app):
        self.app = app

threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
serve(Filter(app), listen="127.0.0.1:0")  # as a filter of the ini wraps it
"""


@pytest.mark.process
def test_workers_end_while_threads_can_still_be_started(site, tmp_path):
    """From Python 3.12 on they cannot when ``atexit`` runs, and a round may start one."""
    program = tmp_path / "ends.py"
    program.write_text(ENDS, "utf-8")
    url = site.databases.write_engine.url.render_as_string(hide_password=False)
    command = [sys.executable, "-W", "ignore", str(program), url]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout.splitlines()) == (0, ["round", "exit []"]), ended.stderr
    assert lease_of(site, "mine").take(), "it was released"


@pytest.mark.postgres
def test_doctor_names_work_that_nobody_does(site, monkeypatch):
    declared = site.find_service(Declarations)
    monkeypatch.setattr(declared, "workers", [worker(print, alone=True), worker(print)])
    admin = type("Admin", (), {"databases": site.databases, "declarations": declared})
    assert list(find_worker_problems(admin)) == []
    lease_of(site, "one").take()
    assert list(find_worker_problems(admin)) == []
    shift(site, -1200)
    (sentence,) = find_worker_problems(admin)
    assert sentence == "no process has run the worker of deeds for 20 minutes: is modhub running?"


def test_a_round_that_could_go_on_is_told_that_its_time_is_up(site, monkeypatch):
    is_over = time_is_up(site.registry)
    assert not is_over()
    monkeypatch.setattr("modhub.plugins.workers.monotonic", lambda: time.monotonic() + ROUND_SECONDS)
    assert is_over()
