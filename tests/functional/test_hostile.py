"""Malformed requests as raw bytes: no 500, no traceback, and identical 401s.

What one layer parses is tried at that layer: framing, bodies, ranges and queries by tests/core, headers on every
address by test_headers.py, and hosts by accounts/test_account_hosts.py.
"""

import itertools
import re
import socket

import pytest

from modhub_testing.caller import Caller

pytestmark = [pytest.mark.long, pytest.mark.postgres]
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


def harmless(service, sent: bytes, allowed: set[int]) -> bytes:
    answer = send(service, sent)
    assert status(answer) in allowed, (sent[:200], answer[:300])
    return answer


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
