import json
import socket
import struct
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from modhub.base.body_rules import DEFAULT_LIMIT, BodyRules, IBodyRules
from modhub.server import channel
from modhub.server.channel import Channel
from modhub_testing.running_server import Clock, RawClient, running, wait_until_checked

LIMIT = 1000


class App:
    """Answers with what it received; 401 for an unread body, 413 for one over its limit."""

    def __init__(self):
        rules = BodyRules()
        rules.add(["POST"], "/owner/{id}", LIMIT, "Authorization")
        rules.add(["POST"], "/key/{id}", LIMIT, "X-Api-Key")
        rules.add(["POST"], "/roomy/{id}", 64 * 1024 * 1024, "Authorization")
        rules.add(["POST"], "/large", 64 * 1024 * 1024)
        self.asked = 0
        self.registry = SimpleNamespace(queryUtility=lambda kind: rules if kind is IBodyRules else None)

    def __call__(self, environ, start_response):
        stream = environ["wsgi.input"]
        self.asked += environ.get("modhub.body") == "expected"
        if environ.get("modhub.body") == "expected" and environ.get("HTTP_AUTHORIZATION") != "bad":
            start_response("100 Continue", [("X-Of", "no interest")])
            return []
        size = sum(len(piece) for piece in iter(lambda: stream.read(65536), b""))
        notes = {key: value for key, value in environ.items() if key.startswith("modhub.body")}
        status = {"bad": "401 Unauthorized", "big": "413 Too Large"}.get(environ.get("HTTP_AUTHORIZATION"), "200 OK")
        status = {"modhub.body": "401 Unauthorized", "modhub.body_limit_exceeded": "413 Too Large"}.get(
            next(iter(notes), ""), status
        )
        stream.seek(0)
        seen = {
            "size": size,
            "notes": notes,
            "length": environ.get("CONTENT_LENGTH"),
            "seekable": environ["webob.is_body_seekable"],
        }
        body = json.dumps(seen).encode()
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]


class Filter:
    def __init__(self, application):
        self.application = application

    def __call__(self, environ, start_response):
        return self.application(environ, start_response)


@pytest.fixture(scope="module")
def service():
    with running(Filter(App())) as service:
        yield service


def post(path, *lines, body=b""):
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: a", *lines, "", ""]).encode() + body


def chunks(size, piece=100):
    return b"".join(
        b"%x\r\n%s\r\n" % (min(piece, size - at), b"x" * min(piece, size - at)) for at in range(0, size, piece)
    )


def seen(answer):
    return json.loads(answer.body)


@pytest.mark.parametrize("path", ["/owner/1", "/owner//1/", "/%6fwner/1", "/key/1"])
@pytest.mark.parametrize(
    "framing", [f"Content-Length: {LIMIT * 1000}", "Content-Length: 5", "Transfer-Encoding: chunked"]
)
@pytest.mark.parametrize("expect", ["Expect: 100-continue", "X: y"])
def test_without_the_credential_the_body_is_not_awaited(service, path, framing, expect):
    with RawClient(service) as client:
        answer = client.ask(post(path, framing, expect))
        assert answer.status == 401
        assert seen(answer) == {"size": 0, "notes": {"modhub.body": "unread"}, "length": "0", "seekable": True}
        assert answer.fields["connection"] == "close"
        assert client.ended()


@pytest.mark.parametrize("expect", ["Expect: 100-continue", "X: y"])
@pytest.mark.parametrize("path", ["/owner/1", "/other"])
def test_a_length_over_the_limit_is_not_awaited(service, path, expect):
    # T-D3
    limit = LIMIT if path == "/owner/1" else DEFAULT_LIMIT
    with RawClient(service) as client:
        answer = client.ask(post(path, "Authorization: x", f"Content-Length: {limit + 1}", expect))
        assert answer.status == 413
        assert seen(answer)["notes"] == {"modhub.body_limit_exceeded": limit}
        assert answer.fields["connection"] == "close"
        assert client.ended()


def test_the_limit_itself_is_taken_by_length_and_chunked_on_one_connection(service):
    credential = "Authorization: x"
    with RawClient(service) as client:
        for size in (0, 1, LIMIT):
            answer = client.ask(post("/owner/1", credential, f"Content-Length: {size}", body=b"x" * size))
            assert seen(answer) == {"size": size, "notes": {}, "length": str(size), "seekable": True}
            chunked = chunks(size) + b"0\r\n\r\n"
            answer = client.ask(post("/owner/1", credential, "Transfer-Encoding: chunked", body=chunked))
            assert seen(answer) == {"size": size, "notes": {}, "length": str(size), "seekable": True}
            assert "connection" not in answer.fields


