"""The faults of docs/operations.md, one after the other, under steady traffic of two processes on PostgreSQL.

Nothing is answered by 500, no fault is silent, and everything recovers at once, without a hand.
"""

import contextlib
import http.client
import os
import threading
import time
from pathlib import Path

import pytest

from modhub_testing.databases import TemplateDatabases, locked_database
from modhub_testing.postgres import postgres_server
from modhub_testing.service import PASSWORD, Installation, free_port

FEATURES = "modhub_auth modhub_builds modhub_wiki"
PATIENCE = 60.0
READING = ("list", "page", "download")
USUAL = {"list": {200}, "page": {200}, "download": {200}, "edit": {200}, "sign-in": {200}, "upload": {201}}
NO_FILES = {"download": {503}, "upload": {502}}
NO_WRITES = {"edit": {503}, "sign-in": {503}, "upload": {503}}
# What is unusual in the answers, the part that /readyz names, and words of the log.
FAULTS = {
    "postgresql restarted": ({}, "", ""),
    "postgresql stopped": ({kind: {503} for kind in READING} | NO_WRITES, "database", "not ready: database"),
    "tables locked": (NO_WRITES, "database", "not ready: database"),
    "table locked against reading": (
        {kind: {503} for kind in ("page", "download", "edit", "upload")},
        "",
        "canceling statement due to lock timeout",
    ),
    "folder of files away": (NO_FILES, "storage", "ALARM: the file store is not available"),
}


class Clients:
    """While entered, a thread for each kind of call asks the processes in turn."""

    def __init__(self, service):
        self.seen = set()
        """Every status of every call."""
        self._service = service
        self._owner = service.register("owner")
        mod = self._owner.published("Steady", b"content")
        self._path, self._page = f"/api/modhub/{mod['id']}", f"/Modhub/{mod['id']}"
        self._versions = iter(range(2, 1_000_000))
        self._answers = []
        self._ended = threading.Event()
        self._threads = []

    def ask(self, kind, port):
        """Make a call and return its status."""
        began = time.monotonic()
        answer = self._owner.ask(*self._call(kind), port=port)
        assert answer.status != 503 or int(answer.headers["Retry-After"]) >= 1, (kind, answer)
        self.seen.add(answer.status)
        self._answers.append((began, kind, answer.status))
        return answer.status

    def _call(self, kind):
        zipped = {"Content-Type": "application/zip"}
        return {
            "list": ("GET", "/api/modhub"),
            "page": ("GET", self._page),
            "download": ("GET", f"{self._path}/download"),
            "edit": ("PUT", self._path, {"description": os.urandom(4).hex()}),
            "sign-in": ("POST", "/api/auth/login", {"email": "owner@example.org", "password": PASSWORD}),
            "upload": ("POST", f"{self._path}/code?name=mod.zip&version={next(self._versions)}", b"content", zipped),
        }[kind]

    def _run(self, kind):
        while not self._ended.wait(0.1):
            for process in list(self._service.processes):
                # A killed process refuses connections.
                with contextlib.suppress(OSError, http.client.HTTPException):
                    self.ask(kind, process.port)

    def __enter__(self):
        self._ended.clear()
        self._threads = [threading.Thread(target=self._run, args=(kind,)) for kind in USUAL]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def statuses(self):
        """The statuses of each kind of call: only of calls that begin now or later, two of each at least."""
        since = deadline = time.monotonic()
        deadline += PATIENCE
        while True:
            by_kind = {
                kind: [status for began, call, status in self._answers[:] if (call, began > since) == (kind, True)]
                for kind in USUAL
            }
            if all(len(statuses) >= 2 for statuses in by_kind.values()):
                return {kind: set(statuses) for kind, statuses in by_kind.items()}
            assert time.monotonic() < deadline, by_kind
            time.sleep(0.1)


@pytest.fixture(scope="module")
def server():
    """A server of its own, because it is stopped."""
    with postgres_server() as made:
        yield made


@pytest.fixture(scope="module")
def service(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    url = TemplateDatabases(folder, lambda: server).new("postgresql", FEATURES, folder / "unused")
    settings = {"modhub_auth.register_limit": "1000000", "mail.host": "127.0.0.1", "mail.port": str(free_port())}
    settings["modhub.lock_seconds"] = "2"
    made = Installation(folder, url, FEATURES, settings=settings, server={"threads": 8})
    for process in [made.launch() for _ in range(2)]:
        process.wait()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def clients(service):
    return Clients(service)


@contextlib.contextmanager
def store_away(service):
    """The mount of the files is lost."""
    away = Path(f"{service.files}.away")
    service.files.rename(away)
    try:
        yield
    finally:
        away.rename(service.files)


@contextlib.contextmanager
def locked_mods(service):
    """As by ``ALTER TABLE``. The processes are ready all the same: only what needs the table waits."""
    with contextlib.closing(service.connect()) as connection:
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE core_mod IN ACCESS EXCLUSIVE MODE")
        yield
        assert service.caller().ask("GET", "/readyz").status == 200


@contextlib.contextmanager
def restarted(server):
    with server.stopped():
        pass
    yield


def begin(name, service, server):
    if name == "folder of files away":
        return store_away(service)
    if name == "tables locked":
        return locked_database(service.url)
    if name == "table locked against reading":
        return locked_mods(service)
    return restarted(server) if name == "postgresql restarted" else server.stopped()


def wait_until_told(service, part, word, before):
    """``/readyz`` of each process and the log name it."""
    deadline = time.monotonic() + PATIENCE
    for process in service.processes:
        while part and service.caller().ask("GET", "/readyz", port=process.port).json[part] != "unreachable":
            assert time.monotonic() < deadline, part
            time.sleep(0.1)
    while word not in service.log()[before:]:
        assert time.monotonic() < deadline, word
        time.sleep(0.1)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_and_everything_recovers_at_once(service, server, clients, name):
    # C-RUN-28
    expected, part, word = FAULTS[name]
    before = len(service.log())
    with clients:
        assert clients.statuses() == USUAL
        with begin(name, service, server):
            if expected:
                assert clients.statuses() == USUAL | expected
                wait_until_told(service, part, word, before)
        statuses = clients.statuses()
        assert {kind: statuses[kind] for kind in READING} == {kind: USUAL[kind] for kind in READING}
    # Without other writers even the first call of each kind succeeds, in both processes.
    for process in service.processes:
        for kind, usual in USUAL.items():
            assert {clients.ask(kind, process.port)} == usual, kind
    wait_until_told(service, "", word, before)
    # Nobody was told of anything else.
    assert clients.seen <= {200, 201, 502, 503}
    assert "Traceback" not in service.log()[before:]


def test_a_mail_server_that_is_away_delays_only_emails(service):
    # T-F6
    credentials = {"email": "late@example.org", "password": PASSWORD}
    assert service.caller().need(201, "POST", "/api/auth/register", credentials)["accountId"]
    waiting = service.admin("letters", "list").stdout
    assert "late@example.org waits" in waiting
    # The check of the mail server in doctor says what to do.
    output = service.admin("doctor").stdout
    assert [line for line in output.splitlines() if line.startswith("mail: ") and "127.0.0.1" in line]


def test_a_killed_process_leaves_the_other_and_nothing_to_repair(service, clients):
    # T-F1
    with clients:
        assert clients.statuses() == USUAL
        service.processes.pop().kill()
        assert clients.statuses() == USUAL
    service.start()
    assert {clients.ask(kind, service.processes[-1].port) for kind in READING} == {200}
    assert service.admin("verify").stdout == "No problems found.\n"
