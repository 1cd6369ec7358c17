"""A real primary and its standby: failovers that lose commits, and such that lose none (docs/operations.md)."""

import os
import threading
import time
from contextlib import contextmanager
from functools import partial

import pytest

from modhub_testing.caller import patiently
from modhub_testing.postgres_pair import postgres_pair
from modhub_testing.service import PASSWORD, Installation

pytestmark = [pytest.mark.long, pytest.mark.postgres]
FAILOVERS = 20 if "MODHUB_LONG_RACES" in os.environ else 2
WRITERS = 3
BURNT_IDS = 40
"""PostgreSQL logs sequences 32 numbers ahead: a standby that lost fewer gives none of them out again."""
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


@pytest.fixture
def pair():
    with postgres_pair() as made:
        yield made


@pytest.fixture
def serve(pair, tmp_path):
    """``serve(url, processes)``: processes with accounts and the feed of changes, their schema migrated."""
    made = []

    def begin(url="", processes=2, *, migrates=True):
        includes, settings = "modhub_auth modhub_sync", {"modhub_auth.register_limit": "1000000"}
        service = Installation(tmp_path, url or pair.url, includes, settings=settings)
        made.append(service)
        assert not migrates or service.admin("migrate").returncode == 0
        for process in [service.launch() for _ in range(processes)]:
            process.wait()
        return service

    yield begin
    for service in made:
        service.stop()
        assert "Traceback" not in service.log(), service.log()[-8000:]


class Follower:
    """A client that follows the changes, and begins again when it is told to."""

    def __init__(self, caller):
        self._caller = caller
        self.feed, self.serial = "", 0
        self.guids = set()
        self.restarts = 0

    def follow(self):
        """Read all changes since the last time."""
        more = True
        while more:
            path = f"/api/modhub/changes?since={self.serial}&limit=1000"
            path += f"&feed={self.feed}" if self.feed else ""
            answer = patiently(partial(self._caller.ask, "GET", path))
            if answer.status == 410:
                self.feed, self.serial = "", 0
                self.guids.clear()
                self.restarts += 1
                continue
            assert answer.status == 200, answer
            for change in answer.json["changes"]:
                (self.guids.discard if change["what"] == "deleted" else self.guids.add)(change["guid"])
            self.feed, self.serial, more = answer.json["feed"], answer.json["serial"], answer.json["more"]


def of_each_process(service, path, token=""):
    caller = service.caller(token)
    return [patiently(partial(caller.ask, "GET", path, port=port)) for port in caller.ports]


def titles(service, mod_id):
    return {answer.json["title"] for answer in of_each_process(service, f"/api/modhub/{mod_id}")}


def statuses(service, token):
    return {answer.status for answer in of_each_process(service, "/api/auth/me", token)}


def catalogue(pair):
    return {guid for (guid,) in pair.primary.rows("SELECT guid FROM core_public_mod")}


def feeds_begun(pair):
    ((count,),) = pair.primary.rows("SELECT count(*) FROM core_audit_entry WHERE action = 'feed begun'")
    return int(count)


def files_of_rows(pair):
    return {f"{key[:2]}/{key[2:]}" for (key,) in pair.primary.rows("SELECT key FROM core_blob")}


def test_what_a_failover_has_lost_is_never_taken_for_something_new(pair, serve):
    """Ids, tokens, serials and kept answers of commits that the standby never had."""
    # C-SYNC-4, C-SYNC-6, C-TOK-8, C-MOD-2
    service = serve()
    ada = service.register("ada")
    first = ada.published("A title")
    follower = Follower(service.caller())
    follower.follow()
    pair.wait_until_equal()
    pair.standby.stop()
    pair.primary.rows(f"SELECT nextval('auth_account_id_seq') FROM generate_series(1, {BURNT_IDS})")
    ada.need(200, "PUT", f"/api/modhub/{first['id']}", {"title": "A lost title"})
    lost = service.register("lost")
    lost_mod = lost.published("Lost")
    lost_account = lost.need(200, "GET", "/api/auth/me")["accountId"]
    follower.follow()
    lost_feed, lost_serial = follower.feed, follower.serial
    assert titles(service, first["id"]) == {"A lost title"}
    pair.fail_over()
    # Before anything is written.
    assert statuses(service, lost.token) == {401}
    assert titles(service, first["id"]) == {"A title"}
    # The first write may be of any kind: this one changes nothing that is public.
    new = service.register("new")
    assert new.need(200, "GET", "/api/auth/me")["accountId"] > lost_account
    assert statuses(service, lost.token) == {401}
    new_mod = new.published("New")
    assert new_mod["id"] > lost_mod["id"]
    while service.caller().need(200, "GET", "/api/modhub/changes?since=0")["serial"] < lost_serial:
        ada.need(200, "PUT", f"/api/modhub/{first['id']}", {"description": os.urandom(4).hex()})
    assert titles(service, first["id"]) == {"A title"}
    path = f"/api/modhub/changes?since={lost_serial}&feed={lost_feed}"
    assert [answer.json.get("error") for answer in of_each_process(service, path)] == ["feed_restarted"] * 2
    follower.follow()
    assert follower.guids == catalogue(pair) == {first["guid"], new_mod["guid"]}
    assert feeds_begun(pair) == 1
    service.stop()
    service.start()
    service.register("later")
    assert feeds_begun(pair) == 1


