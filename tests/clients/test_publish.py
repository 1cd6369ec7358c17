"""``modhub-publish`` against a scripted server; tests/builds runs it against the real one."""

import json
import os
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pyramid.request import Request
from pyramid.response import Response

from modhub_client.publish import client, command
from modhub_testing.lines import Relay
from modhub_testing.running_server import served

PROGRAM = [sys.executable, "-m", "modhub_client.publish.command"]
KEY = "the-agents-key"


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("MODHUB_API_KEY", KEY)
    monkeypatch.setattr(client, "RETRY_SECONDS", 0)


@pytest.fixture
def build(tmp_path):
    path = tmp_path / "my build.zip"
    path.write_bytes(os.urandom(300_000))
    return path


class Scripted:
    """WSGI: gives the answers of a list in turn, and keeps what it was asked; what everybody may read is not there."""

    def __init__(self, answers, *, tells_all):
        self.answers = answers
        self.tells_all = tells_all
        self.asked = []

    def __call__(self, environ, start_response):
        request = Request(environ)
        is_public = not {"X-Api-Key", "Authorization"} & {*request.headers} and request.method in {"GET", "HEAD"}
        if is_public and not self.tells_all:
            return Response(status=404)(environ, start_response)
        status, body = self.answers.pop(0)
        self.asked.append((request.method, request.path_qs, request.headers, request.body))
        text = body if isinstance(body, str) else json.dumps(body)
        response = Response(text, status=status)
        if 300 <= status < 400:
            response.location = "http://127.0.0.1:9/elsewhere"
        return response(environ, start_response)


@contextmanager
def scripted(*answers, tells_all=False):
    app = Scripted([*answers], tells_all=tells_all)
    with served(app) as app.url:
        yield app


STORED = {"os": "windows", "version": "1", "bytes": 300_000, "url": "/Modhub/app/windows/1"}
STORAGE_FAILED = (502, {"error": "storage_refused", "message": "Full."})


def run(url, *words):
    return command.main(["--url", url, *map(str, words)])


def test_a_502_is_tried_once_more_from_the_start(build):
    with scripted(STORAGE_FAILED, (201, STORED)) as server:
        assert run(server.url, "app", "windows", build) == 0
    assert [request[3] for request in server.asked] == [build.read_bytes()] * 2
    with scripted(STORAGE_FAILED, STORAGE_FAILED, (201, STORED)) as server:
        assert run(server.url, "app", "windows", build) == client.UNAVAILABLE
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, {"error": "unknown_api_key"}, client.KEY_REJECTED),
        (400, {"error": "invalid_input", "message": "No."}, client.REJECTED),
        (404, "<html>", client.REJECTED),
        (503, {"error": "storage_not_configured", "message": "No."}, client.INCOMPLETE),
        (503, {"error": "busy", "message": "No."}, client.UNAVAILABLE),
        (504, "", client.UNAVAILABLE),
        (307, "", client.REJECTED),
        (201, {**STORED, "bytes": 299_999}, client.REJECTED),
        (201, [1], client.REJECTED),
    ],
)
def test_everything_else_is_asked_once(build, status, body, code, capsys):
    with scripted((status, body), (201, STORED)) as server:
        assert run(server.url, "app", "windows", build) == code
    assert len(server.asked) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("modhub-publish: ")
    assert KEY not in printed.err


class Hasty(Relay):
    """Refuses an upload at its first bytes, and reads no more."""

    refused = 0

    def request(self, data, client):
        if not data.startswith(b"POST "):
            return data
        self.refused += 1
        client.sendall(b'HTTP/1.1 401 No\r\nContent-Length: 27\r\n\r\n{"error":"unknown_api_key"}')
        return None


def test_an_answer_before_the_body_was_taken_is_read(tmp_path):
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(30_000_000))
    with scripted() as server, closing(Hasty(int(server.url.rpartition(":")[2]))) as hasty:
        # The connection may be cut before the answer was read: then it counts as not reached, never as done.
        assert run(hasty.endpoint, "app", "windows", large) in {client.KEY_REJECTED, client.UNAVAILABLE}
    assert hasty.refused == 1


def test_who_does_not_answer_cannot_be_reached(capsys):
    with scripted() as server:
        url = server.url
    assert run(url, "key") == client.UNAVAILABLE
    assert "cannot be reached" in capsys.readouterr().err


def test_the_key_comes_from_the_environment_or_a_file(tmp_path, monkeypatch, capsys):
    file = tmp_path / "key"
    with scripted(*[(200, {"ok": True})] * 3) as server:
        assert run(server.url, "key") == 0
        for text, encoding in (("  from-the-file\n", "utf-8"), ("from-the-file\r\n", "utf-8-sig")):
            file.write_text(text, encoding)
            assert run(server.url, "--key-file", file, "key") == 0
    assert [request[2]["X-Api-Key"] for request in server.asked] == [KEY, "from-the-file", "from-the-file"]
    for encoding in ("utf-16", "utf-16-be"):
        file.write_text("from-the-file\r\n", encoding)
        assert run("http://127.0.0.1:9", "--key-file", file, "key") == client.USAGE_ERROR
        said = capsys.readouterr().err
        assert str(file) in said
        assert "UTF-8" in said
    for key in ("", " \n", "two words", "line\nbreak", "a\0b"):
        file.write_text(key)
        assert run("http://127.0.0.1:9", "--key-file", file, "key") == client.USAGE_ERROR
        if "\0" not in key:
            monkeypatch.setenv("MODHUB_API_KEY", key)
            assert run("http://127.0.0.1:9", "key") == client.USAGE_ERROR


