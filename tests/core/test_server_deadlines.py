import contextlib
import threading

import pytest

from modhub.server import channel
from modhub_testing.running_server import Clock, RawClient, raw_request, running, wait_until_checked


def app(environ, start_response):
    environ["wsgi.input"].read()
    size = 30_000_000 if environ["PATH_INFO"] == "/long" else 2
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(size))])
    return [b"x" * size]


OFTEN = {"cleanup_interval": 0.02, "asyncore_loop_timeout": 0.02}


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_half_a_head_is_answered_408_after_the_deadline_however_it_trickles():
    # T-D2
    with running(app, header_seconds=0.5) as service, RawClient(service) as client:
        client.send(b"\r\n\r\nGET / HTTP/1.1\r\n")
        stop = threading.Event()

        def trickle():
            with contextlib.suppress(ConnectionError):  # answered, and the connection has ended meanwhile
                while not stop.wait(0.05):
                    client.send(b"X: a\r\n")

        thread = threading.Thread(target=trickle)
        thread.start()
        answer = client.answer()
        stop.set()
        thread.join()
        assert answer.status == 408
        assert b'"request_timeout"' in answer.body
        assert client.ended()


def test_a_body_must_come_at_the_least_rate_once_the_grace_is_over(clock, monkeypatch):
    # T-D2
    monkeypatch.setattr(channel, "GRACE_SECONDS", 400)
    settings = {"body_min_rate": 5, "header_seconds": 200, **OFTEN}
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 25000\r\n\r\n"
    with running(app, **settings) as service, RawClient(service) as slow, RawClient(service) as quick:
        slow.send(head)
        quick.send(head)
        wait_until_checked(service)
        clock.forward(300)
        wait_until_checked(service)
        for _ in range(4):
            quick.send(b"x" * 5000)
            wait_until_checked(service)
            clock.forward(300)
            wait_until_checked(service)
        quick.send(b"x" * 5000)
        assert quick.answer().status == 200
        assert slow.answer().status == 408
        assert slow.ended()


@pytest.mark.parametrize("later", [0, 100])
def test_a_lump_at_the_beginning_buys_no_silence_and_no_trickle(clock, later):
    # T-D2
    settings = {"body_min_rate": 1000, "header_seconds": 2000, **OFTEN}
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n"
    with running(app, **settings) as service, RawClient(service) as client:
        client.send(head + b"x" * 5_000_000)
        wait_until_checked(service)
        for _ in range(8):
            clock.forward(10)
            client.send(b"x" * later)
            wait_until_checked(service)
        assert client.answer().status == 408
        assert client.ended()


def test_a_connection_that_takes_nothing_is_closed_and_a_slow_one_is_not(clock):
    # T-D2
    with running(app, write_seconds=600, threads=2, **OFTEN) as service:
        request = raw_request("/long")
        with RawClient(service, buffer=4096) as stuck, RawClient(service, buffer=65536) as slow:
            stuck.send(request)
            slow.send(request)
            taken = 0
            for turn in range(1, 6):
                while taken < turn * 400_000:
                    taken += len(slow.socket.recv(20_000))
                wait_until_checked(service)
                clock.forward(400)
                wait_until_checked(service)
            with pytest.raises(ConnectionError):
                drain(stuck)
            while taken < 30_000_000:
                piece = slow.socket.recv(1_000_000)
                assert piece
                taken += len(piece)


def drain(client):
    received = 0
    while piece := client.socket.recv(1_000_000):
        received += len(piece)
    if received < 30_000_000:
        raise ConnectionError


def test_at_the_limit_of_connections_the_longest_waiting_make_room():
    with running(app, connection_limit=40, header_seconds=120) as service:
        crowd = [RawClient(service) for _ in range(60)]
        with RawClient(service, timeout=60) as client:
            assert client.ask(raw_request()).status == 200
        for other in crowd:
            other.__exit__()


def test_a_silent_connection_is_closed():
    with running(app, header_seconds=0.3) as service, RawClient(service) as client:
        assert client.ended()