class Writers:
    """Threads that publish and edit mods; ``acknowledged`` has the last title of each that was answered with 200."""

    def __init__(self, callers):
        self.acknowledged = {}
        self.failures = []
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(caller,)) for caller in callers]

    @contextmanager
    def running(self):
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join()

    def _call(self, call):
        answer = call()
        if answer.status not in {200, 201, 503}:
            self.failures.append(answer)
        return answer.json if answer.status in {200, 201} else None

    def _run(self, caller):
        while not self._ended.is_set():
            mod = self._call(partial(caller.ask, "POST", "/api/modhub", {"title": "made"}))
            if not mod:
                continue
            address, guid = f"/api/modhub/{mod['id']}", mod["guid"]
            if not self._call(partial(caller.send_file, mod["id"], "code", b"code", version="1", name="a.zip")):
                continue
            if not self._call(partial(caller.ask, "POST", f"{address}/publish")):
                continue
            self.acknowledged[guid] = ""
            for title in ("one", "two"):
                edited = self._call(partial(caller.ask, "PUT", address, {"title": title}))
                # An edit that is 503 may have been written, or not.
                self.acknowledged[guid] = title if edited else ""
                if not edited:
                    break


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("synchronous", [True, False] if FAILOVERS > 2 else [True])
def test_failovers_under_load(pair, serve, *, synchronous):
    """Kill and promote: nothing is a 500, and with a synchronous standby nothing acknowledged is lost."""
    # C-SYNC-4, C-SYNC-6, C-RUN-28
    service = serve()
    writers = Writers([service.register(f"writer{number}") for number in range(WRITERS)])
    followers = [Follower(service.caller()) for _ in range(2)]
    with writers.running():
        for _ in range(FAILOVERS):
            if synchronous:
                pair.wait_for_commits()
            pair.wait_until_equal()
            if not synchronous:
                pair.standby.stop()
            before, deadline = len(writers.acknowledged), time.monotonic() + 60
            while len(writers.acknowledged) < before + 10 and time.monotonic() < deadline:
                time.sleep(0.05)
            followers[0].follow()
            pair.fail_over()
            pair.rejoin()
        time.sleep(0.5)
    # A mod that was lost is none of the caller's.
    assert {answer.status for answer in writers.failures} <= (set() if synchronous else {401})
    assert len(writers.acknowledged) >= 10 * FAILOVERS
    written = dict(pair.primary.rows("SELECT guid, title FROM core_mod"))
    lost = writers.acknowledged.keys() - catalogue(pair)
    lost |= {guid for guid, title in writers.acknowledged.items() if title and written.get(guid) != title}
    assert bool(lost) is not synchronous
    for follower in followers:
        follower.follow()
        assert follower.guids == catalogue(pair)
    assert followers[0].restarts >= 1
    # What began a feed may be lost as well.
    assert feeds_begun(pair) == FAILOVERS or not synchronous
    assert files_of_rows(pair) <= set(service.stored())


@contextmanager
def cancelling(pair):
    """Cancel each wait for a standby, as an operator does who sees hanging writes."""
    ended = threading.Event()

    def cancel():
        while not ended.wait(0.1):
            pair.primary.rows("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_commit_that_no_standby_has_confirmed_is_busy(pair, serve):
    """The server has committed it: the row is there, once, and its file."""
    # C-RUN-28
    service = serve(processes=1)
    ada = service.register("ada")
    mod = ada.published("A")
    pair.wait_for_commits()
    pair.standby.stop()
    with cancelling(pair):
        for call in (
            partial(ada.ask, "POST", "/api/modhub", {"title": "B"}),
            partial(ada.send_file, mod["id"], "images", PNG, "image/png", name="a.png"),
        ):
            answer = call()
            assert (answer.status, answer.json["error"]) == (503, "busy"), answer
        assert service.caller().ask("GET", f"/api/modhub/{mod['id']}").status == 200
    pair.primary.rows("ALTER SYSTEM RESET synchronous_standby_names")
    pair.primary.rows("SELECT pg_reload_conf()")
    assert pair.primary.rows("SELECT count(*) FROM core_mod WHERE title = 'B'") == [(1,)]
    assert pair.primary.rows("SELECT count(*) FROM core_asset WHERE kind = 'image'") == [(1,)]
    assert files_of_rows(pair) == set(service.stored())
    ada.need(200, "PUT", f"/api/modhub/{mod['id']}", {"title": "C"})


def test_the_pools_leave_a_server_that_was_demoted(pair, serve):
    """It is alive, and only reads: after the first refused write nothing asks it any more."""
    # C-RUN-28
    service = serve(processes=1)
    ada = service.register("ada")
    mod = ada.published("A")
    for path in ("/Modhub", f"/Modhub/{mod['id']}"):
        assert service.caller().ask("GET", path).status == 200
    pair.wait_until_equal()
    pair.promote()
    demoted = pair.standby
    demoted.rows("ALTER SYSTEM SET default_transaction_read_only = on")
    demoted.rows("SELECT pg_reload_conf()")
    ada.need(200, "PUT", f"/api/modhub/{mod['id']}", {"title": "B"})
    assert pair.primary.rows(f"SELECT title FROM core_mod WHERE id = {mod['id']}") == [("B",)]
    assert titles(service, mod["id"]) == {"B"}


def test_a_standby_that_is_promoted_under_a_process_begins_a_new_feed(pair, serve):
    """An address that leads to a standby is read and not written, until that is promoted."""
    # C-SYNC-6
    first = serve(processes=1)
    first.register("bob").published("A")
    pair.wait_until_equal()
    service = serve(pair.url_of(pair.standby), processes=1, migrates=False)
    body = {"email": "ada@example.org", "password": PASSWORD}
    assert service.caller().ask("POST", "/api/auth/register", body).status == 503
    assert service.caller().ask("GET", "/readyz").status == 503
    feed = service.caller().need(200, "GET", "/api/modhub/changes?since=0")["feed"]
    pair.promote()
    service.caller().need(201, "POST", "/api/auth/register", body)
    assert service.caller().need(200, "GET", "/api/modhub/changes?since=0")["feed"] != feed
    assert feeds_begun(pair) == 1
