"""``modhub-admin doctor``: each line is ok, or says what to do."""

import errno
import json
import sqlite3
import ssl
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, time
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from sqlalchemy import text, update
from sqlalchemy.exc import OperationalError

from modhub.admin import doctor, doctor_checks, proxy_check
from modhub.admin import program as admin
from modhub.admin.secret_ages import configured_secrets, record_secrets
from modhub.content.limits import MB
from modhub.db import now
from modhub.declarations import DoctorCheck
from modhub.events import ApplicationStopped
from modhub.ops import machines
from modhub.ops.models import Observation
from modhub_testing import TEST_SECRET, Site, Start, stored_files
from modhub_testing.commands import issue_certificate
from modhub_testing.running_server import running
from modhub_testing.service import free_port

pytestmark = pytest.mark.slow

LABELS = ["database", "schema", "storage", "clock", "secret", "keys", "proxy", "workers"]
SERVER = "[server:main]\nuse = egg:modhub#server\n"
Lines = dict[str, list[str]]


@pytest.fixture
def examine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Lines]]:
    """``examine(site, server)``: the exit code and the sentences by label, with this ``[server:main]``."""

    def run(site: Site, server: str = SERVER) -> tuple[int, Lines]:
        ini = tmp_path / "x.ini"
        ini.write_text(server, "utf-8")
        code = admin.run_command(site.config, ["-c", str(ini), "doctor"], str(ini))
        lines = capsys.readouterr().out.splitlines()
        sentences: Lines = {}
        for line in lines:
            label, _, sentence = line.partition(": ")
            sentences.setdefault(label, []).append(sentence)
        assert [label for label in sentences if label in LABELS] == LABELS
        assert TEST_SECRET not in str(sentences)
        return code, sentences

    return run


@contextmanager
def served(start: Start, includes: str = "", **settings: str) -> Iterator[Site]:
    """The application behind its base_url."""
    port = free_port()
    site = start(includes, modhub__base_url=f"http://127.0.0.1:{port}", **settings)
    with running(site.app, listen=f"127.0.0.1:{port}"):
        yield site


def test_all_is_ok(start: Start, examine: Any) -> None:
    # C-RUN-19
    with served(start) as site:
        files = stored_files(site)
        for _ in range(2):
            assert examine(site) == (0, {label: ["ok"] for label in LABELS})
        assert stored_files(site) == files


