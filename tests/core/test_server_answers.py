import errno
import logging
import socket
import tempfile
import threading

import pytest
from waitress import buffers, wasyncore
from waitress.channel import HTTPChannel

from modhub.base.body_rules import BodyRules
from modhub.server.channel import Channel
from modhub_testing.running_server import RawClient, raw_request, running, wait_until_checked
from tests.races import at_once, until


def app(environ, start_response):
    path, headers, body = environ["PATH_INFO"], [("Content-Type", "text/plain")], [b"page"]
    if path == "/raise":
        raise LookupError("secret detail")
    if path == "/large":
        body = [b"x" * 3_000_000]
    if path == "/stream":
        start_response("200 OK", headers)
        return iter([b"x" * 100_000] * 30)
    if path == "/latin":
        headers.append(("X-A", "\u20ac"))
    start_response("200 OK", headers)
    return body


def raising():
    yield b"part"
    raise LookupError("secret detail")


@pytest.fixture(scope="module")
def service():
    with running(app, threads=2) as service:
        yield service


@pytest.mark.parametrize("path", ["/raise", "/latin"])
def test_an_exception_of_the_application_is_a_500_in_json_that_tells_nothing(service, path):
    with RawClient(service) as client:
        answer = client.ask(raw_request(path))
        assert answer.status == 500
        assert answer.body == b'{"error": "internal_error", "message": "The server met an unexpected error."}'
        assert client.ended()


def errors(caplog):
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]


FULL = "ALARM: a response cannot be written to the temporary folder (No space left on device)"


def test_an_error_of_the_server_in_the_loop_ends_that_connection_alone(caplog):
    class Broken:
        def find(self, method, path):
            raise LookupError("rules")

    def broken(environ, start_response):
        return app(environ, start_response)

    broken.registry = {BodyRules: Broken()}
    with running(broken) as service, RawClient(service) as other:
        assert other.ask(raw_request()).status == 200
        with RawClient(service) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
            assert client.ended()
        assert len(errors(caplog)) == 1
        assert other.ask(raw_request()).status == 200


def test_a_wake_up_is_never_lost():
    """The loop sleeps for a minute unless it is woken: one lost wake-up and a client times out."""
    with running(app, threads=4, cleanup_interval=60, asyncore_loop_timeout=60, drain_seconds=1) as service:

        def many():
            with RawClient(service, timeout=15) as client:
                for _ in range(300):
                    client.ask(raw_request())

        at_once([many] * 4)


def test_when_the_system_has_no_descriptor_left_the_server_waits_and_goes_on(service, caplog, monkeypatch):
    left = [OSError(errno.EMFILE, "Too many open files") for _ in range(2)]
    real = wasyncore.dispatcher.accept

    def accept(listener):
        if left:
            raise left.pop()
        return real(listener)

    monkeypatch.setattr(wasyncore.dispatcher, "accept", accept)
    with RawClient(service) as client:
        assert client.ask(raw_request()).body == b"page"
    assert [(record.name, record.exc_info) for record in errors(caplog)] == [("modhub.server", None)]


def test_what_the_socket_does_not_take_follows_in_order(service, monkeypatch):
    real = wasyncore.dispatcher.send
    first = [100_000]

    def send(channel, data, **how):
        return real(channel, data[: first.pop()], **how) if first else real(channel, data, **how)

    monkeypatch.setattr(Channel, "send", send, raising=False)
    with RawClient(service) as client:
        answer = client.ask(raw_request("/large"))
        assert answer.status == 200
        assert answer.body == b"x" * 3_000_000
        assert client.ask(raw_request()).body == b"page"


def test_a_full_temporary_folder_cuts_no_answer_and_keeps_no_processor_busy(service, monkeypatch, caplog):
    # C-RUN-28
    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, "No space left on device", "/secret/path")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with RawClient(service, buffer=4096) as client:
        for path in ("/large", "/large", "/stream"):
            client.send(raw_request(path))
            until(lambda: sum(channel.total_outbufs_len for channel in service.channels) >= 200_000)
            wait_until_checked(service)
            (waiting,) = [channel for channel in service.channels if channel.total_outbufs_len]
            assert waiting.total_outbufs_len == sum(map(len, waiting.outbufs)) > 200_000
            assert client.answer().body == b"x" * 3_000_000
            wait_until_checked(service)
            assert not waiting.total_outbufs_len
    assert warnings(caplog) == [FULL]


def test_a_temporary_file_that_takes_no_more_ends_the_connection(service, monkeypatch, caplog):
    class Filling(buffers.TempfileBasedBuffer):
        def append(self, s):
            raise OSError(errno.ENOSPC, "No space left on device", "/secret/path")

    monkeypatch.setattr(buffers, "TempfileBasedBuffer", Filling)
    with RawClient(service, buffer=4096) as client:
        client.send(raw_request("/stream"))
        with pytest.raises(ValueError, match="invalid literal"):  # no last chunk: nobody takes it for the whole
            client.answer()
        assert client.ended()
    assert warnings(caplog) == [FULL]


def test_no_server_header_and_unix_sockets(tmp_path):
    path = str(tmp_path / "socket")
    with running(app, unix_socket=path, listen=None) as service:
        assert service.addresses == [("unix", path)]
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b"GET / HTTP/1.0\r\nHost: a\r\n\r\n")
            answer = b"".join(iter(lambda: client.recv(1000), b""))
    assert answer.endswith(b"page")
    assert b"server:" not in answer.lower()


def test_urgent_data_is_no_reason_to_wake_up(service, caplog, monkeypatch):
    calls = []
    monkeypatch.setattr(Channel, "readable", lambda self: calls.append(1) or HTTPChannel.readable(self))
    with RawClient(service) as client:
        assert client.ask(raw_request()).body == b"page"
        client.socket.send(b"!", socket.MSG_OOB)
        threading.Event().wait(0.5)
        assert len(calls) < 100
        with pytest.raises(ConnectionError):
            client.ended()
    assert not caplog.records
