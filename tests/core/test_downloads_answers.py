"""File responses: headers, body, errors; in process, and through waitress with its file wrapper."""

import base64
import contextlib
import hashlib
import http.client
import io
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import waitress
from pyramid.request import Request
from webtest import TestApp

from modhub.base.errors import ApiError
from modhub.blobs import LocalStore
from modhub.web.downloads import StoredFile, file_response
from modhub.web.headers import EXPOSED
from modhub_testing import count_open_files

CONTENT = bytes(range(256)) * 40
MODIFIED = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"


class Files:
    """A store with one file, and a WSGI application that answers it; ``file`` may be replaced."""

    def __init__(self, root: Path, content: bytes = CONTENT) -> None:
        self.store = LocalStore(root)
        self.file = self.add(content)

    def add(self, content: bytes) -> StoredFile:
        blob = self.store.stage(io.BytesIO(content), len(content))
        self.store.publish(blob.key)
        return StoredFile(
            blob.key, blob.size, blob.sha256, "Löwe.zip", "text/plain", MODIFIED, inline=False, cache_control="no-cache"
        )

    def __call__(self, environ, start_response):
        try:
            answer = file_response(Request(environ), self.store, self.file)
        except ApiError as refusal:
            start_response(f"{refusal.status} refused", [*refusal.headers.items(), ("Content-Type", "text/plain")])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [refusal.code.encode()]
        return answer(environ, start_response)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "files")


@pytest.fixture
def app(files: Files) -> TestApp:
    return TestApp(files)


def test_the_whole_file(app, files):
    # C-FILE-1, C-FILE-3, T-H4
    answer = app.get("/")
    digest = hashlib.sha256(CONTENT)
    assert answer.status == "200 OK"
    assert answer.body == CONTENT
    assert dict(answer.headers) == {
        "ETag": f'"{digest.hexdigest()}"',
        "Last-Modified": "Fri, 02 Jan 2026 03:04:05 GMT",
        "Cache-Control": "no-cache",
        "Accept-Ranges": "bytes",
        "Repr-Digest": f"sha-256=:{base64.b64encode(digest.digest()).decode()}:",
        "Content-Type": "text/plain",
        "Content-Length": str(len(CONTENT)),
        "Content-Disposition": "attachment; filename=\"Lowe.zip\"; filename*=UTF-8''L%C3%B6we.zip",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": EXPOSED,
        "Vary": "Sec-Fetch-Dest, Sec-Fetch-Site",
    }
    assert len(answer.headerlist) == len(answer.headers)


def test_a_part(app):
    # C-FILE-2
    whole = dict(app.get("/").headers)
    answer = app.get("/", headers={"Range": "bytes=100-199"})
    assert answer.status == "206 Partial Content"
    assert answer.body == CONTENT[100:200]
    assert dict(answer.headers) == whole | {"Content-Length": "100", "Content-Range": f"bytes 100-199/{len(CONTENT)}"}


def test_head_is_the_headers_of_get(app):
    whole = dict(app.get("/").headers)
    answer = app.head("/", headers={"Range": "bytes=100-199"})
    assert (answer.status, answer.body, dict(answer.headers)) == ("200 OK", b"", whole)


def test_not_modified(app, files):
    whole = app.get("/").headers
    for method in (app.get, app.head):
        answer = method("/", headers={"If-None-Match": whole["ETag"]}, status=304)
        assert answer.status == "304 Not Modified"
        assert answer.body == b""
        absent = {"Content-Type", "Content-Length", "Content-Disposition", "Content-Range", "Repr-Digest"}
        assert not absent.intersection(answer.headers)
        for name in ("ETag", "Cache-Control", "Vary", "Content-Security-Policy", "Access-Control-Allow-Origin"):
            assert answer.headers[name] == whole[name]


def test_not_modified_needs_no_file(app, files):
    files.store.delete(files.file.key)
    app.get("/", headers={"If-None-Match": f'"{files.file.sha256}"'}, status=304)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_file_that_is_gone_or_damaged_is_503(app, files, tmp_path, method):
    path = tmp_path / "files" / files.file.key[:2] / files.file.key[2:]
    for damaged in (CONTENT[::-1], CONTENT[:-1], b"", None):
        path.unlink() if damaged is None else path.write_bytes(damaged)
        answer = app.request("/", method=method, status=503)
        assert answer.headers["Retry-After"] == "5"
        assert method == "HEAD" or answer.text == "storage_unreachable"


