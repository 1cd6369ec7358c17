import io

import pytest

from modhub_testing.running_server import RawClient, raw_request, running
from tests.races import until

SIZE = 24_000_000


class App:
    """``/file`` sends a file from ``start`` on, ``length`` bytes of it; everything else is a page."""

    def __init__(self, path, opened=open):
        self.path = path
        self.opened = opened

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] != "/file":
            start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "4")])
            return [b"page"]
        start, length = map(int, environ["QUERY_STRING"].split(","))
        file = self.opened(self.path, "rb")
        file.seek(start)
        start_response("200 OK", [("Content-Type", "a/b"), ("Content-Length", str(length))])
        return environ["wsgi.file_wrapper"](file)


@pytest.fixture(scope="module")
def content():
    return b"".join(b"%015d\n" % n for n in range(SIZE // 16))


@pytest.fixture(scope="module")
def path(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("download") / "file"
    path.write_bytes(content)
    return path


class Reading(io.BufferedReader):
    """No plain file: must be read, not sent by its descriptor."""


def opened_for_reading(path, mode):
    return Reading(io.FileIO(path, mode))


@pytest.mark.parametrize("opened", [open, opened_for_reading])
def test_whole_and_in_parts_with_the_connection_kept(path, content, opened):
    with running(App(path, opened)) as service, RawClient(service) as client:
        for start, length in ((0, SIZE), (7, 1), (SIZE - 5, 5), (1_000_001, 3_000_000), (0, 0)):
            answer = client.ask(raw_request(f"/file?{start},{length}"))
            assert answer.body == content[start : start + length]
        assert client.ask(raw_request()).body == b"page"


@pytest.mark.parametrize("opened", [open, opened_for_reading])
def test_a_file_cut_short_under_way_ends_the_connection_not_the_server(tmp_path, content, opened, caplog):
    path = tmp_path / "cut"
    path.write_bytes(content)
    with running(App(path, opened)) as service:
        with RawClient(service, buffer=4096) as client:
            client.send(raw_request(f"/file?0,{SIZE}"))
            client.socket.recv(1000)
            with path.open("r+b") as file:
                file.truncate(100)
            assert taken(client) < SIZE
        with RawClient(service) as client:
            assert client.ask(raw_request()).body == b"page"
    assert "has become shorter" in caplog.text


def taken(client):
    """Bytes that still arrive before the connection ends, however it ends."""
    size = 0
    try:
        while piece := client.socket.recv(1_000_000):
            size += len(piece)
    except ConnectionError:
        pass
    return size


def test_a_reader_that_goes_away_leaves_nothing_open(path):
    with running(App(path)) as service:
        for _ in range(20):
            with RawClient(service, buffer=4096) as client:
                client.send(raw_request(f"/file?0,{SIZE}"))
                client.socket.recv(10)
        until(lambda: len(service.map) == 2)
