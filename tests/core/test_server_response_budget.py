"""Room for large responses: by peer and by process, given back when they are taken or their connection ends."""

import contextlib
import io
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import REGISTRY
from waitress.channel import HTTPChannel

from modhub.base.body_rules import RESERVE_RESPONSE
from modhub.server.loop import Server
from modhub.server.response_budget import ResponseBudget
from modhub_testing.running_server import Clock, RawClient, running, wait_until_checked

MB = 1024 * 1024
OFTEN = {"cleanup_interval": 0.02, "asyncore_loop_timeout": 0.02}


def hits(limit: str) -> float:
    """How often this process has reached the limit."""
    return REGISTRY.get_sample_value("modhub_limits_hit_total", {"limit": limit}) or 0


class Peer:
    """What the budget knows of a connection."""

    def __init__(self, peer: str | None) -> None:
        self.peer = peer


def test_room_is_by_peer_and_by_process_and_given_back() -> None:
    # T-D20, C-HTTP-14
    noted = list[str]()
    budget = ResponseBudget(100, 40, noted.append)
    first, second, third = Peer("a"), Peer("a"), Peer("b")
    assert budget.reserve(first, 30)
    assert not budget.reserve(second, 11)
    assert budget.reserve(second, 10)
    assert budget.reserve(third, 40)
    assert budget.used == 80
    assert not budget.reserve(Peer("c"), 21)
    assert noted == ["unread_bytes_per_peer", "unread_bytes"]
    assert budget.take_refused() == {"a": 30, None: 80} | {"a": 40}
    assert budget.take_refused() == {}
    budget.release(first)
    budget.release(first)
    assert budget.used == 50
    assert budget.reserve(second, 40), "in place of what it had"
    assert budget.used == 80
    for channel in (second, third):
        budget.release(channel)
    assert (budget.used, budget._of_peers, budget._reserved) == (0, {}, {})


def test_one_that_is_larger_than_all_room_is_made_alone() -> None:
    # C-READ-2
    budget = ResponseBudget(limit=100, per_peer=40)
    whole, other = Peer("a"), Peer("b")
    assert budget.reserve(whole, 1_000)
    assert not budget.reserve(other, 1)
    assert not budget.reserve(Peer("a"), 1)
    budget.release(whole)
    assert budget.reserve(other, 1)
    assert not budget.reserve(whole, 1_000)


def test_callers_that_a_proxy_does_not_name_share_no_limit() -> None:
    budget = ResponseBudget(limit=100, per_peer=40)
    assert all(budget.reserve(Peer(None), 40) for _ in range(2))
    assert not budget.reserve(Peer(None), 40)


def large_app(environ: dict[str, Any], start_response: Any) -> Any:
    """Answers with as many megabytes as its path says, from a file; 503 without room."""
    size = int(environ["PATH_INFO"].strip("/")) * MB
    if size and not environ[RESERVE_RESPONSE](size):
        start_response("503 Service Unavailable", [("Content-Length", "0")])
        return []
    start_response("200 OK", [("Content-Length", str(size))])
    return environ["wsgi.file_wrapper"](io.BytesIO(b"x" * size), 65536)


def get(megabytes: int) -> bytes:
    return f"GET /{megabytes} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


def wait_for(service: Server, used: int) -> None:
    for _ in range(500):
        if service.adj.response_budget.used == used:
            return
        wait_until_checked(service)
    raise AssertionError(service.adj.response_budget.used)


@pytest.mark.parametrize("leaves", [False, True])
def test_room_is_free_again_when_a_response_was_taken_or_its_reader_has_gone(
    leaves: bool, caplog: pytest.LogCaptureFixture
) -> None:
    # T-D20
    with running(large_app, unread_bytes_per_peer=10 * MB, **OFTEN) as service, contextlib.ExitStack() as stack:
        reader, other = (stack.enter_context(RawClient(service, buffer=4096)) for _ in range(2))
        reader.send(get(8))
        wait_for(service, 8 * MB)
        before = hits("unread_bytes_per_peer")
        for number in (1, 2):
            assert other.ask(get(8)).status == 503
            assert hits("unread_bytes_per_peer") == before + number
        assert caplog.messages.count("unread_bytes_per_peer reached: requests are refused") == 1
        assert other.ask(get(0)).status == 200
        if leaves:
            reader.stream.close()
            reader.socket.close()
        else:
            assert len(reader.answer().body) == 8 * MB
        wait_for(service, 0)
        assert len(other.ask(get(8)).body) == 8 * MB
        assert len(other.ask(get(10)).body) == 10 * MB
        wait_for(service, 0)


def test_a_reader_that_takes_nothing_makes_room_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    # T-D20
    clock = Clock(monkeypatch)
    settings = {"unread_bytes": 10 * MB, "write_seconds": 10_000, **OFTEN}
    with running(large_app, **settings) as service, contextlib.ExitStack() as stack:
        stalled = stack.enter_context(RawClient(service, buffer=4096))
        stalled.send(get(8))
        wait_for(service, 8 * MB)
        for _ in range(3):
            clock.forward(20)
            wait_until_checked(service)
        assert service.adj.response_budget.used == 8 * MB, "nobody else has asked"
        other = stack.enter_context(RawClient(service))
        assert other.ask(get(8)).status == 503
        wait_for(service, 0)
        assert len(other.ask(get(8)).body) == 8 * MB


def test_an_application_that_fails_gives_its_room_back() -> None:
    def failing(environ: dict[str, Any], start_response: Any) -> Any:
        assert environ[RESERVE_RESPONSE](8 * MB)
        raise RuntimeError("on purpose")

    with running(failing, **OFTEN) as service, RawClient(service) as client:
        assert client.ask(get(1)).status == 500
        wait_for(service, 0)


def test_a_worker_leaves_the_room_of_the_next_request_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop may have handed the next request to another worker before this one is done."""
    with running(large_app, **OFTEN) as service, RawClient(service) as client:
        assert client.ask(get(0)).status == 200
        (channel,) = service._channels()
        while channel.requests:  # the worker of the first response is not done yet
            wait_until_checked(service)
        wait_until_checked(service)
        monkeypatch.setattr(HTTPChannel, "service", lambda _channel: None)
        budget = service.adj.response_budget
        assert budget.reserve(channel, 8 * MB)
        channel.requests = [SimpleNamespace(close=lambda: None)]
        channel.service()
        assert budget.used == 8 * MB
        channel.requests = []
        channel.service()
        assert budget.used == 0
