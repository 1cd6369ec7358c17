"""Which bodies the server takes, which it asks the application about before (ADR 003), and which it discards."""

import threading

import pytest

from modhub.base.body_rules import ASKED_ABOVE_BYTES, DEFAULT_LIMIT
from modhub.server import channel
from modhub_testing.running_server import RawClient, running, wait_until_checked
from tests.bodies import END, LIMIT, BodyApp, chunk, chunks, post, seen, sized

CREDENTIAL, EXPECT, CHUNKED = "Authorization: x", "Expect: 100-continue", "Transfer-Encoding: chunked"


@pytest.fixture(scope="module")
def app():
    return BodyApp()


@pytest.fixture(scope="module")
def server(app):
    with running(app) as service:
        yield service


@pytest.fixture
def service(server, app):
    app.asked.clear()
    yield server
    wait_until_checked(server)
    assert server.adj.body_bytes == 0


@pytest.fixture
def client(service):
    with RawClient(service) as connected:
        yield connected


@pytest.mark.parametrize("path", ["/owner/1", "/%6fwner//1/", "/key/1"])
@pytest.mark.parametrize("lines", [[f"Content-Length: {LIMIT * 1000}"], ["Content-Length: 5", EXPECT], [CHUNKED]])
def test_without_the_credential_the_body_is_not_awaited(client, path, lines):
    answer = client.ask(post(path, *lines))
    assert answer.status == 401
    assert seen(answer) == {"size": 0, "notes": {"modhub.body": "unread"}, "length": "0", "seekable": True}
    assert answer.fields["connection"] == "close"
    assert client.ended()


@pytest.mark.parametrize(("path", "limit"), [("/owner/1", LIMIT), ("/other", DEFAULT_LIMIT)])
def test_a_length_over_the_limit_is_not_awaited(client, path, limit):
    # T-D3
    answer = client.ask(sized(limit + 1, path, CREDENTIAL, EXPECT))
    assert (answer.status, answer.fields["connection"]) == (413, "close")
    assert seen(answer)["notes"] == {"modhub.body_limit_exceeded": limit}
    assert client.ended()


def test_the_limit_itself_is_taken_by_length_and_chunked_on_one_connection(client):
    for size in (0, 1, LIMIT):
        answers = [
            client.ask(sized(size, "/owner/1", CREDENTIAL) + b"x" * size),
            client.ask(post("/owner/1", CREDENTIAL, CHUNKED, body=chunks(size, 100) + END)),
        ]
        for answer in answers:
            assert seen(answer) == {"size": size, "notes": {}, "length": str(size), "seekable": True}
            assert "connection" not in answer.fields


def test_a_chunked_body_is_refused_as_it_passes_the_limit_not_at_its_end(client):
    # C-UP-11, T-D3
    client.send(post("/owner/1", CREDENTIAL, CHUNKED, body=chunk(LIMIT)))
    answer = client.ask(b"1\r\nx")
    assert answer.status == 413
    assert seen(answer)["notes"] == {"modhub.body_limit_exceeded": LIMIT}
    assert client.ended()


def test_100_continue_is_sent_when_a_body_will_be_taken(client):
    for _ in range(2):
        assert client.ask(sized(3, "/owner/1", CREDENTIAL, EXPECT)).status == 100
        assert seen(client.ask(b"abc"))["size"] == 3
    assert client.ask(sized(0, "/owner/1", CREDENTIAL, EXPECT)).status == 200


@pytest.mark.parametrize("framing", ["Content-Length: 900", CHUNKED])
def test_a_rejected_client_gets_no_100(client, framing):
    # C-ERR-19
    answer = client.ask(post("/owner/1", "Authorization: bad", framing, EXPECT))
    assert (answer.status, answer.fields["connection"]) == (401, "close")
    assert seen(answer)["notes"] == {"modhub.body": "expected"}
    client.send(b"x" * 900 + post("/other", "Content-Length: 0"))
    client.socket.shutdown(1)
    assert client.ended()