@pytest.mark.parametrize(
    "words",
    [
        ["changelog"],
        ["changelog", "x", "--pop"],
        ["app", "windows", "/"],
        ["wiki", "/does/not/exist"],
        ["--key-file", "/does/not/exist", "key"],
    ],
)
def test_wrong_calls_send_nothing(words, capsys):
    with scripted() as server:
        assert run(server.url, *words) == client.USAGE_ERROR
    assert server.asked == []
    assert capsys.readouterr().err.startswith("modhub-publish: ")


def test_a_key_over_plain_http_to_elsewhere_is_warned_of(monkeypatch, capsys):
    monkeypatch.setattr(client.ServiceClient, "call", lambda *_: client.Answer(200, b'{"ok": true}'))
    assert run("http://mods.example.org", "key") == 0
    assert "https" in capsys.readouterr().err
    assert run("https://mods.example.org", "key") == 0
    assert run("http://127.0.0.1:1", "key") == 0
    assert capsys.readouterr().err == ""


def test_an_address_below_a_folder(build):
    with scripted((201, STORED)) as server:
        assert run(f"{server.url}/sub/", "app", "windows", build, "--version", "ü 1") == 0
    method, path, headers, _ = server.asked[0]
    assert (method, path) == ("POST", "/sub/api/modhub/app/windows?name=my+build.zip&version=%C3%BC+1")
    assert headers["Content-Length"] == "300000"


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.zip", "application/zip"),
        ("a.TGZ", "application/gzip"),
        ("a.css.br", "application/octet-stream"),
    ],
)
def test_the_media_type_is_that_of_the_bytes(tmp_path, name, media_type):
    build = tmp_path / name
    build.write_bytes(b"x")
    with scripted((201, {**STORED, "bytes": 1})) as server:
        assert run(server.url, "app", "windows", build) == 0
    assert server.asked[0][2]["Content-Type"] == media_type


def test_what_cannot_be_read_is_not_sent_again(tmp_path, capsys):
    # C-OWN-20
    section = tmp_path / "section.txt"
    section.write_text("1.0")
    with scripted((503, {"error": "busy", "message": "Busy."}), tells_all=True) as server:
        assert run(server.url, "changelog", section) == client.UNAVAILABLE
    assert [request[0] for request in server.asked] == ["GET"]
    assert "status 503" in capsys.readouterr().err


SESSION = (200, {"accessToken": "t", "expiresInSeconds": 1800})
OWN = {"id": 12, "guid": "6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90", "version": "0.9", "published": False, "assets": []}
MINE = (200, {"count": 1, "mods": [OWN]})


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ((404, {"error": "not_found"}), client.REJECTED, "older than this program"),
        ((503, {"error": "busy", "message": "Busy."}), client.UNAVAILABLE, "Busy."),
        ((401, {"error": "unauthorized"}), client.KEY_REJECTED, "rejected the key"),
    ],
)
def test_a_service_that_does_not_list_files_gets_none(build, answer, code, said, capsys):
    with scripted(SESSION, MINE, answer) as server:
        assert run(server.url, "mod", "12", build, "--version", "1") == code
    assert [request[0] for request in server.asked] == ["POST", "GET", "GET"]
    assert said in capsys.readouterr().err


def test_an_upload_to_a_mod_is_tried_once_more(build):
    answers = [SESSION, MINE, (200, {"count": 0, "files": []}), (200, {"count": 0, "notes": []})]
    with scripted(*answers, STORAGE_FAILED, STORAGE_FAILED) as server:
        assert run(server.url, "mod", "12", build, "--version", "1") == client.UNAVAILABLE
    assert [request[3] for request in server.asked[-2:]] == [build.read_bytes()] * 2
    assert {request[2]["Authorization"] for request in server.asked[1:]} == {"Bearer t"}
    assert all("X-Api-Key" not in request[2] for request in server.asked)


def test_no_page_is_pruned_by_mistake(tmp_path):
    (tmp_path / "index.md").write_text("# Home")
    # A page that is refused, or a folder without pages, removes nothing.
    with scripted((400, {"error": "invalid_input", "message": "No."})) as server:
        assert run(server.url, "wiki", tmp_path, "--prune") == client.REJECTED
    (tmp_path / "index.md").unlink()
    assert run("http://127.0.0.1:9", "wiki", tmp_path, "--prune") == client.USAGE_ERROR


@pytest.mark.parametrize("name", ["two words.md", "a/.b/c.md", f"{'d/' * 100}e.md"])
def test_a_page_that_can_have_no_path_stops_all(tmp_path, name):
    (tmp_path / "good.md").write_text("# Good")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("# Bad")
    with scripted() as server:
        assert run(server.url, "wiki", tmp_path) == client.USAGE_ERROR
    assert server.asked == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_output(build):
    with Path("/dev/full").open("wb") as full, scripted((201, STORED)) as server:
        program = [*PROGRAM, "--url", server.url, "app", "windows", str(build)]
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, timeout=100, check=False)
    assert done.returncode == 0
    assert done.stderr.startswith(b"modhub-publish: the output could not be written: ")