def test_json_is_one_object_per_check(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    # C-RUN-19
    with served(start, modhub__storage="") as site:
        assert admin.run_command(site.config, ["-c", "x.ini", "doctor", "--json"]) == 1
    checks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [check["label"] for check in checks] == LABELS
    for check in checks:
        assert check["ok"] is (check["label"] != "storage")
        assert check["ok"] is (check["problems"] == [])


def test_a_feature_adds_a_check(site: Site, examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-19
    monkeypatch.setattr(doctor, "DOCTOR_SECONDS", 2.0)

    def fails(_admin: Any) -> list[str]:
        raise ValueError("/secret/path")

    def meets_a_lock(_admin: Any) -> Iterator[str]:
        cause = sqlite3.OperationalError("database is locked")
        cause.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise OperationalError("SELECT secret", (1,), cause)

    def meets_a_full_disk(_admin: Any) -> Iterator[str]:
        raise OSError(errno.ENOSPC, "No space left on device", "/secret/path")

    hangs = threading.Event()
    checks = site.declarations.doctor_checks
    checks.append(DoctorCheck("tea", 200, lambda _admin: ["it is cold: make new", "the cup leaks: buy one"]))
    checks.append(DoctorCheck("milk", 201, fails))
    checks.append(DoctorCheck("door", 201, meets_a_lock))
    checks.append(DoctorCheck("shelf", 201, meets_a_full_disk))
    checks.append(DoctorCheck("spoon", 202, lambda _admin: [str(hangs.wait(60))]))

    def finds_and_hangs(_admin: Any) -> Iterator[str]:
        yield "it is empty: fill it"
        hangs.wait(60)

    checks.append(DoctorCheck("bowl", 203, finds_and_hangs, ("sugar.host", "sugar.port")))
    began = monotonic()
    code, sentences = examine(site)
    hangs.set()
    assert monotonic() - began < 30
    assert code == 1
    assert sentences["tea"] == ["it is cold: make new", "the cup leaks: buy one"]
    assert sentences["milk"] == ["the check failed (ValueError)"]
    assert sentences["door"] == ["the check failed (the database is not available: database is locked)"]
    assert sentences["shelf"] == ["the check failed (No space left on device)"]
    assert sentences["spoon"] == ["no answer within 2 seconds: something that it asks hangs"]
    advice = "no answer within 2 seconds: start what sugar.host or sugar.port names, or correct the setting"
    assert sentences["bowl"] == ["it is empty: fill it", advice]


@pytest.mark.postgres
def test_a_schema_that_is_behind_or_newer(site: Site, examine: Any) -> None:
    # C-RUN-19
    changes = {
        "UPDATE modhub_alembic_version SET version_num = 'core_9999'": "newer than this code (modhub)",
        "DELETE FROM modhub_alembic_version": "behind (modhub); run: modhub-admin -c",
    }
    for change, sentence in changes.items():
        with site.databases.write_engine.begin() as connection:
            connection.execute(text(change))
        code, sentences = examine(site)
        assert code == 1
        assert sentence in sentences["schema"][0]


def test_a_database_that_is_missing_is_not_created(start: Start, examine: Any, tmp_path: Path) -> None:
    # C-RUN-19
    site = start(url=f"sqlite:///{tmp_path}/none.sqlite")
    code, sentences = examine(site)
    assert code == 1
    assert sentences["database"][0].startswith("there is no database yet; run: modhub-admin -c ")
    assert "behind" in sentences["schema"][0]
    assert not (tmp_path / "none.sqlite").exists()
    site = start(url=f"sqlite:///{tmp_path}/nowhere/none.sqlite")
    assert "there is no folder" in examine(site)[1]["database"][0]


@pytest.mark.postgres
def test_a_database_that_cannot_be_written(site: Site, examine: Any) -> None:
    # C-RUN-19
    with site.databases.write_engine.begin() as connection:
        connection.execute(text("DROP TABLE core_observation"))
    code, sentences = examine(site)
    assert code == 1
    assert sentences["database"][0].startswith("the database cannot be written (")


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_more_connections_than_postgresql_has(start: Start, examine: Any) -> None:
    sentences = examine(start(sqlalchemy__pool_size="50"))[1]
    assert sentences["database"][0].startswith("a process may open 172 connections, PostgreSQL allows ")


def test_a_store_that_is_missing_or_not_configured(start: Start, examine: Any, tmp_path: Path) -> None:
    # C-RUN-19
    site = start(modhub__storage="")
    assert "modhub.storage is empty" in examine(site)[1]["storage"][0]
    site = start()
    folder = Path(urlsplit(site.registry.settings["modhub.storage"]).path)
    (folder / "staging").rename(tmp_path / "away")
    (folder / "staging").write_text("no folder")
    sentence = examine(site)[1]["storage"][0]
    assert sentence.startswith("files cannot be written, read and deleted at file://")
    assert sentence.endswith(" (Not a directory): check its free space, its rights and the log")
    (folder / "staging").unlink()
    folder.rmdir()
    assert f"there is no folder {folder}" in examine(site)[1]["storage"][0]
    assert not folder.exists()


def set_time(site: Site, name: str, days: float) -> None:
    with site.databases.write_session.begin() as session:
        session.execute(
            update(Observation)
            .where(Observation.name.startswith(name))
            .values(observed_at=now() - timedelta(days=days))
        )


def test_a_disk_without_room_for_large_uploads(site: Site, examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-46
    free = {"storage": 200 * MB, "temporary": 300 * MB}
    monkeypatch.setattr(doctor_checks, "free_bytes", lambda _settings: free)
    for spool, expected in (
        (72 * MB, ["ok"]),
        (72 * MB + 1, ["the folder of files has 200 MB free, and uploads may take 200 MB"]),
        (
            None,
            ["the folder of files has 200 MB free, and uploads may take 4,224 MB", "the temporary folder has 300 MB"],
        ),
    ):
        sentences = examine(site, SERVER + ("" if spool is None else f"spool_bytes = {spool}\n"))[1]["storage"]
        assert len(sentences) == len(expected)
        assert [text in line for text, line in zip(expected, sentences, strict=True)] == [True] * len(expected)


def test_the_age_of_a_secret_counts_from_its_first_use(start: Start, examine: Any) -> None:
    # C-RUN-19
    site = start()
    record_secrets(site.registry)
    set_time(site, "secret ", 364)
    assert examine(site)[1]["secret"] == ["ok"]
    set_time(site, "secret ", 366)
    record_secrets(site.registry)
    (sentence,) = examine(site)[1]["secret"]
    assert "366 days: add a new one as the last line, restart every process, then make it the first" in sentence
    url = str(site.registry.settings["sqlalchemy.url"])
    fresh = "another secret that is long enough for it"
    renewed = start(url=url, modhub__secret=f"{fresh}\n{TEST_SECRET}")
    assert examine(renewed)[1]["secret"] == ["ok"]
    with renewed.databases.readonly_session() as session:
        assert session.query(Observation).filter(Observation.name.startswith("secret ")).count() == 2
    lost = start(url=url, modhub__secret="quite another secret, and none of the two")
    assert "no secret of modhub.secret was used with this database before" in examine(lost)[1]["secret"][0]
    assert TEST_SECRET not in str(configured_secrets(site.registry.settings))


def test_weak_secrets_and_keys(start: Start, examine: Any) -> None:
    # C-RUN-19
    settings = {"modhub__secret": "x" * 40, "ApiPrivateKeys": "short Modhub:wikki", "maill__host": "x"}
    code, sentences = examine(start(**settings))
    assert code == 1
    assert "repeats too few characters" in sentences["secret"][0]
    assert len(sentences["keys"]) == 3
    for words in ("fewer than 32", "a scope that no included feature declares: Modhub:wikki", "maill.host"):
        assert any(words in problem for problem in sentences["keys"]), words


@pytest.mark.postgres
def test_a_clock_that_is_wrong(start: Start, examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-19
    with served(start) as site:
        record_secrets(site.registry)
        set_time(site, "secret ", -1)
        (sentence,) = examine(site)[1]["clock"]
        assert "which is in the future: set the clock" in sentence
        set_time(site, "secret ", 0)
        monkeypatch.setattr("modhub.admin.doctor_checks.now", lambda: now() + timedelta(minutes=5))
        sentences = examine(site)[1]["clock"]
    where = ["the database server"] * (site.databases.dialect == "postgresql") + ["the server at modhub.base_url"]
    assert len(sentences) == len(where)
    for sentence, server in zip(sentences, where, strict=True):
        assert " seconds ahead of that of " + server in sentence


@pytest.fixture
def noted(start: Start, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``noted(site, name, …)``: a process of the machine of this name has written its note."""

    def note(site: Site, name: str, process: int = 1, **differs: Any) -> None:
        monkeypatch.setattr("modhub.ops.machines.socket.gethostname", lambda: name)
        monkeypatch.setattr("modhub.ops.machines.os.getpid", lambda: process)
        machines.note_process(site.registry)
        with site.databases.write_session.begin() as session:
            row = session.get_one(Observation, f"machine process {process} of {name}")
            row.text = json.dumps({**json.loads(row.text), **differs})

    return note


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_machines_that_differ(start: Start, examine: Any, noted: Callable[..., None]) -> None:
    # C-RUN-19
    with served(start) as site:
        for name in ("app1", "app2"):
            noted(site, name)
        assert [note.host for note in machines.noted_processes(site.databases)] == ["app1", "app2"]
        sentences = examine(site)[1]
        assert (sentences["schema"], sentences["secret"], sentences["clock"]) == (["ok"],) * 3
        noted(site, "app2", version="1.0.9", secret="0" * 16, ahead=40.2)
        sentences = examine(site)[1]
    differ = "process 1 of app1 differs from process 1 of app2: "
    assert sentences["schema"][0].startswith(f"{differ}an upgrade is under way")
    assert sentences["secret"][0].startswith(f"{differ}all processes need the same first secret")
    assert sentences["clock"][0].startswith("the clock of app2 is 40 seconds ahead of that of the database server")
    assert "0" * 16 not in str(sentences)


@pytest.mark.parametrize("dialect", ["postgresql"])
@pytest.mark.parametrize(("hours", "direction"), [(2, "ahead of"), (-48, "behind")])
def test_a_machine_whose_clock_is_hours_off_still_counts(
    start: Start,
    examine: Any,
    noted: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    *,
    hours: int,
    direction: str,
) -> None:
    # C-RUN-19
    with served(start) as site:
        noted(site, "right")
        with monkeypatch.context() as patch:
            for module in ("machines", "observations"):
                patch.setattr(f"modhub.ops.{module}.now", lambda: now() + timedelta(hours=hours))
            noted(site, "wrong", secret="0" * 16)
            # Those that examine on this machine see both, too.
            assert [note.host for note in machines.noted_processes(site.databases)] == ["right", "wrong"]
        sentences = examine(site)[1]
    seconds = abs(hours) * 3600
    assert f"the clock of wrong is {seconds} seconds {direction} that of the database server" in sentences["clock"][0]
    assert sentences["secret"][0].startswith("process 1 of right differs from process 1 of wrong")


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_machine_notes_itself_while_the_connection_of_best_effort_is_taken(
    start: Start, noted: Callable[..., None]
) -> None:
    site = start()
    with site.databases.best_effort_session.begin() as session:
        session.connection()
        noted(site, "here")
    assert [note.host for note in machines.noted_processes(site.databases)] == ["here"]


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_machines_that_are_gone_are_forgotten(start: Start, examine: Any, noted: Callable[..., None]) -> None:
    site = start()
    for name in ("gone", "silent", "here"):
        noted(site, name)
    set_time(site, "machine process 1 of gone", 0.1)
    set_time(site, "machine process 1 of silent", 2)
    noted(site, "here")
    assert [note.host for note in machines.noted_processes(site.databases)] == ["here"]
    with site.databases.readonly_session() as session:
        assert session.get(Observation, "machine process 1 of silent") is None


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_process_that_was_not_restarted_is_named(start: Start, examine: Any, noted: Callable[..., None]) -> None:
    # C-RUN-19
    with served(start) as site:
        noted(site, "app1", 7, version="1.0.9")
        noted(site, "app1", 8)
        sentences = examine(site)[1]
        assert sentences["schema"][0].startswith("process 7 of app1 differs from process 8 of app1: ")
        assert sentences["clock"] == ["ok"]
        # One that ends takes its note along.
        noted(site, "app1", 7, version="1.0.9")
        machines.forget_process(ApplicationStopped(site.registry))
        assert [note.name for note in machines.noted_processes(site.databases)] == ["process 8 of app1"]
        assert examine(site)[1]["schema"] == ["ok"]


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_snapshot_that_is_kept_for_hours(start: Start, examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-19
    monkeypatch.setattr(doctor_checks, "SNAPSHOT_HOURS", 0)
    with served(start) as site:
        url = site.databases.write_engine.url.render_as_string(hide_password=False)
        with closing(psycopg.connect(url.replace("+psycopg", ""))) as other:
            other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            (pid,) = other.execute("SELECT pg_backend_pid()").fetchone() or (0,)
            sentences = examine(site)[1]["database"]
            assert any(f"the process {pid} of PostgreSQL" in sentence for sentence in sentences), sentences
            monkeypatch.undo()
            assert examine(site)[1]["database"] == ["ok"]


class Proxy(BaseHTTPRequestHandler):
    """What stands at base_url; ``upload`` is the status of an upload, 0 for none."""

    upload, health, location = 401, b'{"status":"ok"}', ""
    longest_address = longest_header = longest_head = 65536
    patience = threading.Event()

    metrics = 404

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self._answer(self.metrics, b"modhub_up 1", "text/plain; version=0.0.4")
            return
        lengths = [len(value) for value in self.headers.values()]
        if len(self.path) > self.longest_address:
            self._answer(414, b"<html>")
        elif max(lengths) > self.longest_header or sum(lengths) > self.longest_head:
            self._answer(400, b"<html>")
        else:
            self._answer_health()

    def _answer_health(self) -> None:
        self._answer(302 if self.location else 200, self.health)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        if not self.upload:
            self.patience.wait(60)
            return
        self._answer(self.upload, b'{"error":"x"}' if self.upload == 401 else b"<html>")

    def _answer(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if self.location:
            self.send_header("Location", self.location)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_metrics_that_everybody_reads(start: Start, examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-11, C-RUN-19
    handler = type("Handler", (Proxy,), {"metrics": 200})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as front:
        front.daemon_threads = True
        threading.Thread(target=front.serve_forever, args=(0.02,), daemon=True).start()
        site = start(modhub__base_url=f"http://127.0.0.1:{front.server_port}")
        assert examine(site)[1]["proxy"] == ["ok"], "only this machine has that address"
        monkeypatch.setattr(proxy_check, "is_loopback", lambda _: False)
        assert "everybody can read" in examine(site)[1]["proxy"][0]
        monkeypatch.setattr(handler, "metrics", 404)
        assert examine(site)[1]["proxy"] == ["ok"]
        front.shutdown()


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_certificate_that_ends_soon(
    start: Start, examine: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # C-RUN-19
    issued = issue_certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(issued.authority))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as front:
        front.daemon_threads = True
        front.socket = context.wrap_socket(front.socket, server_side=True)
        threading.Thread(target=front.serve_forever, args=(0.02,), daemon=True).start()
        site = start(modhub__base_url=f"https://localhost:{front.server_port}")
        for days, said in ((15, False), (13.1, True)):
            monkeypatch.setattr("modhub.ops.certificate.expiry_time", lambda *_, days=days: time() + days * 86400)
            assert ("expires in 13 days: renew it" in str(examine(site)[1]["proxy"])) == said
        front.shutdown()


@pytest.fixture(scope="module")
def front() -> Iterator[ThreadingHTTPServer]:
    """A server for one proxy after another: its port is in the settings, so the tests share an application."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("proxy", "sentence"),
    [
        ({}, "ok"),
        ({"upload": 413}, "the proxy refuses an upload of 64 MB: raise its limit"),
        ({"upload": 0}, "an upload of 64 MB gets no answer before its body is sent: turn off the proxy's buffering"),
        ({"upload": 404}, "an upload of 64 MB gets 404 and not the service's answer"),
        ({"health": b"<html>"}, "/healthz answers 200, and not this service"),
        ({"longest_address": 4096}, "an address of 7,000 bytes gets 414: raise the proxy's limits of request heads"),
        ({"longest_header": 6500}, "a header of 7,000 bytes gets 400: raise the proxy's limits"),
        ({"longest_head": 8192}, "a head of 12,000 bytes gets 400: raise the proxy's limits"),
        ({"location": "https://127.0.0.1/"}, "redirects to https: write https in modhub.base_url"),
    ],
)
@pytest.mark.slow
def test_the_proxy_in_front(
    start: Start, examine: Any, front: ThreadingHTTPServer, proxy: dict[str, Any], sentence: str
) -> None:
    # C-RUN-19
    front.RequestHandlerClass = type("Handler", (Proxy,), {**proxy, "patience": threading.Event()})
    code, sentences = examine(start(modhub__base_url=f"http://127.0.0.1:{front.server_port}"))
    front.RequestHandlerClass.patience.set()
    assert (code, len(sentences["proxy"])) == (int(sentence != "ok"), 1)
    assert sentence in sentences["proxy"][0]


def test_nothing_at_base_url(start: Start, examine: Any) -> None:
    code, sentences = examine(start(modhub__base_url=f"http://127.0.0.1:{free_port()}"))
    assert code == 1
    assert "cannot be reached (Connection refused): start the service and the proxy" in sentences["proxy"][0]


def test_a_trusted_proxy_that_was_forgotten(start: Start, examine: Any) -> None:
    # C-RUN-19, T-F11
    for server, sentence in (
        (SERVER, "[server:main] has no trusted_proxy"),
        (SERVER + "trusted_proxy = 127.0.0.1\n", "trusted_proxy without trusted_proxy_headers"),
    ):
        site = start(modhub__base_url=f"https://127.0.0.1:{free_port()}")
        assert sentence in examine(site, server)[1]["proxy"][-1]
    with served(start) as site:
        address = site.registry.settings["modhub.base_url"]
        assert examine(site)[0] == 0
        request = urllib.request.Request(f"{address}/api/modhub", headers={"X-Forwarded-For": "192.0.2.1"})
        assert urllib.request.urlopen(request).status == 200
        code, sentences = examine(site)
        assert (code, "127.0.0.1 forwards requests for others but is not trusted" in sentences["proxy"][0]) == (1, True)
        assert "set trusted_proxy = 127.0.0.1 in [server:main]" in sentences["proxy"][0]
        headers = "trusted_proxy = 127.0.0.1\ntrusted_proxy_headers = x-forwarded-for\n"
        assert examine(site, SERVER + headers)[0] == 0
        set_time(site, "untrusted proxy", 1)
        assert examine(site)[0] == 0
