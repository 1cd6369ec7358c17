"""Malformed requests as raw bytes: no 500, no traceback, and identical 401s."""

import itertools
import json
import re
import socket
from urllib.parse import quote

import pytest

from modhub_testing.caller import Caller

pytestmark = [pytest.mark.long, pytest.mark.postgres]

MB = 1024 * 1024
VARYING = re.compile(rb"\r\n(Date|X-Request-Id): [^\r]*", re.IGNORECASE)


@pytest.fixture(scope="module")
def own(service) -> Caller:
    return service.register("owner")


@pytest.fixture(scope="module")
def stranger(service) -> Caller:
    return service.register("stranger")


@pytest.fixture(scope="module")
def mod(own):
    made = own.published("Target", bytes(range(256)) * 40)
    assert own.send_file(made["id"], "images", b"image", "image/png").status == 201
    return own.need(200, "GET", f"/api/modhub/{made['id']}")


def send(service, data: bytes, process: int = 0) -> bytes:
    """Everything that comes back until the server closes; an error when it is silent for a minute."""
    port = service.processes[process % len(service.processes)].port
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            response = b""
            while piece := client.recv(1 << 16):
                response += piece
        except (BrokenPipeError, ConnectionResetError):
            pass
        return response


def request(method: str, path: str, *fields: str, body: bytes = b"", host: str = "localhost") -> bytes:
    """A whole request; the connection ends with it."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *fields]
    if body or method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1."), answer[:200]
    return int(answer.split(b" ", 2)[1])


# The four 401s (C-OWN-12)


def test_the_four_401s_are_the_same_bytes(service, own, stranger, mod):
    # C-OWN-12, T-B3
    """Anonymous or stranger, existing or missing: one answer for each owner call, on both processes."""
    draft = own.new_mod("Draft")["id"]
    image = next(asset["url"].rpartition("/")[2] for asset in mod["assets"] if asset["kind"] == "image")
    note = own.need(200, "GET", f"/api/modhub/{mod['id']}/changelog")["notes"][0]["id"]
    calls = [
        ("PUT", "", b'{"title": "x"}'),
        ("DELETE", "", b""),
        ("POST", "/code?version=9", b"x" * 1000),
        ("POST", "/code", b""),
        ("POST", "/css", b"x" * 300_000),
        ("POST", "/images", b"x"),
        ("POST", "/publish", b""),
        ("PUT", f"/changelog/{note}", b"{}"),
        ("DELETE", f"/changelog/{note}", b""),
        ("DELETE", f"/images/{image}", b""),
    ]
    answers = {}
    for (method, more, body), number in itertools.product(calls, (mod["id"], draft, 987654321, 10**30)):
        for token, process in itertools.product(("", stranger.token), (0, 1)):
            fields = [f"Authorization: Bearer {token}"] if token else []
            sent = request(method, f"/api/modhub/{number}{more}", *fields, body=body)
            answer = VARYING.sub(b"", send(service, sent, process))
            assert status(answer) == 401
            answers.setdefault((method, more), set()).add(answer)
    assert {call: len(distinct) for call, distinct in answers.items()} == dict.fromkeys(answers, 1)
    assert len(set().union(*answers.values())) <= 2, "uploads, which may leave their body unread, and the others"
    assert own.need(200, "GET", f"/api/modhub/{mod['id']}")["title"] == "Target"


# Framing (D1)

SMUGGLED = b"GET /api/modhub/1 HTTP/1.1\r\nHost: smuggled\r\n\r\n"
FRAMING = {
    "CL and TE": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST /api/modhub HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n",
    "length list": b"POST /api/modhub HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 44\r\n\r\n",
    "signed length": b"POST /api/modhub HTTP/1.1\r\nHost: a\r\nContent-Length: +0\r\n\r\n",
    "two TE": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
    "odd TE": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "1.0 and TE": b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "folded": b"GET /api/modhub HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n",
    "bare LF": b"GET /api/modhub HTTP/1.1\nHost: a\n\n",
    "bare CR": b"GET /api/modhub HTTP/1.1\r\nHost: a\r\nX-A: b\rX-B: c\r\n\r\n",
    "vertical tab": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "space before colon": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 4\r\n\r\n",
    "no host": b"GET /api/modhub HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /api/modhub HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "bad chunk": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "nul in field": b"GET /api/modhub HTTP/1.1\r\nHost: a\r\nX-A: \x00\r\n\r\n",
}


@pytest.mark.parametrize("name", FRAMING)
def test_an_ambiguous_request_is_refused_once_and_ends_the_connection(service, name):
    # T-D1
    answer = send(service, FRAMING[name] + SMUGGLED)
    assert status(answer) in (400, 501)
    assert len(re.findall(rb"HTTP/1\.[01] [0-9]{3} ", answer)) == 1
    assert b"Connection: close" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def test_a_host_that_is_malformed_is_400_and_any_other_changes_nothing(service, mod):
    # C-HTTP-6
    path = f"/api/modhub/{mod['id']}"
    usual = VARYING.sub(b"", send(service, request("GET", path)))
    assert status(usual) == 200
    for host in ("evil.example", "EVIL.example:80", "[::1]:6543", "127.0.0.1", "a" * 200 + ".example"):
        assert VARYING.sub(b"", send(service, request("GET", path, host=host))) == usual, host
    for host in ("a@evil.example", "a b", "a/b", "a?b", "http://evil", "a:99999999", "a\\b", "[::1"):
        assert status(send(service, request("GET", path, host=host))) == 400, host
    forwarded = ["X-Forwarded-Host: evil.example", "Forwarded: host=evil.example", "X-Forwarded-Proto: https"]
    assert VARYING.sub(b"", send(service, request("GET", path, *forwarded))) == usual
    page = send(service, request("GET", f"/Modhub/{mod['id']}", *forwarded, host="evil.example"))
    assert status(page) == 200
    assert b"evil.example" not in page


def test_x_vhm_root_chooses_nothing(service, mod):
    for root in ("/Modhub", "/api", "/api/modhub", f"/api/modhub/{mod['id']}", "\xff", "/../.."):
        plain, sent = (
            VARYING.sub(b"", send(service, request("GET", "/api/modhub", *fields)))
            for fields in ((), (f"X-Vhm-Root: {root}",))
        )
        assert plain == sent


# Addresses, bodies, ranges, methods (D4, D5, D6, D9, D10)

IDS = ["2147483648", str(2**63), "1" + "0" * 400, "-1", quote("٣"), "1_000", "%207", "1.0", "0x1", "1%00", "9" * 5000]
QUERIES = [
    *["q=%ff", "q=" + "a" * 250_000, "q=%25_%5C", "q=" + "e" + "%CC%81" * 10_000, "q=a&q=b", "q=%00", "q=%ED%A0%80"],
    *["page=" + "9" * 400, "page=-1", "page=%D9%A3", "page=1.0", "size=0", "size=1e9", "size=0x1", "sort=%00"],
    *["game=" + "x" * 100_000, "game=%ff", "q=%22%22%20AND%20OR", "q=NEAR(a%20b)", "q='%3B--", "q=a*", "%ff=1", "q=%"],
]
JSON = {
    "deep": b"[" * 100_000,
    "deep object": b'{"title":' * 50_000,
    "66 levels": b'{"title": "x", "unknown": ' + b"[" * 65 + b"]" * 65 + b"}",
    "long": b'{"title": "' + b"x" * MB + b'"}',
    "many keys": b"{" + b",".join(b'"%d":1' % n for n in range(200_000)) + b"}",
    "nan": b'{"title": "x", "games": NaN}',
    "huge number": b'{"title": 1e400}',
    "digits": b'{"title": ' + b"9" * 100_000 + b"}",
    "bom": b'\xef\xbb\xbf{"title": "x"}',
    "utf-16": '{"title": "x"}'.encode("utf-16"),
    "surrogate": b'{"title": "\\ud800"}',
    "nul": b'{"title": "a\\u0000b", "description": "\\u0000", "games": ["\\u0000"]}',
    "types": b'{"title": true, "requires": {}}',
    "array": b"[]",
    "list of lists": b'{"title": "x", "requires": [[[]]]}',
    "not utf-8": b'{"title": "\xff"}',
    "empty": b"",
}
RANGES = [
    *["bytes=" + ",".join(f"{n}-{n}" for n in range(8000)), f"bytes={2**70}-", f"bytes=0-{2**70}", "bytes=5-1"],
    *["bytes=-0", "bytes=0-0,0-0", "bytes=0-,-1", "bytes", "bytes=", "chars=0-1", "bytes=a-b", "bytes=--1", "bytes=٣-"],
]


def harmless(service, sent: bytes, allowed: set[int]) -> bytes:
    answer = send(service, sent)
    assert status(answer) in allowed, (sent[:200], answer[:300])
    return answer


@pytest.mark.parametrize("prefix", ["/api/modhub/{}", "/api/modhub/{}/download", "/Modhub/{}", "/Modhub/file/{}"])
def test_ids_that_are_none_are_unknown(service, prefix):
    for number in IDS:
        harmless(service, request("GET", prefix.format(number)), {404})


def test_list_parameters_are_never_refused(service, mod):
    # C-LIST-2, T-D5, T-D6
    for query in QUERIES:
        allowed = {200, 414, 431}
        for path in ("/api/modhub", "/Modhub"):
            harmless(service, request("GET", f"{path}?{query}"), allowed)


def test_hostile_json_is_400_or_taken(service, own, mod):
    # T-D4
    bearer = f"Authorization: Bearer {own.token}"
    for name, body in JSON.items():
        taken = name in ("long", "nul", "bom")
        harmless(service, request("POST", "/api/modhub", bearer, body=body), {201, 400} if taken else {400})
        edited = {200, 400} if taken or name == "many keys" else {400}
        harmless(service, request("PUT", f"/api/modhub/{mod['id']}", bearer, body=body), edited)
        for path in ("/api/auth/register", "/api/auth/login", "/api/auth/refresh"):
            harmless(service, request("POST", path, body=body), {413} if len(body) > MB // 16 else {400, 401})
        for path in ("/api/auth/logout", "/api/auth/forgot"):
            harmless(service, request("POST", path, body=body), {204, 429})
    over = request("POST", "/api/modhub", bearer, body=b" " * (8 * MB + 1))
    answer = harmless(service, over, {413})
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["limitBytes"] == 8 * MB
    own.need(200, "PUT", f"/api/modhub/{mod['id']}", {"title": "Target"})


def test_ranges_give_a_part_the_whole_or_416(service, mod):
    # T-D9
    path, size = f"/api/modhub/{mod['id']}/download", mod["assets"][0]["bytes"]
    for value in RANGES:
        answer = harmless(service, request("GET", path, f"Range: {value}"), {200, 206, 416, 431})
        if status(answer) == 416:
            assert f"Content-Range: bytes */{size}".encode() in answer
    for tag in ('W/"x"', '"x"', "Sat, 21 Nov 2026 10:00:00 GMT", "\xff"):
        assert status(send(service, request("GET", path, "Range: bytes=0-1", f"If-Range: {tag}"))) == 200


def test_unknown_methods_are_405_and_head_is_get_without_a_body(service, mod):
    # C-HTTP-1, T-D10
    path = f"/api/modhub/{mod['id']}"
    for method in ("TRACE", "CONNECT", "PATCH", "PROPFIND", "FOO"):
        answer = harmless(service, request(method, path), {405})
        assert b"\r\nAllow: " in answer
    assert b"\r\nAllow: " in harmless(service, request("PUT", "/api/modhub/games", body=b"{}"), {405})
    for address in (path, "/api/modhub", f"{path}/download", f"{path}/changelog", mod["assets"][0]["url"], "/Modhub"):
        heads, bodies = [], []
        for method in ("GET", "HEAD"):
            top, _, body = send(service, request(method, address)).partition(b"\r\n\r\n")
            heads.append(re.sub(rb"nonce-[^']*", b"", VARYING.sub(b"", top)))
            bodies.append(body)
        assert heads[0] == heads[1]
        assert (bodies[0] != b"", bodies[1]) == (True, b"")


def test_hostile_names_types_and_tokens(service, own, mod):
    path = f"/api/modhub/{mod['id']}"
    bearer = f"Authorization: Bearer {own.token}"
    for name in ("../../x", "/etc/passwd", "C:%5Cx", "%00", "%0d%0aX-Evil:1", "%E2%80%AE", "a" * 4000, "CON", "%ff"):
        sent = request("POST", f"{path}/images?name={name}", bearer, "Content-Type: image/png", body=b"x")
        harmless(service, sent, {201, 400})
    for kind in ("text/html", "x" * 5000, "text/html, image/png", "\xff", ";;;", ""):
        harmless(service, request("POST", f"{path}/images", bearer, f"Content-Type: {kind}", body=b"x"), {201, 400})
    for asset in own.need(200, "GET", path)["assets"]:
        answer = harmless(service, request("GET", asset["url"]), {200})
        assert b"\r\nX-Evil" not in answer
        assert asset["name"] not in ("", ".", "..")
        assert "/" not in asset["name"]
    good = own.token
    for token in ("x", "x" * 200_000, "\xff", good + "0", good[:-1], good.upper() + " ", f"{good},x"):
        harmless(service, request("GET", "/api/auth/me", f"Authorization: Bearer {token}"), {401, 431})
    twice = [bearer, "Authorization: Bearer x"]
    harmless(service, request("GET", "/api/auth/me", *twice), {400, 401})


def test_the_log_has_no_traceback_and_no_500(service, own):
    # C-ERR-9, C-SET-5, T-D11
    """Runs after any number of the others."""
    own.need(200, "GET", "/api/modhub/mine")
    written = service.log()
    assert "Traceback" not in written
    assert '"status": 500' not in written
    assert own.token not in written
    assert all(line.isprintable() for line in written.splitlines())
