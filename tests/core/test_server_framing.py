import json

import pytest

from modhub_testing.running_server import RawClient, running


def app(environ, start_response):
    seen = {key: value for key, value in environ.items() if isinstance(value, str) and not key.startswith("wsgi")}
    body = json.dumps({**seen, "body": environ["wsgi.input"].read().decode("latin-1")}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


@pytest.fixture(scope="module")
def service():
    with running(app) as service:
        yield service


@pytest.fixture
def client(service):
    with RawClient(service) as connected:
        yield connected


def seen(service, request):
    """What the application was told of it."""
    with RawClient(service) as client:
        return json.loads(client.ask(request).body)


def get(*lines, line="GET / HTTP/1.1", host="Host: a"):
    return "\r\n".join([line, *([host] if host else []), *lines, "", ""]).encode("latin-1")


def post(*lines, body="", version="1.1"):
    return get(*lines, line=f"POST /p HTTP/{version}") + body.encode("latin-1")


CHUNKED = "Transfer-Encoding: chunked"

REFUSED = {
    "length and coding": (400, post("Content-Length: 5", CHUNKED, body="0\r\n\r\n")),
    "two lengths": (400, post("Content-Length: 3", "Content-Length: 4", body="abcd")),
    "length list": (400, post("Content-Length: 3, 3", body="abc")),
    "length with sign": (400, post("Content-Length: +3", body="abc")),
    "length of 5000 digits": (400, post("Content-Length: " + "9" * 5000)),
    "host with open bracket": (400, get(host="Host: [::1")),
    "two codings": (400, post(CHUNKED, CHUNKED, body="0\r\n\r\n")),
    "coding in 1.0": (400, post(CHUNKED, body="0\r\n\r\n", version="1.0")),
    "identity": (501, post("Transfer-Encoding: identity", body="")),
    "coding with vertical tab": (400, post("Transfer-Encoding: \x0bchunked", body="0\r\n\r\n")),
    "two content types": (400, post("Content-Type: a/b", "content-type: c/d", "Content-Length: 0")),
    "two hosts": (400, get("Host: b")),
    "no host": (400, get(host=None)),
    "host with user": (400, get(host="Host: u@evil")),
    "obs-fold": (400, get("X: a", " b")),
    "blank before colon": (400, get("X : a")),
    "bare LF in the head": (400, b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"),
    "bare CR in a value": (400, get("X: a\rb")),
    "NUL in a value": (400, get("X: a\x00b")),
    "tab in the line": (400, get(line="GET\t/ HTTP/1.1")),
    "small method": (400, get(line="get / HTTP/1.1")),
    "version 1.2": (400, get(line="GET / HTTP/1.2")),
    "asterisk": (400, get(line="OPTIONS * HTTP/1.1")),
    "absolute with user": (400, get(line="GET http://u@a/b HTTP/1.1")),
    "long head": (431, get("X: " + "a" * 300_000)),
    "endless line": (431, b"GET /" + b"a" * 300_000),
    "chunk size signed": (400, post(CHUNKED, body="+3\r\nabc\r\n0\r\n\r\n")),
    "chunk line bare LF": (400, post(CHUNKED, body="3\nabc\r\n0\r\n\r\n")),
    "chunk too long": (400, post(CHUNKED, body="3\r\nabcd\r\n0\r\n\r\n")),
    "extension with open quote": (400, post(CHUNKED, body='3;a="b\r\nabc\r\n0\r\n\r\n')),
    "endless extension": (400, post(CHUNKED, body="3;a=" + "b" * 100_000 + "\r\nabc\r\n0\r\n\r\n")),
    "endless trailers": (400, post(CHUNKED, body="0\r\n" + "X: aaaaaaaa\r\n" * 10_000 + "\r\n")),
    "one byte a chunk": (400, post(CHUNKED, body="1\r\na\r\n" * 20_000 + "0\r\n\r\n")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_could_be_read_in_two_ways_is_answered_once_in_json_and_closed(client, name):
    # C-HTTP-10, T-D1, T-H1
    status, request = REFUSED[name]
    client.send(request + b"GET /second HTTP/1.1\r\nHost: a\r\n\r\n")
    answer = client.answer()
    assert answer.status == status
    assert client.ended()
    body = json.loads(answer.body)
    assert sorted(body) == ["error", "message"]
    assert body["error"].replace("_", "").isalpha()
    assert body["error"] == body["error"].lower()
    assert body["message"].endswith(".")
    assert answer.fields["content-type"] == "application/json; charset=utf-8"
    assert answer.fields["x-content-type-options"] == "nosniff"
    assert answer.fields["cache-control"] == "no-store"
    assert answer.fields["referrer-policy"] == "strict-origin-when-cross-origin"
    assert answer.fields["cross-origin-resource-policy"] == "same-origin"
    assert answer.fields["connection"] == "close"
    assert "server" not in answer.fields


TAKEN = {
    "plain": get(),
    "HTTP/1.0 without host": get(line="GET / HTTP/1.0", host=None),
    "literal host": get(host="Host: [::1]:80"),
    "raw UTF-8 in the target": get(line="GET /\xc3\xa9?q=\xc3\xa9 HTTP/1.1"),
    "length with blanks": post("Content-Length: \t3 ", body="abc"),
    "chunks": post("transfer-ENCODING: Chunked", body='1;a;b=c;d="e;\\"f"\r\na\r\n02\r\nbc\r\n000\r\nX: y\r\n\r\n'),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_can_be_read_in_one_way_only_is_taken_and_the_connection_kept(client, name):
    answer = client.ask(TAKEN[name])
    assert answer.status == 200
    assert json.loads(answer.body)["body"] == ("abc" if TAKEN[name].startswith(b"POST") else "")
    if b"HTTP/1.0" not in TAKEN[name]:
        assert json.loads(client.ask(get(line="GET /next HTTP/1.1")).body)["PATH_INFO"] == "/next"


def test_a_request_may_come_byte_by_byte(client):
    for byte in post(CHUNKED, body='3;a="b"\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n'):
        client.send(bytes([byte]))
    assert json.loads(client.answer().body)["body"] == "abcde"


@pytest.mark.parametrize(
    ("target", "path", "uri", "query"),
    [
        ("http://evil.example:99/a%20b/c?q=1", "/a b/c", "/a%20b/c?q=1", "q=1"),
        ("/a?b=http://c/d", "/a", "/a?b=http://c/d", "b=http://c/d"),
        ("//a/b", "/a/b", "//a/b", ""),
    ],
)
def test_the_authority_of_a_target_decides_nothing(service, target, path, uri, query):
    told = seen(service, get(line=f"GET {target} HTTP/1.1"))
    assert (told["PATH_INFO"], told["REQUEST_URI"], told["QUERY_STRING"]) == (path, uri, query)
    assert told["HTTP_HOST"] == "a"
    assert "evil" not in json.dumps(told)


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key"])
@pytest.mark.parametrize("values", [("Bearer good", "Bearer good"), ("", "Bearer good")])
def test_of_a_credential_sent_twice_neither_counts(service, name, values):
    # T-C10, T-C11
    told = seen(service, get(*[f"{name}: {value}" for value in values]))
    assert told["HTTP_" + name.upper().replace("-", "_")] == ", ".join(values)


def test_an_underscore_spoofs_no_hyphen(service):
    lines = ["X_Api_Key: spoofed", "Content_Length: 9", "X-Forwarded_For: 1.1.1.1", "X-Forwarded-For: 9.9.9.9"]
    told = seen(service, get(*lines))
    assert told.keys().isdisjoint({"HTTP_X_API_KEY", "CONTENT_LENGTH", "HTTP_X_FORWARDED_FOR"})
    assert told["REMOTE_ADDR"] == "127.0.0.1"
