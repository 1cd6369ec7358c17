"""``modhub-admin doctor``: each line is ok, or says what to do."""

import errno
import ssl
import threading
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, time
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text

from modhub.admin import doctor
from modhub.admin import program as admin
from modhub.admin.observations import BACKUP_VERIFIED, record_observation
from modhub.content.limits import MB
from modhub.db import iso, now
from modhub.plugins.declarations import DeclaredCheck
from modhub_testing import TEST_SECRET, stored_files
from modhub_testing.commands import issue_certificate
from modhub_testing.running_server import running
from modhub_testing.service import free_port
from tests.people import write

pytestmark = pytest.mark.slow

LABELS = ["database", "storage", "secrets", "proxy", "workers", "backup", "features"]
SERVER = "[server:main]\nuse = egg:modhub#server\n"


@pytest.fixture
def examine(tmp_path, capsys):
    """``examine(site, server)``: the exit code and the sentences by label, with this ``[server:main]``."""

    def run(site, server=SERVER):
        ini = tmp_path / "x.ini"
        ini.write_text(server, "utf-8")
        code = admin.run_command(site.config, ["-c", str(ini), "doctor"], str(ini))
        lines = capsys.readouterr().out.splitlines()
        sentences = {}
        for line in lines:
            label, _, sentence = line.partition(": ")
            sentences.setdefault(label, []).append(sentence)
        assert [label for label in sentences if label in LABELS] == LABELS
        assert TEST_SECRET not in str(sentences)
        return code, sentences

    return run


def verify_backup(site, age=timedelta(0)):
    """As ``backup --verify`` records it, for a backup of this age."""
    with site.databases.write_session.begin() as session:
        record_observation(session, BACKUP_VERIFIED, iso(now() - age))


def test_all_is_ok(start, examine):
    # C-RUN-19
    behind = f"127.0.0.1:{free_port()}"
    site = start(fresh=True, modhub__base_url=f"http://{behind}")
    verify_backup(site)
    with running(site.app, listen=behind):
        files = stored_files(site)
        for _ in range(2):
            assert examine(site) == (0, {label: ["ok"] for label in LABELS})
        assert stored_files(site) == files


def test_a_feature_adds_a_check(site, examine):
    # C-RUN-19
    def fails(*_):
        raise ValueError("/secret/path")

    def meets_a_full_disk(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "/secret/path")

    hangs = threading.Event()

    def add(name, run, seconds=5):
        site.declarations.checks[name] = DeclaredCheck(name, run, ("doctor",), seconds)

    add("tea", lambda *_: ["it is cold: make new", "the cup leaks: buy one"])
    add("milk", fails)
    add("shelf", meets_a_full_disk)

    def finds_and_hangs(*_):
        yield "it is empty: fill it"
        hangs.wait(60)

    add("bowl", finds_and_hangs, 1)
    began = monotonic()
    code, sentences = examine(site)
    hangs.set()
    assert monotonic() - began < 30
    assert code == 1
    assert sentences["tea"] == ["it is cold: make new", "the cup leaks: buy one"]
    assert sentences["milk"] == ["the check failed (ValueError)"]
    assert sentences["shelf"] == ["the check failed (No space left on device)"]
    advice = "no answer within 1 seconds: start what it asks, or correct the setting that names it"
    assert sentences["bowl"] == ["it is empty: fill it", advice]


@pytest.mark.postgres
def test_a_database_on_which_no_service_starts(site, examine):
    # C-RUN-18, C-RUN-19
    changes = {
        "DELETE FROM core_observation": "was restored, and not prepared for use",
        "UPDATE modhub_alembic_version SET version_num = 'core_9999'": "newer than this code (modhub)",
        "DELETE FROM modhub_alembic_version": "behind (modhub); run: modhub-admin -c",
    }
    for change, sentence in changes.items():
        write(site, text(change))
        code, sentences = examine(site)
        assert code == 1
        assert sentence in sentences["database"][0]


def test_a_database_that_is_missing_is_not_created(start, examine, tmp_path):
    # C-RUN-19
    site = start(url=f"sqlite:///{tmp_path}/none.sqlite")
    code, sentences = examine(site)
    assert code == 1
    assert "the database is behind (modhub); run: modhub-admin -c " in sentences["database"][0]
    assert not (tmp_path / "none.sqlite").exists()
    site = start(url=f"sqlite:///{tmp_path}/nowhere/none.sqlite")
    assert "there is no folder" in examine(site)[1]["database"][0]


@pytest.mark.postgres
def test_a_database_that_cannot_be_written(site, examine):
    # C-RUN-19
    write(site, text("DROP TABLE core_observation"))
    code, sentences = examine(site)
    assert code == 1
    assert sentences["database"][0].startswith("the database cannot be written (")


def test_a_store_that_is_missing_or_not_configured(start, examine, tmp_path):
    # C-RUN-19
    site = start(modhub__storage="")
    assert "modhub.storage is empty" in examine(site)[1]["storage"][0]
    site = start()
    folder = Path(urlsplit(site.registry.settings["modhub.storage"]).path)
    (folder / "staging").rename(tmp_path / "away")
    (folder / "staging").write_text("no folder")
    sentence = examine(site)[1]["storage"][0]
    assert sentence.startswith("files cannot be stored at file://")
    assert sentence.endswith(" (Not a directory): check its free space, its rights and the log")
    (folder / "staging").unlink()
    folder.rmdir()
    assert "cannot be stored at file://" in examine(site)[1]["storage"][0]
    assert not folder.exists()


