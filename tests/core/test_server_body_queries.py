"""The server asks the application before it accepts a large body (ADR 010)."""

import json
import threading
from types import SimpleNamespace

import pytest

from modhub.base.body_rules import ASKED_ABOVE_BYTES, BodyRules, IBodyRules
from modhub.server import channel
from modhub_testing.running_server import Clock, RawClient, running, wait_until_checked

MB = 1024 * 1024
LARGE = 64 * MB


class App:
    """Wants every body but one with ``Authorization: bad``, and tells what it was asked and what came."""

    def __init__(self):
        rules = BodyRules()
        rules.add(["POST"], "/owner", LARGE, "Authorization")
        rules.add(["POST"], "/small", ASKED_ABOVE_BYTES, "Authorization")
        self.registry = SimpleNamespace(queryUtility=lambda kind: rules if kind is IBodyRules else None)
        self.asked = []
        self.done = 0

    def __call__(self, environ, start_response):
        path, state = environ["PATH_INFO"], environ.get("modhub.body")
        if state == "expected":
            self.asked.append((path, len(environ["wsgi.input"].read())))
        status = "401 Unauthorized" if state == "unread" or environ.get("HTTP_AUTHORIZATION") == "bad" else "200 OK"
        if state == "expected" and status == "200 OK" and path != "/done":
            start_response("100 Continue", [])
            return []
        self.done += path == "/done"
        stream = environ["wsgi.input"]
        seen = {"path": path, "size": sum(len(piece) for piece in iter(lambda: stream.read(65536), b""))}
        body = json.dumps(seen).encode()
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]


@pytest.fixture
def app():
    return App()


@pytest.fixture
def service(app):
    with running(app) as service:
        yield service
    assert service.adj.body_bytes == 0


def post(path, *lines, version="1.1"):
    return "\r\n".join([f"POST {path} HTTP/{version}", "Host: a", *lines, "", ""]).encode()


def chunks(size, piece=65536):
    sizes = [min(piece, size - at) for at in range(0, size, piece)]
    return b"".join(b"%x\r\n%s\r\n" % (length, b"x" * length) for length in sizes) + b"0\r\n\r\n"


def seen(answer):
    return answer.status, json.loads(answer.body)["size"]


@pytest.mark.parametrize("path", ["/owner", "/without/a/rule"])
@pytest.mark.parametrize(
    ("framing", "version"),
    [
        (f"Content-Length: {ASKED_ABOVE_BYTES + 1}", "1.1"),
        (f"Content-Length: {ASKED_ABOVE_BYTES + 1}", "1.0"),
        ("Transfer-Encoding: chunked", "1.1"),
    ],
)
def test_a_large_body_is_refused_before_any_of_it_is_sent(app, service, path, framing, version):
    # C-ERR-20, T-D15
    with RawClient(service) as client:
        answer = client.ask(post(path, "Authorization: bad", framing, version=version))
        assert (answer.status, answer.fields["connection"]) == (401, "close")
        assert app.asked == [(path, 0)]


@pytest.mark.parametrize("path", ["/owner", "/small", "/without/a/rule"])
def test_a_small_body_is_not_asked_about(app, service, path):
    with RawClient(service) as client:
        for size in (1, 5_000, ASKED_ABOVE_BYTES):
            head = post(path, "Authorization: x", f"Content-Length: {size}")
            assert seen(client.ask(head + b"x" * size)) == (200, size)
            client.send(head)
            assert seen(client.ask(b"x" * size)) == (200, size)
    assert app.asked == []


@pytest.mark.parametrize("size", [0, 1, 30_000])
def test_a_chunked_body_that_comes_with_its_head_is_not_asked_about(app, service, size):
    with RawClient(service) as client:
        for _ in range(2):
            head = post("/owner", "Authorization: x", "Transfer-Encoding: chunked")
            assert seen(client.ask(head + chunks(size))) == (200, size)
    assert app.asked == []


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("size", [ASKED_ABOVE_BYTES + 1, 5_000_000])
def test_a_large_body_arrives_whole_and_the_client_notices_nothing(app, service, together, chunked, size):
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
    head, body = post("/owner", "Authorization: x", framing), chunks(size) if chunked else b"x" * size
    with RawClient(service) as client:
        for _ in range(3):
            if together:
                client.send(head + body)
            else:
                client.send(head)
                client.send(body)
            answer = client.answer()
            assert seen(answer) == (200, size)
            assert "connection" not in answer.fields
    assert [path for path, _ in app.asked] == ["/owner"] * 3


