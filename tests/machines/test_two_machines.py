"""Two machines that share PostgreSQL and an object store; nothing else (docs/operations.md).

The clock of one is 40 seconds ahead, and one of its processes sleeps and wakes. ``MODHUB_LONG_RACES=1`` makes 5,000
rounds.
"""

import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from email.parser import BytesParser
from pathlib import Path

import pytest

from modhub_testing.caller import Caller
from modhub_testing.object_store import SeaweedFS
from modhub_testing.service import PASSWORD, Installation
from tests.people import MAKE_DIGESTS

FEATURES = "modhub_auth modhub_downloads modhub_following modhub_sync"
ROUNDS = 5_000 if os.environ.get("MODHUB_LONG_RACES") else 200
ACCOUNTS = 20
FOLLOWERS = 10
FAILURES = 10
"""`modhub_auth.failures`."""
AHEAD_SECONDS = 40
PATIENCE_SECONDS = 90.0


@pytest.fixture
def machines(postgres, template_databases, tmp_path):
    """The first has one process; the second two, whose clock is ahead."""
    faketime = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    assert faketime, "faketime is not installed"
    direct = template_databases.new("postgresql", FEATURES, tmp_path / "unused")
    objects = tmp_path / "objects"
    objects.mkdir()
    store = SeaweedFS(objects)
    made = []
    try:
        store.wait()
        settings = {
            **store.service_settings("files"),
            "modhub_auth.register_limit": "1000000",
            "modhub_sync.snapshot_hours": "1",
            # Three processes are to fit into the server's 100 connections.
            "sqlalchemy.pool_size": "4",
            "sqlalchemy.max_overflow": "3",
        }
        # Without the command faketime: it stays between, and signals would reach it instead of the server.
        ahead = {
            "LD_PRELOAD": str(faketime),
            "FAKETIME": f"+{AHEAD_SECONDS}s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        made += [
            Installation(tmp_path / name, direct, FEATURES, settings=settings, environ=environ)
            for name, environ in (("first", {}), ("second", ahead))
        ]
        for process in (made[0].launch(), made[1].launch(), made[1].launch()):
            process.wait()
        yield made
    finally:
        for machine in made:
            machine.stop()
        store.end()


def wait_until(condition):
    """Fails after a minute and a half."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def letters(machines):
    """How often each email was sent, by its recipient and subject."""
    parsed = (
        BytesParser().parsebytes(path.read_bytes()) for each in machines for path in each.folder.glob("mail/*.eml")
    )
    return Counter((str(message["To"]), str(message["Subject"])) for message in parsed)


def register(caller, number):
    """A session of a new account."""
    credentials = {"email": f"person{number}@example.org", "password": PASSWORD}
    return caller.need(201, "POST", "/api/auth/register", credentials)


def test_what_one_machine_wrote_the_other_reads_and_nothing_is_done_twice(machines):
    first, second = machines
    (writing,), (reading, sleeper) = first.processes, second.processes
    writer, reader = Caller([writing.port]), Caller([reading.port])
    sessions = [register(writer, number) for number in range(ACCOUNTS)]
    authors = [Caller([writing.port], session["accessToken"], session["refreshToken"]) for session in sessions]
    mods = []
    for number in range(ROUNDS):
        if number % (ROUNDS // 20) == 0:
            asleep = number // (ROUNDS // 20) % 2 == 0
            os.kill(sleeper.popen.pid, signal.SIGSTOP if asleep else signal.SIGCONT)
        content = f"content {number}".encode()
        mod = authors[number % ACCOUNTS].published(f"Round {number}", content)
        address = f"/api/modhub/{mod['id']}"
        assert reader.ask("GET", address).json["title"] == f"Round {number}"
        assert reader.ask("GET", f"{address}/download").body == content
        mods.append(mod)
    os.kill(sleeper.popen.pid, signal.SIGCONT)

    for caller in (writer, reader, Caller([sleeper.port])):
        assert caller.need(200, "GET", "/api/modhub")["total"] == ROUNDS
        assert Counter(guids_of_feed(caller)) == Counter(mod["guid"] for mod in mods)
    # One download of one caller each, counted by whichever machine, and readable on the other.
    wait_until(lambda: all(total_downloads(writer, mod) == 1 for mod in mods))
    assert {total_downloads(reader, mod) for mod in mods} == {1}
    wait_until(lambda: len(letters(machines)) >= ACCOUNTS)
    time.sleep(2)
    assert Counter(to for to, _ in letters(machines).elements()) == {
        f"person{number}@example.org": 1 for number in range(ACCOUNTS)
    }
    assert first.admin("verify").returncode == 0
    assert all("Traceback" not in machine.log() for machine in machines)


def test_limits_and_what_is_done_on_schedule_are_of_all_machines(machines):
    first, second = machines
    author = first.register("author")
    for number in range(FOLLOWERS):
        second.register(f"reader{number}")
    mod = author.published("Followed")
    with closing(first.connect()) as connection:
        connection.execute("UPDATE auth_login SET verified = true")
        connection.execute(
            "INSERT INTO following_reader (account_id, frequency, language, random_id)"
            " SELECT account_id, 'daily', 'en', md5(account_id::text) FROM auth_login WHERE subject LIKE 'reader%'"
        )
        connection.execute(
            "INSERT INTO following_follow (account_id, kind, key, name, created_at)"
            f" SELECT account_id, 'mod', '{mod['id']}', '', 0 FROM following_reader"
        )
    author.send_file(mod["id"], "code", b"more", version="2")
    # A service looks after five minutes, and lets a version rest for ten.
    with ThreadPoolExecutor() as pool:
        made = list(pool.map(lambda machine: machine.run("python", "-c", MAKE_DIGESTS, str(machine.ini)), machines * 2))
    assert [program.returncode for program in made] == [0] * 4, made
    wait_until(lambda: digests(machines).total() >= FOLLOWERS)
    time.sleep(2)
    assert set(digests(machines).values()) == {1}
    # Whichever process has the lease.
    wait_until(lambda: first.rows("SELECT count(*) FROM sync_snapshot") != [(0,)])
    assert first.rows("SELECT count(*) FROM sync_snapshot") == [(1,)]

    wrong = {"email": "author@example.org", "password": "not the password"}
    callers = [Caller([process.port]) for machine in machines for process in machine.processes]
    answers = [callers[n % 3].ask("POST", "/api/auth/login", wrong).status for n in range(3 * FAILURES)]
    assert answers == [401] * FAILURES + [429] * 2 * FAILURES
    assert all("Traceback" not in machine.log() for machine in machines)


def digests(machines):
    """How many digests each reader got."""
    return Counter(to for to, subject in letters(machines).elements() if "new version" in subject)


def total_downloads(caller, mod):
    return caller.need(200, "GET", f"/api/modhub/{mod['id']}/downloads")["total"]


def guids_of_feed(caller):
    """The GUIDs of all changes, page by page; a mod that changed twice is there once."""
    since, more = 0, True
    while more:
        page = caller.need(200, "GET", f"/api/modhub/changes?since={since}&limit=100")
        yield from (change["guid"] for change in page["changes"])
        since, more = page["serial"], page["more"]