def test_a_disk_without_room_for_large_uploads(site, examine, monkeypatch):
    # C-RUN-28
    free = {"storage": 200 * MB, "temporary": 300 * MB}
    monkeypatch.setattr(doctor, "free_bytes", lambda _settings: free)
    for spool, expected in (
        (72 * MB, ["ok"]),
        (72 * MB + 1, ["the storage folder has 200 MB free, and uploads may take 200 MB"]),
        (
            None,
            ["the storage folder has 200 MB free, and uploads may take 4,224 MB", "the temporary folder has 300 MB"],
        ),
    ):
        sentences = examine(site, SERVER + ("" if spool is None else f"spool_bytes = {spool}\n"))[1]["storage"]
        assert len(sentences) == len(expected)
        assert [text in line for text, line in zip(expected, sentences, strict=True)] == [True] * len(expected)


@pytest.mark.postgres
def test_a_backup_that_nobody_has_verified(site, examine):
    # C-RUN-19
    assert "no backup of this database was ever found whole: run" in examine(site)[1]["backup"][0]
    verify_backup(site, timedelta(days=1.9))
    assert examine(site)[1]["backup"] == ["ok"]
    verify_backup(site, timedelta(days=2.1))
    assert "the last backup that was found whole is of" in examine(site)[1]["backup"][0]


@pytest.mark.postgres
def test_features_that_only_the_database_has(start, examine, capsys):
    # C-RUN-19
    site = start(fresh=True)
    write(site, text("CREATE TABLE lost_feature_alembic_version (version_num VARCHAR(32))"))
    sentence = "the database has tables of lost_feature, and pyramid.includes does not name them: add them"
    assert examine(site)[1]["features"][0].startswith(sentence)
    assert admin.run_command(site.config, ["-c", "x.ini", "check"]) == 0
    assert sentence in capsys.readouterr().err


class Proxy(BaseHTTPRequestHandler):
    """What stands at base_url; ``upload`` is the status of an upload, 0 for none."""

    upload, metrics = 401, 404
    patience = threading.Event()

    def do_GET(self):
        self._answer(self.metrics, b"modhub_up 1")

    def do_POST(self):
        if not self.upload:
            self.patience.wait(60)
            return
        self._answer(self.upload, b"")

    def _answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing."""


@contextmanager
def serving(context=None):
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        server.daemon_threads = True
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def front():
    """A server for one proxy after another: its port is in the settings, so the tests share an application."""
    with serving() as server:
        yield server


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_metrics_that_everybody_reads(start, examine, front, monkeypatch):
    # C-RUN-11, C-RUN-19
    front.RequestHandlerClass = type("Handler", (Proxy,), {"metrics": 200})
    site = start(modhub__base_url=f"http://127.0.0.1:{front.server_port}")
    assert examine(site)[1]["proxy"] == ["ok"], "only this machine has that address"
    monkeypatch.setattr(doctor, "is_loopback", lambda _: False)
    assert "everybody can read" in examine(site)[1]["proxy"][0]
    front.RequestHandlerClass = Proxy
    assert examine(site)[1]["proxy"] == ["ok"]


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_certificate_that_ends_soon(start, examine, monkeypatch, tmp_path):
    # C-RUN-19
    issued = issue_certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(issued.authority))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    with serving(context) as front:
        site = start(modhub__base_url=f"https://localhost:{front.server_port}")
        for days, said in ((15, False), (13.1, True)):
            monkeypatch.setattr(ssl, "cert_time_to_seconds", lambda _, days=days: time() + days * 86400)
            assert ("expires in 13 days: renew it" in str(examine(site)[1]["proxy"])) == said
        monkeypatch.delenv("SSL_CERT_FILE")
        assert "is not accepted (CERTIFICATE_VERIFY_FAILED): renew it" in str(examine(site)[1]["proxy"])


@pytest.mark.parametrize(
    ("proxy", "sentence"),
    [
        ({"upload": 413}, "an upload of 64 MB gets 413 and not the service's 401: correct modhub.base_url, or the"),
        ({"upload": 0}, "an upload of 64 MB gets no answer before its body is sent: turn off the proxy's buffering"),
    ],
)
@pytest.mark.slow
def test_the_proxy_in_front(start, examine, front, proxy, sentence):
    # C-RUN-19
    patience = threading.Event()
    front.RequestHandlerClass = type("Handler", (Proxy,), {**proxy, "patience": patience})
    site = start(fresh=True, modhub__base_url=f"http://127.0.0.1:{front.server_port}")
    verify_backup(site)
    code, sentences = examine(site)
    patience.set()
    assert (code, len(sentences["proxy"])) == (1, 1)
    assert sentence in sentences["proxy"][0]


def test_a_trusted_proxy_that_was_forgotten(start, examine):
    # C-RUN-19, T-F11
    site = start(modhub__base_url=f"https://127.0.0.1:{free_port()}")
    address = "trusted_proxy = 127.0.0.1\n"
    for server in (SERVER, SERVER + address, SERVER + address + "trusted_proxy_headers = x-forwarded-proto\n"):
        assert "everybody counts as one caller: in [server:main], set" in examine(site, server)[1]["proxy"][0]
    trusting = SERVER + address + "trusted_proxy_headers = x-forwarded-for\n"
    (sentence,) = examine(site, trusting)[1]["proxy"]
    assert "cannot be reached" in sentence