def test_a_range_beyond_the_end(app):
    answer = app.get("/", headers={"Range": "bytes=99999-"}, status=416)
    assert answer.text == "range_not_satisfiable"
    assert answer.headers["Content-Range"] == f"bytes */{len(CONTENT)}"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_a_precondition_that_fails(app):
    # C-FILE-9
    assert app.get("/", headers={"If-Match": '"other"'}, status=412).text == "precondition_failed"


SITES = {"same-origin": True, "same-site": True, "cross-site": False, "none": False, "": False}
DESTINATIONS = {
    "script": True,
    "style": True,
    "worker": True,
    "sharedworker": True,
    "serviceworker": True,
    "audioworklet": True,
    "paintworklet": True,
    "xslt": True,
    "image": False,
    "document": False,
    "empty": False,
    "": False,
}


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("destination", DESTINATIONS)
def test_our_own_pages_cannot_run_it(app, site, destination):
    # C-FILE-6, T-A2
    for method in (app.get, app.head):
        refused = SITES[site] and DESTINATIONS[destination]
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": destination, "If-None-Match": '"x"'}
        answer = method("/", headers=headers, status=403 if refused else 200)
        assert answer.headers["Vary"] == "Sec-Fetch-Dest, Sec-Fetch-Site"
        assert not refused or method == app.head or answer.text == "not_for_embedding"


def test_no_service_worker_whatever_else_is_said(app):
    # C-FILE-6, T-A2
    app.get("/", headers={"Service-Worker": "script"}, status=403)
    app.get("/", headers={"Service-Worker": "script", "If-None-Match": "*"}, status=403)


@pytest.mark.parametrize(
    "stored", ["text/html", "image/svg+xml", "application/json", "text/css;charset=latin1", "x/y; a=b"]
)
def test_the_stored_type_is_sent_as_it_is(app, files, stored):
    files.file = replace(files.file, content_type=stored)
    (sent,) = [value for name, value in app.get("/").headerlist if name == "Content-Type"]
    assert sent == stored


@pytest.mark.parametrize("stored", ["", " ", "text/plain\r\nX: y", "text/pläin", "a\x00b"])
def test_a_type_that_no_header_can_carry(app, files, stored):
    files.file = replace(files.file, content_type=stored)
    assert app.get("/").headers["Content-Type"] == "application/octet-stream"


def test_images_are_shown(app, files):
    files.file = replace(files.file, name="a.png", content_type="image/png", inline=True, cache_control="max-age=1")
    answer = app.get("/")
    assert answer.headers["Content-Disposition"] == 'inline; filename="a.png"'
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert answer.headers["Cache-Control"] == "max-age=1"


def test_an_empty_file(app, files):
    files.file = files.add(b"")
    answer = app.get("/", headers={"Range": "bytes=-5"})
    assert (answer.status, answer.body, answer.headers["Content-Length"]) == ("200 OK", b"", "0")


