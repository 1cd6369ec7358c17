"""Waiting requests take no thread from reads."""

import contextlib
import logging
import threading
from types import SimpleNamespace

import pytest

from modhub.base.body_rules import BodyRules, IBodyRules
from modhub.server.thread_pools import FairQueue
from modhub_testing.running_server import RawClient, running, wait_until_checked


class Registry:
    """Carries the rules, as an application's registry does."""

    def __init__(self, rules: BodyRules) -> None:
        self.rules = rules

    def queryUtility(self, interface: object) -> BodyRules | None:  # noqa: N802 - zope's name
        return self.rules if interface is IBodyRules else None


class Application:
    """POST waits until released; GET answers at once."""

    def __init__(self) -> None:
        rules = BodyRules()
        rules.add("POST", "/hash", 1000, waits=True)
        self.registry = Registry(rules)
        self.go = threading.Event()
        self.held = threading.Semaphore(0)

    def __call__(self, environ, start_response):
        if environ["REQUEST_METHOD"] == "POST":
            self.held.release()
            self.go.wait(30)
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]


def post(path: str) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx".encode()


def test_reads_go_on_while_every_writing_and_waiting_thread_is_held():
    # C-LIM-6, T-D8
    app = Application()
    with running(app, threads=1, write_threads=2, wait_threads=3) as address, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(RawClient(address)) for _ in range(7)]
        try:
            for client in clients[:2]:
                client.send(post("/edit"))
            for client in clients[2:5]:
                client.send(post("/hash"))
            assert all(app.held.acquire(timeout=20) for _ in range(5)), "each lane has threads of its own"
            clients[5].send(post("/edit"))
            assert not app.held.acquire(timeout=0.3), "a lane has no more threads than it is given"
            clients[6].send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert clients[6].answer().status == 200
            app.go.set()
            assert [client.answer().status for client in clients[:6]] == [200] * 6
        finally:
            app.go.set()


def test_a_request_that_waits_for_a_thread_writes_no_log_line(caplog):
    app = Application()
    with running(app, wait_threads=1) as service, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(RawClient(service)) for _ in range(3)]
        try:
            for client in clients:
                client.send(post("/hash"))
            while len(service.pools.waiting.queue) < 2:
                wait_until_checked(service)
        finally:
            app.go.set()
        assert [client.answer().status for client in clients] == [200] * 3
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


def test_peers_take_turns_in_a_pool():
    queue = FairQueue()
    for peer, number in (("a", 1), ("a", 2), ("a", 3), (None, 4), ("b", 5), (None, 6), ("b", 7)):
        queue.append(SimpleNamespace(peer=peer, number=number))
    assert len(queue) == 7
    assert [queue.popleft().number for _ in range(4)] == [1, 4, 5, 2]
    queue.append(SimpleNamespace(peer="c", number=8))
    assert [queue.popleft().number for _ in range(4)] == [6, 7, 3, 8]
    assert not queue
    with pytest.raises(KeyError):
        queue.popleft()


class Counting(Application):
    """Notes whose request was answered; each waits for a token."""

    def __init__(self) -> None:
        super().__init__()
        self.registry.rules.priority_paths = frozenset({"/healthz"})
        self.tokens = threading.Semaphore(0)
        self.order: list[str] = []

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] != "/healthz":
            self.held.release()
            self.tokens.acquire(timeout=30)
            self.order.append(environ["REMOTE_ADDR"])
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_peer_with_many_requests_delays_its_own_and_no_health_check(method):
    # T-D17
    app = Counting()
    settings = {"threads": 1, "write_threads": 1, "trusted_proxy": "127.0.0.1"}

    def asked(caller: str, path: str = "/", method: str = method) -> bytes:
        return f"{method} {path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {caller}\r\nContent-Length: 0\r\n\r\n".encode()

    with running(app, trusted_proxy_headers="x-forwarded-for", **settings) as service, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(RawClient(service)) for _ in range(22)]
        try:
            clients[0].send(asked("192.0.2.1"))
            assert app.held.acquire(timeout=20)
            for client in clients[1:20]:
                client.send(asked("192.0.2.1"))
            lane = service.pools.reading if method == "GET" else service.pools.writing
            while len(lane.queue) < 19:
                wait_until_checked(service)
            clients[20].send(asked("192.0.2.2"))
            clients[21].send(asked("192.0.2.3"))
            while len(lane.queue) < 21:
                wait_until_checked(service)
            for path, caller in (("/healthz", "192.0.2.1"), ("/healthz", "192.0.2.9")):
                with RawClient(service) as probe:
                    assert probe.ask(asked(caller, path, "GET")).status == 200
            assert app.order == []
            app.tokens.release(22)
            assert [client.answer().status for client in clients] == [200] * 22
            assert app.order.index("192.0.2.2") == 2, "after the one that ran and the one whose turn it was"
            assert app.order.index("192.0.2.3") == 3
        finally:
            app.tokens.release(30)
