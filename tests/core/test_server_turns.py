"""Which requests run, where, and which connections stay: threads, callers that have gone, limits by peer."""

import json
import threading

import pytest

from modhub.base.body_rules import IS_LARGE_TURN, BodyRules
from modhub_testing.running_server import RawClient, raw_request, running, wait_until_checked

WAIT = 20


class App:
    """``/held`` and ``/large`` wait for `go`; ``/large`` asks for the thread of large responses first."""

    def __init__(self):
        rules = BodyRules()
        rules.add(["POST"], "/held/{kind}", 1000, waits=True)
        self.registry = {BodyRules: rules}
        self.go = threading.Event()
        self.began = threading.Semaphore(0)
        self.done = []
        self.asked = []

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        if path.startswith("/large") and environ[IS_LARGE_TURN] is False:
            self.asked.append(path)
            start_response("102 Processing", [])
            return []
        if path.startswith(("/held", "/large")):
            self.began.release()
            assert self.go.wait(WAIT)
        self.done.append(path)
        body = json.dumps([path, environ["wsgi.input"].read().decode(), environ[IS_LARGE_TURN]]).encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    def wait_for(self, count):
        for _ in range(count):
            assert self.began.acquire(timeout=WAIT)


@pytest.fixture
def app():
    return App()


def post(path, body=""):
    return f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def test_a_request_that_waited_is_not_run_if_its_caller_has_gone(app):
    # T-D22
    with running(app, threads=1) as service, RawClient(service) as holder, RawClient(service) as patient:
        holder.send(raw_request("/held"))
        app.wait_for(1)
        for number in range(20):
            with RawClient(service) as client:
                client.send(raw_request(f"/gone/{number}"))
                wait_until_checked(service)
        patient.send(raw_request("/patient"))
        threading.Event().wait(0.2)
        app.go.set()
        assert holder.answer().status == patient.answer().status == 200
        wait_until_checked(service)
        assert app.done == ["/held", "/patient"]
        assert len(service.channels) == 2


def test_reads_go_on_while_every_writing_and_waiting_thread_is_held(app):
    # C-LIM-6, T-D8
    with running(app, threads=2, write_threads=3) as service:
        held = [RawClient(service) for _ in range(3 + 72)]
        for number, client in enumerate(held):
            client.send(post("/held" if number < 3 else "/held/hashing", "x"))
        app.wait_for(len(held))
        with RawClient(service) as reader:
            assert reader.ask(raw_request()).status == 200
        app.go.set()
        for client in held:
            assert client.answer().status == 200
            client.__exit__()


def test_large_responses_share_one_thread_and_hold_nothing_small_up(app):
    # T-D20
    with running(app, threads=1, write_threads=1) as service:
        large = [RawClient(service) for _ in range(4)]
        for number, client in enumerate(large):
            client.send(post(f"/large/{number}", "question") if number % 2 else raw_request(f"/large/{number}"))
        app.wait_for(1)
        assert not app.began.acquire(timeout=0.3)
        with RawClient(service) as small:
            assert json.loads(small.ask(raw_request()).body) == ["/", "", False]
            assert json.loads(small.ask(post("/", "x")).body) == ["/", "x", False]
        app.go.set()
        for number, client in enumerate(large):
            assert json.loads(client.answer().body) == [f"/large/{number}", "question" if number % 2 else "", True]
            assert client.ask(raw_request()).status == 200
            client.__exit__()


def test_at_the_limit_of_a_peer_the_connection_that_waits_longest_makes_room(app):
    # T-D2
    with running(app, connections_per_peer=10, header_seconds=120) as service:
        with RawClient(service) as busy:
            busy.send(raw_request("/held"))
            app.wait_for(1)
            half = [RawClient(service) for _ in range(30)]
            for client in half[:9]:
                client.send(b"GET / HTTP/1.1\r\n")
            with RawClient(service) as visitor:
                assert visitor.ask(raw_request()).status == 200
            assert len(service.channels) <= 10
            app.go.set()
            assert busy.answer().status == 200
        for client in half:
            client.__exit__()


def test_a_trusted_proxy_has_no_limit(app):
    with running(
        app, connections_per_peer=2, trusted_proxy="127.0.0.1", trusted_proxy_headers="x-forwarded-for"
    ) as service:
        clients = [RawClient(service) for _ in range(8)]
        for client in clients:
            assert client.ask(raw_request()).status == 200
        for client in clients:
            assert client.ask(raw_request()).status == 200
            client.__exit__()


def test_pipelined_requests_wait_until_the_response_is_read(app):
    # T-D20
    with running(app) as service, RawClient(service, buffer=4096) as client:
        client.send(b"".join(raw_request(f"/{number}" + "x" * 2000) for number in range(200)))
        wait_until_checked(service)
        assert len(app.done) < 200
        for number in range(200):
            assert json.loads(client.answer().body)[0].startswith(f"/{number}x")


def test_where_every_connection_of_a_peer_is_at_work_one_more_is_closed(app):
    with running(app, connections_per_peer=3, threads=3) as service:
        held = [RawClient(service) for _ in range(3)]
        for client in held:
            client.send(raw_request("/held"))
        app.wait_for(3)
        with RawClient(service) as other, pytest.raises((ConnectionError, EOFError)):
            other.ask(raw_request())
        app.go.set()
        for client in held:
            assert client.answer().status == 200
            client.__exit__()


def test_an_address_that_was_large_has_the_thread_for_these_at_once(app):
    # T-D20
    app.go.set()
    with running(app) as service, RawClient(service) as client:
        for _ in range(3):
            assert json.loads(client.ask(raw_request("/large/1?a=b")).body) == ["/large/1", "", True]
            assert json.loads(client.ask(post("/large/2", "x")).body) == ["/large/2", "x", True]
        assert app.asked == ["/large/1", "/large/2", "/large/2", "/large/2"]
