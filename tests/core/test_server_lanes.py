"""What waits takes no thread from what reads."""

import contextlib
import threading

from modhub.server.rules import BodyRules, IBodyRules
from modhub.server.testing import Client, running


class Registry:
    """Carries the rules, as an application's registry does."""

    def __init__(self, rules: BodyRules) -> None:
        self.rules = rules

    def queryUtility(self, interface: object) -> BodyRules | None:  # noqa: N802 - zope's name
        return self.rules if interface is IBodyRules else None


class Application:
    """POST waits until it is let go; GET answers at once."""

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
    app = Application()
    with running(app, threads=1, write_threads=2, wait_threads=3) as address, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(address)) for _ in range(7)]
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