def test_a_large_body_of_http_10_arrives_whole_without_an_interim_answer(app, service):
    with RawClient(service) as client:
        head = post("/owner", "Authorization: x", "Content-Length: 1000000", version="1.0")
        client.send(head + b"x" * 1_000_000)
        assert client.stream.readline().startswith(b"HTTP/1.0 200 ")
    assert len(app.asked) == 1


def test_requests_in_a_row_are_answered_in_their_order(app, service):
    size = 900_000
    first, large = (
        post("/first", "Content-Length: 3") + b"abc",
        post("/owner", "Authorization: x", f"Content-Length: {size}"),
    )
    chunked = post("/owner", "Authorization: x", "Transfer-Encoding: chunked") + chunks(size)
    with RawClient(service) as client:
        client.send(first + large + b"x" * size + first + chunked + first)
        assert [seen(client.answer()) for _ in range(5)] == [(200, 3), (200, size), (200, 3), (200, size), (200, 3)]
    assert len(app.asked) == 2


@pytest.mark.parametrize("chunked", [True, False])
def test_who_is_refused_while_sending_blindly_still_reads_the_answer(app, service, chunked):
    size = 20_000_000
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
    with RawClient(service) as client:
        client.send(post("/owner", "Authorization: bad", framing) + (chunks(size) if chunked else b"x" * size))
        assert client.answer().status == 401
        client.send(post("/first", "Content-Length: 0"))
        client.socket.shutdown(1)
        assert client.ended()
    assert len(app.asked) == 1


def test_of_a_refused_body_nothing_is_held_while_it_is_thrown_away(app, service):
    with RawClient(service) as client:
        client.send(post("/owner", "Authorization: bad", "Transfer-Encoding: chunked") + chunks(5_000_000)[:60_000])
        assert client.answer().status == 401
        client.send(b"x" * 1_000_000)
        wait_until_checked(service)
        assert service.adj.body_bytes == 0


def test_what_needs_no_body_is_done_once(app, service):
    with RawClient(service) as client:
        answer = client.ask(post("/done", "Content-Length: 5000000"))
        assert (answer.status, answer.fields["connection"]) == (200, "close")
        client.send(b"x" * 5_000_000)
        client.socket.shutdown(1)
        assert client.ended()
    assert app.done == 1


def test_broken_framing_behind_the_head_is_400_all_the_same(app, service):
    with RawClient(service) as client:
        head = post("/owner", "Authorization: x", "Transfer-Encoding: chunked")
        assert client.ask(head + b"zz\r\n").status == 400
    with RawClient(service) as client:
        client.send(head + b"5\r\nabc")
        threading.Event().wait(0.2)
        client.send(b"defgh\r\n")
        assert client.answer().status == 400
    assert len(app.asked) == 1


def test_the_time_for_a_body_begins_when_the_application_wants_it(monkeypatch):
    app, clock = App(), Clock(monkeypatch)

    def slow(environ, start_response):
        if environ.get("modhub.body") == "expected":
            clock.forward(1000)
        return app(environ, start_response)

    slow.registry = app.registry
    head = post("/owner", "Authorization: x", "Content-Length: 1000000")
    monkeypatch.setattr(channel, "GRACE_SECONDS", 500)
    with running(slow, header_seconds=500) as service:
        with RawClient(service) as client:
            client.send(head)
            while not app.asked:
                threading.Event().wait(0.01)
            clock.forward(200)
            wait_until_checked(service)
            assert seen(client.ask(b"x" * 1_000_000)) == (200, 1_000_000)


def test_an_application_without_rules_is_not_asked():
    def plain(environ, start_response):
        size = str(len(environ["wsgi.input"].read())).encode()
        start_response("200 OK", [("Content-Length", str(len(size)))])
        return [size]

    with running(plain) as service, RawClient(service) as client:
        assert client.ask(post("/x", "Content-Length: 3000000") + b"x" * 3_000_000).body == b"3000000"
        head = post("/x", "Transfer-Encoding: chunked", "Expect: 100-continue")
        assert client.ask(head).status == 100
        assert client.ask(chunks(3_000_000)).body == b"3000000"


def test_a_client_that_hangs_up_while_the_application_is_asked_harms_nobody(app, service):
    for _ in range(50):
        with RawClient(service) as client:
            client.send(post("/owner", "Authorization: x", "Content-Length: 1000000") + b"x" * 50_000)
    with RawClient(service) as client:
        head = post("/owner", "Authorization: x", "Content-Length: 1000000")
        assert seen(client.ask(head + b"x" * 1_000_000)) == (200, 1_000_000)
    wait_until_checked(service)
    assert service.adj.body_bytes == 0