@pytest.mark.parametrize(
    ("path", "framing"),
    [
        ("/roomy", f"Content-Length: {ASKED_ABOVE_BYTES + 1}"),
        ("/roomy", CHUNKED),
        ("/without/a/rule", f"Content-Length: {ASKED_ABOVE_BYTES + 1}"),
    ],
)
def test_a_large_body_is_refused_before_any_of_it_is_sent(app, client, path, framing):
    # C-ERR-20, T-D3
    answer = client.ask(post(path, "Authorization: bad", framing))
    assert (answer.status, answer.fields["connection"], seen(answer)["size"]) == (401, "close", 0)
    assert app.asked == [path]


@pytest.mark.parametrize("path", ["/roomy", "/asked", "/without/a/rule"])
def test_a_small_body_is_not_asked_about(app, client, path):
    for size in (1, 5_000, ASKED_ABOVE_BYTES):
        head = sized(size, path, CREDENTIAL)
        assert seen(client.ask(head + b"x" * size))["size"] == size
        client.send(head)
        assert seen(client.ask(b"x" * size))["size"] == size
    if path == "/roomy":  # of chunked ones only those that come with their head
        assert seen(client.ask(post(path, CREDENTIAL, CHUNKED, body=chunk(30_000) + END)))["size"] == 30_000
    assert app.asked == []


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("chunked", [True, False])
def test_a_large_body_arrives_whole_and_the_client_notices_nothing(app, client, together, chunked):
    size = 5_000_000
    framing = CHUNKED if chunked else f"Content-Length: {size}"
    head, body = post("/roomy", CREDENTIAL, framing), chunks(size) + END if chunked else b"x" * size
    for _ in range(3):
        for part in (head + body,) if together else (head, body):
            client.send(part)
        answer = client.answer()
        assert (answer.status, seen(answer)["size"]) == (200, size)
        assert "connection" not in answer.fields
    assert app.asked == ["/roomy"] * 3


@pytest.mark.parametrize("framing", ["Content-Length: 20000000", CHUNKED])
@pytest.mark.parametrize(("path", "lines"), [("/owner/1", []), ("/roomy", ["Authorization: bad"])])
def test_a_client_that_sends_20_mb_blindly_still_reads_the_answer(client, framing, path, lines):
    # C-ERR-19
    body = chunks(20_000_000) if framing == CHUNKED else b"x" * 20_000_000
    client.send(post(path, *lines, framing, body=body))
    assert client.answer().status == 401
    client.send(sized(0))  # is no request any more
    client.socket.shutdown(1)
    assert client.ended()


@pytest.mark.parametrize(("name", "value", "pause"), [("DISCARD_BYTES", 3_000_000, 0), ("DISCARD_SECONDS", 0.3, 0.02)])
def test_discarding_has_a_measure_and_a_time(monkeypatch, name, value, pause):
    # C-ERR-19
    assert (channel.DISCARD_BYTES, channel.DISCARD_SECONDS) == (128 * 1024 * 1024, 30)
    monkeypatch.setattr(channel, name, value)
    with running(BodyApp()) as service, RawClient(service) as client:
        assert client.ask(sized(100_000_000, "/owner/1")).status == 401
        with pytest.raises(ConnectionError):
            send_on(client, pause)


def send_on(client, pause):
    for _ in range(2000):
        client.send(b"x" * 50_000)
        threading.Event().wait(pause)


def test_broken_framing_behind_the_head_is_400_all_the_same(app, service):
    head = post("/roomy", CREDENTIAL, CHUNKED)
    with RawClient(service) as client:
        assert client.ask(head + b"zz\r\n").status == 400
    with RawClient(service) as client:
        client.send(head + b"5\r\nabc")
        while not app.asked:
            threading.Event().wait(0.01)
        client.send(b"defgh\r\n")
        assert client.answer().status == 400


def test_an_application_without_rules_is_not_asked():
    def plain(environ, start_response):
        size = str(len(environ["wsgi.input"].read())).encode()
        start_response("200 OK", [("Content-Length", str(len(size)))])
        return [size]

    with running(plain) as service, RawClient(service) as client:
        assert client.ask(sized(3_000_000) + b"x" * 3_000_000).body == b"3000000"
        assert client.ask(post("/x", CHUNKED, EXPECT)).status == 100
        assert client.ask(chunks(3_000_000) + END).body == b"3000000"