def test_a_chunked_body_is_refused_as_it_passes_the_limit_not_at_its_end(service):
    # C-UP-12, T-D3
    with RawClient(service) as client:
        client.send(post("/owner/1", "Authorization: x", "Transfer-Encoding: chunked", body=chunks(LIMIT)))
        client.send(b"1\r\nx")
        answer = client.answer()
        assert answer.status == 413
        assert seen(answer)["notes"] == {"modhub.body_limit_exceeded": LIMIT}
        assert client.ended()


def test_a_large_body_of_either_framing_arrives_whole(service):
    size = 5_000_000
    with RawClient(service) as client:
        assert seen(client.ask(post("/large", f"Content-Length: {size}", body=b"x" * size)))["size"] == size
        body = chunks(size, 70_001) + b"0\r\n\r\n"
        assert seen(client.ask(post("/large", "Transfer-Encoding: chunked", body=body)))["size"] == size


def test_100_continue_is_sent_when_the_body_will_be_taken(service):
    with RawClient(service) as client:
        head = post("/owner/1", "Authorization: x", "Content-Length: 3", "Expect: 100-continue")
        assert client.ask(head).status == 100
        assert seen(client.ask(b"abc"))["size"] == 3
        assert client.ask(head).status == 100
        assert seen(client.ask(b"abc"))["size"] == 3


@pytest.mark.parametrize("framing", ["Content-Length: 900", "Transfer-Encoding: chunked"])
def test_a_rejected_client_gets_no_100(service, framing):
    # C-ERR-19
    with RawClient(service) as client:
        answer = client.ask(post("/owner/1", "Authorization: bad", framing, "Expect: 100-continue"))
        assert (answer.status, answer.fields["connection"]) == (401, "close")
        assert seen(answer)["notes"] == {"modhub.body": "expected"}
        client.send(b"x" * 900 + post("/other", "Content-Length: 0"))
        client.socket.shutdown(1)
        assert client.ended()


@pytest.mark.parametrize("size", [3, 900, 5_000_000])
def test_a_body_that_comes_before_it_is_asked_for_is_taken_or_thrown_away(service, size):
    body, path = b"x" * size, "/owner/1" if size <= LIMIT else "/roomy/1"
    with RawClient(service) as client:
        head = post(path, "Authorization: x", f"Content-Length: {size}", "Expect: 100-continue")
        answer = client.ask(head + body)  # a body that came with the head needs no 100
        assert seen(client.answer() if answer.status == 100 else answer)["size"] == size
        head = post(path, "Authorization: bad", f"Content-Length: {size}", "Expect: 100-continue")
        assert client.ask(head + body).status == 401
        client.socket.shutdown(1)
        assert client.ended()


def test_the_time_for_a_body_begins_when_it_is_asked_for(monkeypatch):
    app, clock = App(), Clock(monkeypatch)

    def slow(environ, start_response):
        if environ.get("modhub.body") == "expected":
            clock.forward(1000)
        return app(environ, start_response)

    slow.registry = app.registry
    monkeypatch.setattr(channel, "GRACE_SECONDS", 500)
    with running(slow, header_seconds=500) as service, RawClient(service) as client:
        head = post("/owner/1", "Authorization: x", "Content-Length: 3", "Expect: 100-continue")
        assert client.ask(head).status == 100
        clock.forward(200)
        wait_until_checked(service)
        assert seen(client.ask(b"abc"))["size"] == 3
        assert client.ask(head).status == 100
        clock.forward(600)
        assert client.answer().status == 408


def test_no_100_when_there_is_no_body_to_come(service):
    with RawClient(service) as client:
        assert (
            client.ask(post("/owner/1", "Authorization: x", "Content-Length: 0", "Expect: 100-continue")).status == 200
        )


@pytest.mark.parametrize("lines", [["Content-Length: 20000000"], ["Transfer-Encoding: chunked"]])
def test_a_client_that_sends_20_mb_blindly_still_reads_the_answer(service, lines):
    # C-ERR-19
    with RawClient(service) as client:
        body = b"x" * 20_000_000 if "Length" in lines[0] else chunks(20_000_000, 65536)
        client.send(post("/owner/1", *lines, body=body))
        assert client.answer().status == 401
        client.socket.shutdown(1)
        assert client.ended()


def test_what_comes_after_an_early_answer_is_no_request(service):
    with RawClient(service) as client:
        client.send(post("/owner/1", "Content-Length: 5") + post("/x", "Content-Length: 0"))
        assert client.answer().status == 401
        client.send(post("/x", "Content-Length: 0"))
        assert client.ended()