def test_no_change_in_the_future(app, files):
    """RFC 9110, 8.8.2.1: a clock that jumped back must not give a Last-Modified after the Date."""
    files.file = replace(files.file, modified=datetime.now(UTC) + timedelta(days=1))
    sent = datetime.strptime(app.get("/").headers["Last-Modified"], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    assert sent <= datetime.now(UTC)


def test_a_time_without_a_zone_is_a_mistake(files):
    with pytest.raises(ValueError, match="time zone"):
        replace(files.file, modified=datetime(2026, 1, 1))  # noqa: DTZ001 - that is the mistake


@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=1-2"}, {"Range": "bytes=99999-"}, {"If-None-Match": "*"}])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_no_file_stays_open(app, headers, method, tmp_path):
    before = count_open_files(tmp_path)
    app.request("/", method=method, headers=headers, status="*")
    assert count_open_files(tmp_path) == before


def test_a_head_answer_holds_no_file(files, tmp_path):
    """Not even until the server asks for its body."""
    before = count_open_files(tmp_path)
    file_response(Request.blank("/", method="HEAD"), files.store, files.file)
    assert count_open_files(tmp_path) == before


def test_the_servers_wrapper_is_used_and_a_failing_one_leaves_no_file_open(files, tmp_path):
    def wrapper(file, size):
        calls.append((file.tell(), size))
        raise RuntimeError

    calls: list[tuple[int, int]] = []
    before = count_open_files(tmp_path)
    request = Request.blank("/", headers={"Range": "bytes=7-9"}, environ={"wsgi.file_wrapper": wrapper})
    with pytest.raises(RuntimeError):
        file_response(request, files.store, files.file)
    assert calls == [(7, 256 * 1024)]
    assert count_open_files(tmp_path) == before


@contextlib.contextmanager
def served(application) -> Iterator[http.client.HTTPConnection]:
    """A connection to waitress on this machine, with one worker thread."""
    server = waitress.create_server(
        application, host="127.0.0.1", port=0, threads=1, clear_untrusted_proxy_headers=True
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.effective_port, timeout=100)
    try:
        yield connection
    finally:
        connection.close()
        server.task_dispatcher.shutdown()
        server.trigger.pull_trigger(server.close)
        thread.join(60)


BIG = os.urandom(1024) * (24 * 1024)


def test_through_waitress(tmp_path, caplog):
    files = Files(tmp_path / "files", BIG)
    tail = len(BIG) - 5
    with caplog.at_level(logging.WARNING), served(files) as connection:
        for method, headers, status, body in [
            ("GET", {}, 200, BIG),
            ("GET", {"Range": "bytes=5-300004"}, 206, BIG[5:300_005]),
            ("GET", {"Range": "bytes=-5"}, 206, BIG[tail:]),
            ("GET", {"Range": "bytes=0-0"}, 206, BIG[:1]),
            ("HEAD", {}, 200, b""),
            ("GET", {"If-None-Match": f'"{files.file.sha256}"'}, 304, b""),
            ("GET", {"Range": "bytes=1-2", "If-Range": '"old"'}, 200, BIG),
        ]:
            connection.request(method, "/", headers=headers)
            answer = connection.getresponse()
            received = answer.read()
            assert answer.status == status
            assert received == body
            if method == "HEAD":
                assert answer.getheader("Content-Length") == str(len(BIG))
    # A request that waits for a worker is no complaint.
    complaints = [record for record in caplog.records if record.name != "waitress.queue"]
    assert not complaints, "waitress complains when the length is not the one announced"


def test_a_reader_gets_the_old_bytes_whole(tmp_path):
    # C-FILE-8, T-E5
    """Replaced and deleted while the body is under way; others are answered meanwhile."""
    files = Files(tmp_path / "files", BIG)
    old = files.file
    with served(files) as slow:
        slow.request("GET", "/")
        answer = slow.getresponse()
        received = answer.read(1000)
        files.file = files.add(b"new")
        files.store.delete(old.key)
        other = http.client.HTTPConnection("127.0.0.1", slow.port, timeout=100)
        other.request("GET", "/")
        assert other.getresponse().read() == b"new"
        other.close()
        received += answer.read()
    assert received == BIG
    assert answer.getheader("ETag") == f'"{old.sha256}"'


def test_only_a_whole_public_file_is_left_to_the_proxy(tmp_path: Path) -> None:
    files = Files(tmp_path / "files")
    proxied = LocalStore(tmp_path / "files", proxy_location="/_files/")

    def get(file: StoredFile, store: LocalStore = proxied, **environ: str) -> dict[str, str]:
        response = file_response(Request.blank("/", environ=environ), store, file)
        if not isinstance(response.app_iter, tuple):
            response.app_iter.close()
        return dict(response.headers)

    left = get(files.file)
    assert left["X-Accel-Redirect"] == f"/_files/{files.file.key[:2]}/{files.file.key[2:]}"
    assert left["Content-Length"] == "0"
    conditions = ["RANGE", "IF_MATCH", "IF_NONE_MATCH", "IF_RANGE", "IF_MODIFIED_SINCE", "IF_UNMODIFIED_SINCE"]
    for own in (
        get(files.file, files.store),
        get(replace(files.file, private=True)),
        get(files.file, REQUEST_METHOD="HEAD"),
        *(get(files.file, **{f"HTTP_{name}": '"x"'}) for name in conditions if name != "IF_MATCH"),
        get(files.file, HTTP_IF_MATCH="*"),
    ):
        assert "X-Accel-Redirect" not in own
        assert own["Content-Length"] == str(len(CONTENT))
