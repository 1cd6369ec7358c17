"""File responses: headers, body, errors."""

import base64
import hashlib
import io
import os
import socket
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pyramid.request import Request
from webtest import TestApp

from modhub.base.errors import ApiError
from modhub.blobs import LocalStore
from modhub.web.downloads import StoredFile, file_response
from modhub.web.headers import EXPOSED
from modhub_testing import count_open_files
from modhub_testing.running_server import RawClient, running

CONTENT = bytes(range(256)) * 40
MODIFIED = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"


class Files:
    """A store with one file, and a WSGI application that answers it; ``file`` may be replaced."""

    def __init__(self, root, content=CONTENT):
        self.store = LocalStore(root)
        self.file = self.add(content)

    def add(self, content):
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
def files(tmp_path):
    return Files(tmp_path / "files")


@pytest.fixture
def app(files):
    return TestApp(files)


def test_the_whole_file(app, files):
    # C-FILE-1, C-FILE-3, T-A1
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
    files.store.delete(files.file.key)  # it is not looked at
    app.get("/", headers={"If-None-Match": whole["ETag"]}, status=304)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_file_that_is_gone_or_damaged_is_503(app, files, tmp_path, method):
    path = tmp_path / "files" / files.file.key[:2] / files.file.key[2:]
    for damaged in (CONTENT[::-1], CONTENT[:-1], b"", None):
        path.unlink() if damaged is None else path.write_bytes(damaged)
        answer = app.request("/", method=method, status=503)
        assert answer.headers["Retry-After"] == "5"
        assert method == "HEAD" or answer.text == "storage_unreachable"


EXECUTING = ["script", "style", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet", "xslt"]


@pytest.mark.parametrize("destination", [*EXECUTING, "image", "document", "empty", ""])
def test_our_own_pages_cannot_run_it(app, destination):
    # C-FILE-6, T-A2
    for site in ("same-origin", "same-site", "cross-site", "none", ""):
        refused = site.startswith("same-") and destination in EXECUTING
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": destination, "If-None-Match": '"x"'}
        answer = app.get("/", headers=headers, status=403 if refused else 200)
        assert answer.headers["Vary"] == "Sec-Fetch-Dest, Sec-Fetch-Site"
        assert not refused or answer.text == "not_for_embedding"
        app.head("/", headers=headers, status=answer.status_int)


@pytest.mark.parametrize("stored", ["", "text/plain\r\nX: y", "text/pläin"])
def test_a_type_that_no_header_can_carry(app, files, stored):
    files.file = replace(files.file, content_type=stored)
    assert app.get("/").headers["Content-Type"] == "application/octet-stream"


def test_no_file_stays_open(app, files, tmp_path):
    before = count_open_files(tmp_path)
    for headers in ({}, {"Range": "bytes=1-2"}, {"Range": "bytes=99999-"}, {"If-None-Match": "*"}):
        app.get("/", headers=headers, status="*")
        # That of HEAD is closed before the server asks for its body.
        file_response(Request.blank("/", method="HEAD", headers=headers), files.store, files.file)
        assert count_open_files(tmp_path) == before


BIG = os.urandom(1024) * (24 * 1024)


def test_a_reader_gets_the_old_bytes_whole(tmp_path):
    # C-FILE-8, T-E5
    """Replaced and deleted while the body is under way."""
    files, get = Files(tmp_path / "files", BIG), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    old = files.file
    with running(files) as service, RawClient(service, buffer=65536) as slow, RawClient(service) as other:
        slow.send(get)
        assert slow.socket.recv(1, socket.MSG_PEEK) == b"H"
        files.file = files.add(b"new")
        files.store.delete(old.key)
        assert other.ask(get).body == b"new"
        answer = slow.answer()
    assert answer.body == BIG
    assert answer.fields["etag"] == f'"{old.sha256}"'


def test_only_a_whole_public_file_is_left_to_the_proxy(tmp_path):
    files = Files(tmp_path / "files")
    proxied = LocalStore(tmp_path / "files", proxy_location="/_files/")

    def get(file, store=proxied, **environ):
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


def test_a_time_without_a_zone_is_a_mistake(files):
    with pytest.raises(ValueError, match="time zone"):
        replace(files.file, modified=datetime(2026, 1, 1))  # noqa: DTZ001 - that is the mistake


def test_the_servers_wrapper_is_used_and_a_failing_one_leaves_no_file_open(files, tmp_path):
    def wrapper(file, size):
        calls.append((file.tell(), size))
        raise RuntimeError

    calls = []
    before = count_open_files(tmp_path)
    request = Request.blank("/", headers={"Range": "bytes=7-9"}, environ={"wsgi.file_wrapper": wrapper})
    with pytest.raises(RuntimeError):
        file_response(request, files.store, files.file)
    assert calls == [(7, 256 * 1024)]
    assert count_open_files(tmp_path) == before
