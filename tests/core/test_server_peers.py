"""The connection limit per peer, and which connections are closed."""

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from modhub.base.body_rules import BodyRules
from modhub.base.peers import peer_of_address
from modhub.server import channel
from modhub.server.deadlines import queued_bytes
from modhub.server.loop import Server
from modhub_testing.running_server import Clock, RawClient, running, wait_until_checked

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6000000\r\n\r\n"
LONG = b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n"
PROXY = {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": "x-forwarded-for"}
PATIENT = {"header_seconds": 10_000, "channel_timeout": 10_000, "body_grace_seconds": 10_000, "write_seconds": 10_000}
OFTEN = {"cleanup_interval": 0.02, "asyncore_loop_timeout": 0.02}


class App:
    """``/long`` is 5 MB, ``/wait`` lasts until released, all else is short; ``/healthz`` has priority.

    It accepts every body that it is asked about.
    """

    def __init__(self) -> None:
        self.go = threading.Event()
        self.running = threading.Semaphore(0)
        rules = BodyRules()
        rules.priority_paths = frozenset({"/healthz"})
        self.registry = SimpleNamespace(queryUtility=lambda kind: rules)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/wait":
            self.running.release()
            self.go.wait(30)
        if environ.get("modhub.body") == "expected":
            start_response("100 Continue", [])
            return []
        body = b"x" * (5_000_000 if environ["PATH_INFO"] == "/long" else 2)
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
        return [body]


@pytest.fixture
def app() -> Iterator[App]:
    app = App()
    yield app
    app.go.set()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that gets no place is refused soon."""
    monkeypatch.setattr(channel, "PEER_SLOT_SECONDS", 0.3)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class From(RawClient):
    """A client with another loopback address than 127.0.0.1."""

    def __init__(self, service: Server, address: str) -> None:
        self.socket = socket.create_connection(service.addresses[0], timeout=20, source_address=(address, 0))
        self.stream = self.socket.makefile("rb")


def kept(service: Server, *clients: RawClient) -> list[bool]:
    """Which of these connections the server still serves."""
    served = {channel.addr for channel in service._channels()}
    return [client.socket.getsockname() in served for client in clients]


def forwarded(request: bytes, address: str) -> bytes:
    return request.replace(b"Host: a\r\n", f"Host: a\r\nX-Forwarded-For: {address}\r\n".encode())


def settle(service: Server, clock: Clock, seconds: float = 20) -> None:
    """Let some time pass, once all is answered; before and after it every connection is looked at."""
    wait_until_checked(service)
    while any(channel.requests or has_input(channel) for channel in service._channels()):
        wait_until_checked(service)
    before = None
    while (unread := unread_responses(service)) != before:
        before = unread
        wait_until_checked(service)
    clock.forward(seconds)
    wait_until_checked(service)


def unread_responses(service: Server) -> list[tuple[int, int]]:
    """How far each unread response has come: the loop goes on until the kernel is full."""
    return [
        (channel.sent_bytes, queued_bytes(channel.socket))
        for channel in service._channels()
        if channel.total_outbufs_len
    ]


def has_input(channel: Any) -> bool:
    """Whether the server has not yet read all that has arrived: a starved loop reads a lump in several turns."""
    return bool(select.select([channel.socket], [], [], 0)[0])


def silent(_client: RawClient) -> None:
    """Send nothing."""


def half_head(client: RawClient) -> None:
    client.send(b"GET / HTTP/1.1\r\nX: ")


def no_body(client: RawClient) -> None:
    client.send(POST)


def lump_and_silence(client: RawClient) -> None:
    client.send(POST + b"x" * 500_000)


def idle(client: RawClient) -> None:
    assert client.ask(GET).status == 200


def unread(client: RawClient) -> None:
    client.send(LONG)


STALLED = [silent, half_head, no_body, lump_and_silence, idle, unread]


@pytest.mark.parametrize("stall", STALLED)
def test_at_the_limit_the_longest_without_progress_gives_way(
    app: App, clock: Clock, stall: Callable[[RawClient], None]
) -> None:
    # T-D13
    with running(app, connections_per_peer=3, **PATIENT, **OFTEN) as service, contextlib.ExitStack() as stack:
        crowd = []
        for _ in range(3):
            crowd.append(stack.enter_context(RawClient(service, buffer=4096)))
            stall(crowd[-1])
            settle(service, clock)
        with RawClient(service) as client:
            assert client.ask(GET).status == 200
            assert kept(service, *crowd) == [False, True, True]
        clock.forward(20)
        wait_until_checked(service)
        crowd[0].stream.read()


def test_a_body_below_the_rate_of_the_last_seconds_gives_way_and_one_above_it_does_not(app: App, clock: Clock) -> None:
    # T-D13
    settings = {"connections_per_peer": 2, "body_min_rate": 100, **PATIENT, **OFTEN}
    with running(app, **settings) as service, RawClient(service) as steady, RawClient(service) as trickle:
        for client in (steady, trickle):
            client.send(POST)
            client.send(b"x" * 100_000)
        for _ in range(6):
            settle(service, clock, 4)
            steady.send(b"x" * 4000)
            trickle.send(b"x" * 40)
        wait_until_checked(service)
        with RawClient(service) as third:
            assert third.ask(GET).status == 200
            assert kept(service, trickle) == [False]
            steady.send(b"x" * (6_000_000 - 124_000))
            assert steady.answer().status == 200


@pytest.mark.usefixtures("impatient")
def test_where_all_make_progress_one_more_is_refused_and_the_health_check_is_not(app: App) -> None:
    with running(app, connections_per_peer=3, threads=3, **OFTEN) as service, contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(RawClient(service)) for _ in range(3)]
        for client in crowd:
            client.send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            assert app.running.acquire(timeout=20)
        for _ in range(4):
            with RawClient(service) as more:
                answer = more.ask(GET)
                assert (answer.status, answer.fields["retry-after"]) == (503, "5")
                assert b'"busy"' in answer.body
                assert answer.fields["x-content-type-options"] == "nosniff"
            with RawClient(service) as probe:
                assert probe.ask(HEALTH).status == 200
        with From(service, "127.0.0.9") as other:
            other.send(GET)
            app.go.set()
            assert other.answer().status == 200, "another peer has places of its own"
        assert [client.answer().status for client in crowd] == [200] * 3


def test_a_flood_of_silent_connections_stays_within_twice_the_limit_and_then_within_it(app: App, clock: Clock) -> None:
    with running(app, connections_per_peer=4, **PATIENT, **OFTEN) as service, contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(RawClient(service)) for _ in range(40)]
        with RawClient(service) as client:
            assert client.ask(HEALTH).status == 200
        assert len(service._channels()) <= 8
        settle(service, clock)
        assert len(service._channels()) <= 4
        assert kept(service, *crowd)[:36] == [False] * 36


def test_a_new_request_on_a_kept_connection_needs_no_second_place(app: App) -> None:
    with running(app, connections_per_peer=1) as service, RawClient(service) as client:
        for _ in range(3):
            assert client.ask(GET).status == 200


def test_a_trusted_proxy_has_no_limit_and_its_callers_have(app: App, clock: Clock) -> None:
    settings = {"connections_per_peer": 2, "threads": 6, **PROXY, **PATIENT, **OFTEN}
    with running(app, **settings) as service, contextlib.ExitStack() as stack:
        proxy = [stack.enter_context(RawClient(service)) for _ in range(9)]
        for client in proxy:
            assert client.ask(forwarded(GET, "192.0.2.1")).status == 200
        settle(service, clock)
        assert len(service._channels()) <= 9
        slow = [stack.enter_context(RawClient(service)) for _ in range(2)]
        for client in slow:
            client.send(forwarded(POST, "192.0.2.2"))
            settle(service, clock)
        with RawClient(service) as client:
            assert client.ask(forwarded(GET, "192.0.2.3")).status == 200
            assert client.ask(forwarded(GET, "192.0.2.2")).status == 200
        answer = slow[0].answer()
        assert (answer.status, answer.fields["connection"]) == (503, "close"), "a proxy is answered, not hung up on"
        assert kept(service, slow[1]) == [True]


@pytest.mark.usefixtures("impatient")
def test_a_proxys_connection_counts_for_the_caller_of_its_latest_request(app: App) -> None:
    settings = {"connections_per_peer": 1, "threads": 3, **PROXY, **OFTEN}
    with running(app, **settings) as service, RawClient(service) as first, RawClient(service) as second:
        assert second.ask(forwarded(GET, "192.0.2.2")).status == 200
        first.send(forwarded(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n", "192.0.2.1"))
        assert app.running.acquire(timeout=20)
        with RawClient(service) as third:
            assert third.ask(forwarded(GET, "192.0.2.3")).status == 200
        assert second.ask(forwarded(GET, "192.0.2.3")).status == 200
        assert second.ask(forwarded(GET, "192.0.2.1")).status == 503
        app.go.set()
        assert first.answer().status == 200


def test_a_request_waits_for_a_place_and_its_body_with_it(app: App) -> None:
    settings = {"connections_per_peer": 1, **PATIENT, **OFTEN}
    with running(app, **settings) as service, RawClient(service) as first, RawClient(service) as second:
        first.send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        assert app.running.acquire(timeout=20)
        second.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n" + b"x" * 100)
        while not any(channel.awaits_slot for channel in service._channels()):
            wait_until_checked(service)
        app.go.set()
        assert first.answer().status == 200
        second.send(b"x" * 299_900 + GET)
        assert [second.answer().status for _ in range(2)] == [200, 200]


def test_a_refusal_takes_no_worker(app: App) -> None:
    with (
        running(app, threads=1, header_seconds=0.5) as service,
        RawClient(service) as first,
        RawClient(service) as second,
    ):
        first.send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        assert app.running.acquire(timeout=20)
        with RawClient(service) as third:
            assert third.ask(b"GET / HTTP/1.1\r\n\r\n").status == 400
            assert third.ended()
        second.send(b"GET / HTTP/1.1\r\n")
        assert second.answer().status == 408
        app.go.set()
        assert first.answer().status == 200


@pytest.mark.usefixtures("impatient")
def test_callers_behind_a_proxy_are_refused_and_their_health_check_is_not(app: App) -> None:
    with running(app, connections_per_peer=1, threads=3, **PROXY) as service, RawClient(service) as first:
        first.send(forwarded(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n", "2001:db8::1"))
        assert app.running.acquire(timeout=20)
        for address, status in (("2001:db8::ffff", 503), ("2001:db8:0:1::1", 200)):
            with RawClient(service) as client:
                assert client.ask(forwarded(GET, address)).status == status
        with RawClient(service) as client:
            assert client.ask(forwarded(HEALTH, "2001:db8::2")).status == 200
        app.go.set()
        assert first.answer().status == 200


def test_a_unix_socket_has_no_limit(app: App, tmp_path: Any) -> None:
    path = str(tmp_path / "socket")
    settings = {"unix_socket": path, "listen": None, "connections_per_peer": 1, **PATIENT, **OFTEN}
    with running(app, **settings) as service, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(5)]
        for client in clients:
            client.settimeout(20)
            client.connect(path)
            client.sendall(GET)
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
        wait_until_checked(service)
        for client in clients:
            client.sendall(GET)
            assert client.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("stall", STALLED)
def test_at_the_limit_of_all_connections_the_peer_with_most_gives_way(
    app: App, clock: Clock, stall: Callable[[RawClient], None]
) -> None:
    with running(app, connection_limit=6, **PATIENT, **OFTEN) as service, contextlib.ExitStack() as stack:
        small = stack.enter_context(From(service, "127.0.0.9"))
        stall(small)
        settle(service, clock)
        crowd = [stack.enter_context(RawClient(service, buffer=4096)) for _ in range(5)]
        for client in crowd:
            stall(client)
        settle(service, clock)
        with From(service, "127.0.0.10") as other:
            assert other.ask(GET).status == 200
        assert sum(kept(service, *crowd)) == 4
        assert kept(service, small) == [True], "it waits longer, but its peer has one connection"


def test_unread_answers_of_one_peer_are_bounded_in_memory(app: App, clock: Clock) -> None:
    # T-D17
    def unread(service: Server) -> list[int]:
        return [channel.unread_bytes for channel in service._channels() if channel.peer == "127.0.0.1"]

    settings = {"unread_bytes_per_peer": 5_000_000, "threads": 1, **PATIENT, **OFTEN}
    with running(app, **settings) as service, contextlib.ExitStack() as stack:
        other = stack.enter_context(From(service, "127.0.0.9"))
        other.send(LONG)
        crowd = [stack.enter_context(RawClient(service, buffer=4096)) for _ in range(6)]
        for client in crowd:
            client.send(LONG)
        while min(unread(service), default=0) == 0 or len(unread(service)) < 6:
            wait_until_checked(service)
        assert sum(unread(service)) > 5_000_000
        settle(service, clock)
        settle(service, clock)
        assert 0 < sum(unread(service)) <= 5_000_000
        assert len(other.answer().body) == 5_000_000


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("[2001:db8:0:0:ffff::1]", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_a_peer_is_an_address_or_a_network_of_ipv6(address: str, peer: str) -> None:
    assert peer_of_address(address) == peer