@pytest.mark.parametrize(
    ("name", "value", "sends"), [("DISCARD_BYTES", 3_000_000, True), ("DISCARD_SECONDS", 0.3, False)]
)
def test_discarding_has_a_measure_and_a_time(monkeypatch, name, value, sends):
    # C-ERR-19
    monkeypatch.setattr(channel, name, value)
    with running(App()) as service, RawClient(service) as client:
        client.send(post("/owner/1", "Content-Length: 100000000"))
        assert client.answer().status == 401
        with pytest.raises(ConnectionError):
            send_on(client, pause=0 if sends else 0.02)


def send_on(client, pause):
    for _ in range(2000):
        client.send(b"x" * 50_000)
        threading.Event().wait(pause)


def test_a_413_of_the_application_closes_too(service):
    with RawClient(service) as client:
        answer = client.ask(post("/owner/1", "Content-Length: 3", "Authorization: big", body=b"abc"))
        assert (answer.status, answer.fields["connection"]) == (413, "close")
        assert client.ended()


def test_absent_and_bad_credential_are_answered_alike(service):
    answers = []
    for lines in ([], ["Authorization: bad"]):
        with RawClient(service) as client:
            answer = client.ask(post("/owner/1", "Content-Length: 3", *lines, body=b"abc"))
            answers.append(
                (answer.status, {k: v for k, v in answer.fields.items() if k not in ("date", "content-length")})
            )
            assert client.ended()
    assert answers[0] == answers[1]


def test_a_body_that_cannot_be_spooled_is_answered_at_once(service, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with RawClient(service) as client:
        client.send(post("/large", "Content-Length: 10000000", body=b"x" * 2_000_000))
        assert seen(client.answer())["notes"] == {"modhub.body_failed": True}
        assert client.ended()
    monkeypatch.undo()
    with RawClient(service) as client:
        assert seen(client.ask(post("/large", "Content-Length: 2000000", body=b"x" * 2_000_000)))["size"] == 2_000_000


class FillingDisk:
    def __init__(self, file):
        self.file = file
        self.room = 3

    def write(self, data):
        self.room -= 1
        if self.room < 0:
            raise OSError(28, "No space left on device")
        return self.file.write(data)

    def close(self):
        self.file.close()
        raise OSError(28, "No space left on device")

    def __getattr__(self, name):
        return getattr(self.file, name)


def test_a_disk_that_fills_while_the_body_arrives(service, monkeypatch):
    real = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda mode: FillingDisk(real(mode)))
    with RawClient(service) as client:
        client.send(post("/large", "Transfer-Encoding: chunked", body=chunks(10_000_000, 60_000)))
        assert seen(client.answer())["notes"] == {"modhub.body_failed": True}


def test_16_uploads_at_once_are_spooled_to_disk_not_to_memory(service):
    size, kept = 8_000_000, []
    clients = [RawClient(service, timeout=60) for _ in range(16)]
    before = resident()
    for client in clients:
        client.send(post("/large", f"Content-Length: {size}", body=b"x" * (size - 1)))
    grown = resident() - before
    for client in clients:
        kept.append(seen(client.ask(b"x"))["size"])
        client.__exit__()
    assert kept == [size] * 16
    assert grown < 40_000_000


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_what_a_worker_says_is_written_by_the_loop(monkeypatch):
    """A worker that wrote the 100 itself would close a reset connection while the loop uses it."""
    writers = []
    flush = Channel._flush_some

    def watched(self, do_close=True):
        if do_close:
            writers.append(threading.current_thread().name)
        return flush(self, do_close=do_close)

    monkeypatch.setattr(Channel, "_flush_some", watched)
    with running(App()) as service:
        for _ in range(5):
            with RawClient(service) as client:
                head = post("/owner/1", "Authorization: x", "Content-Length: 3", "Expect: 100-continue")
                assert client.ask(head).status == 100
                assert seen(client.ask(b"abc"))["size"] == 3
    assert len(writers) >= 5
    assert not [name for name in writers if name.startswith("waitress")]


def test_clients_that_vanish_before_the_100_harm_nobody(service):
    head = post("/owner/1", "Authorization: x", "Content-Length: 3", "Expect: 100-continue")
    for _ in range(50):
        with RawClient(service) as client:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.send(head)
    with RawClient(service) as client:
        assert client.ask(head).status == 100
        assert seen(client.ask(b"abc"))["size"] == 3
