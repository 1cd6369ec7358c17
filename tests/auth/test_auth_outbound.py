"""Outgoing requests of accounts: only to configured hosts, short, and with a timeout."""

import socket
import threading
from contextlib import suppress
from time import monotonic

import pytest

from modhub_auth.signin import openid

from .conftest import judge

pytestmark = pytest.mark.slow

WAIT = 30


@pytest.fixture
def listening():
    """``listening(talk)``: the port of a server that talks like this to every client."""
    closing, threads, sockets = threading.Event(), [], []

    def begin(talk):
        server = socket.create_server(("127.0.0.1", 0))
        server.settimeout(0.1)
        sockets.append(server)

        def serve():
            while not closing.is_set():
                with suppress(OSError):
                    held, _ = server.accept()
                    with held, suppress(OSError):
                        talk(held, closing)

        thread = threading.Thread(target=serve)
        thread.start()
        threads.append(thread)
        return int(server.getsockname()[1])

    yield begin
    closing.set()
    for thread in threads:
        thread.join(WAIT)
    for server in sockets:
        server.close()


def answers(head, body):
    def talk(held, closing):
        held.recv(65536)
        held.sendall(head)
        while not closing.is_set():
            held.sendall(body)

    return talk


@pytest.mark.parametrize(
    ("talk", "status"),
    [
        (answers(b"HTTP/1.1 200 OK\r\n\r\n", b"x\n" * 5000), 403),
        (answers(b"HTTP/1.1 200 OK\r\n", b"X-Header: x\r\n" * 500), 503),
    ],
    ids=["body", "headers"],
)
def test_a_platforms_response_has_a_time_limit(provider, listening, talk, status):
    provider.endpoint = f"http://127.0.0.1:{listening(talk)}/openid/login"
    began = monotonic()
    assert judge(provider) == status
    assert monotonic() - began < openid.PROVIDER_TIMEOUT_SECONDS + WAIT


@pytest.mark.parametrize("status", [302, 307])
def test_a_platform_leads_nowhere_else(provider, listening, status):
    reached = threading.Event()

    def elsewhere(held, _closing):
        reached.set()

    other = listening(elsewhere)

    def talk(held, _closing):
        held.recv(65536)
        head = f"HTTP/1.1 {status} Away\r\nLocation: http://127.0.0.1:{other}/\r\nContent-Length: 0\r\n\r\n"
        held.sendall(head.encode())

    provider.endpoint = f"http://127.0.0.1:{listening(talk)}/openid/login"
    assert judge(provider) == 503
    assert not reached.wait(0.3)
