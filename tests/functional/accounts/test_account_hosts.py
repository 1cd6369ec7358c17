"""The service's own address and the client's are decided by the operator alone, not by request headers.

Raw requests over a socket to a real process.
"""

import email
import email.policy
import json
import re
import socket
import time

import pytest

from modhub_testing.service import PASSWORD

pytestmark = pytest.mark.long

EVIL = "evil.example.org"
PORT = "127.0.0.1:6543"
IGNORED = {
    "evil": [f"Host: {EVIL}"],
    "port": [f"Host: {EVIL}:80"],
    "trailing dot": [f"Host: {EVIL}."],
    "encoded line": [f"Host: {EVIL}%0d%0aX-Evil"],
    "mapped IPv6": ["Host: [::ffff:203.0.113.66]"],
    "another port of ours": ["Host: 127.0.0.1:66"],
    "forwarded host": [f"Host: {PORT}", f"X-Forwarded-Host: {EVIL}"],
    "forwarded": [f"Host: {PORT}", f"Forwarded: for=203.0.113.66;host={EVIL};proto=https"],
    "forwarded proto": [
        f"Host: {PORT}",
        "X-Forwarded-Proto: evil",
        "X-Forwarded-Port: 66",
        "X-Forwarded-Prefix: /evil",
    ],
    "forwarded server": [f"Host: {PORT}", f"X-Forwarded-Server: {EVIL}", f"X-Original-Host: {EVIL}"],
    "underscored": [f"Host: {PORT}", f"X_Forwarded_Host: {EVIL}"],
    "where from": [f"Host: {PORT}", f"Referer: https://{EVIL}/", f"Origin: https://{EVIL}"],
    "root": [f"Host: {PORT}", f"X-Vhm-Root: /{EVIL}", f"X-Script-Name: /{EVIL}"],
}
REFUSED = {
    "none": [],
    "empty": ["Host:"],
    "two": [f"Host: {PORT}", f"Host: {EVIL}"],
    "two alike": [f"Host: {PORT}", f"Host: {PORT}"],
    "user": [f"Host: {PORT}@{EVIL}"],
    "path": [f"Host: {EVIL}/{PORT}"],
    "scheme": [f"Host: http://{EVIL}"],
    "space": [f"Host: {PORT} {EVIL}"],
    "backslash": [f"Host: {EVIL}\\{PORT}"],
    "port of six digits": [f"Host: {EVIL}:123456"],
    "open bracket": ["Host: [::1"],
    "zone": ["Host: [fe80::1%25eth0]"],
    "not ASCII": ["Host: évil.example.org"],
    "markup": ["Host: <b>evil</b>"],
    "folded": [f"Host: {PORT}\r\n {EVIL}"],
    "space before the colon": [f"Host : {EVIL}"],
}
ABSOLUTE = {
    f"http://{EVIL}": 204,
    f"https://{EVIL}:443": 204,
    f"http://a@{EVIL}": 400,
    f"//{EVIL}": 404,
    "http://": 400,
}


PAGES = {"/": 302, "/Modhub": 200, "/Modhub/account": 303, "/Modhub/account/login": 200, "/Modhub/no": 404}
"""Pages that redirect, link, hold a form, refuse."""


@pytest.fixture(scope="module")
def service(services):
    """Two processes over one database: the first trusts nobody, the second the proxy at 127.0.0.1."""
    limits = {"modhub_auth.forgot_limit": "1000", "modhub_auth.failures": "3"}
    made = services("sqlite", 1, settings=limits)
    trusting = {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": "x-forwarded-for", "trusted_proxy_count": 1}
    made.configure("modhub_auth", {**limits, "modhub_auth.register_limit": "1000000"}, trusting)
    made.start()
    yield made
    made.stop()


def send(service, lines: list[str], body: dict[str, str] | None = None, process: int = 0) -> tuple[int, bytes]:
    """The status and the whole answer of one request: its line, its fields."""
    content = json.dumps(body).encode() if body is not None else b""
    head = [*lines, "Connection: close", f"Content-Length: {len(content)}", "", ""]
    with socket.create_connection(("127.0.0.1", service.processes[process].port), 60) as client:
        client.sendall("\r\n".join(head).encode() + content)
        response = b""
        while piece := client.recv(1 << 16):
            response += piece
    return int(response.split(b" ", 2)[1]), response


def echoed_words(response: bytes, request: list[str]) -> list[str]:
    """The words of the request that the response repeats."""
    words = re.findall(r"evil|203\.0\.113|2001:db8|:66\b", " ".join(request), re.IGNORECASE)
    return [word for word in words if word.lower().encode() in response.lower()]


def emails(service, count: int) -> list[str]:
    """The emails, once there are so many."""
    deadline = time.monotonic() + 120
    while len(paths := list((service.folder / "mail").glob("*.eml"))) < count and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(paths) == count
    return [path.read_text() for path in paths]


def test_links_and_pages_name_the_configured_origin_under_every_host(service):
    # C-HTTP-6, C-MAIL-3, T-C7
    """Each form asks for an email to an address of its own, and for pages that link, redirect and refuse."""
    recipients = []
    for number, (name, fields) in enumerate(IGNORED.items()):
        address = {"email": f"host{number}@example.org", "password": PASSWORD}
        status, response = send(service, ["POST /api/auth/register HTTP/1.1", *fields], address)
        assert (status, echoed_words(response, fields)) == (201, []), name
        assert send(service, ["POST /api/auth/forgot HTTP/1.1", *fields], address)[0] == 204, name
        for path, expected in PAGES.items():
            status, response = send(service, [f"GET {path} HTTP/1.1", *fields])
            assert (status, echoed_words(response, fields)) == (expected, []), (name, path)
        recipients += [address["email"]] * 2
    for name, fields in REFUSED.items():
        status, response = send(service, ["POST /api/auth/forgot HTTP/1.1", *fields], {"email": "host0@example.org"})
        assert (status, echoed_words(response, fields)) == (400, []), name
    for number, (origin, expected) in enumerate(ABSOLUTE.items()):
        line = f"POST {origin}/api/auth/forgot HTTP/1.1"
        status, response = send(service, [line, f"Host: {PORT}"], {"email": f"host{number}@example.org"})
        assert (status, echoed_words(response, [line])) == (expected, []), origin
        recipients += [f"host{number}@example.org"] * (expected == 204)
    sent = [email.message_from_string(text, policy=email.policy.default) for text in emails(service, len(recipients))]
    assert sorted(message["To"] for message in sent) == sorted(recipients)
    for message in sent:
        whole = message.as_string()
        assert set(re.findall(r"https?://[^/\s\"<]+", whole)) == {f"http://{PORT}"}
        assert not re.search(r"evil|203\.0\.113|2001:db8|:66\b", whole, re.IGNORECASE)
        assert message["Message-ID"].endswith("@127.0.0.1>")


def fail(service, process: int, *fields: str) -> int:
    """A sign-in that fails, at an address of its own: what is counted is the caller."""
    fail.number = getattr(fail, "number", 0) + 1
    credentials = {"email": f"nobody{fail.number}@example.org", "password": PASSWORD}
    return send(service, ["POST /api/auth/login HTTP/1.1", f"Host: {PORT}", *fields], credentials, process)[0]


def test_a_caller_who_is_not_behind_the_proxy_names_nobody_else(service):
    # C-LIM-7, T-C6
    names = ["X-Forwarded-For", "X-Real-IP", "X-Client-IP", "CF-Connecting-IP", "True-Client-IP", "X_Forwarded_For"]
    spoofed = [[f"{name}: 203.0.113.{at}"] for at, name in enumerate(names)] + [["Forwarded: for=203.0.113.9"]]
    assert [fail(service, 0, *fields) for fields in spoofed] == [401] * 3 + [429] * 4
    # The proxy's own caller is another one than the proxy.
    assert fail(service, 1, "X-Forwarded-For: 198.51.100.1") == 401
    assert fail(service, 1) == 429, "who comes from the proxy itself is 127.0.0.1, in every process"


def test_behind_a_trusted_proxy_the_caller_is_whom_it_names(service):
    # C-LIM-7, T-C6
    def through(*callers: str) -> list[int]:
        return [fail(service, 1, f"X-Forwarded-For: {caller}") for caller in callers]

    assert through(*["192.0.2.1"] * 4) == [401, 401, 401, 429]
    assert through("192.0.2.2") == [401]
    # What the caller wrote stands before what the proxy has added: one proxy is trusted, so the last counts.
    assert through("192.0.2.77, 192.0.2.1", "192.0.2.78,192.0.2.1", '"192.0.2.1"', "192.0.2.1:8080") == [429] * 4
    assert through("::ffff:192.0.2.1", "[::ffff:192.0.2.1]:80", "::ffff:192.0.2.3") == [429, 429, 401]
    of_one_network = ["2001:db8:0:1::1", "[2001:db8:0:1::2]", "[2001:db8:0:1:ffff::3]:443", "2001:DB8:0:1::4"]
    assert through(*of_one_network, "2001:db8:0:2::1") == [401, 401, 401, 429, 401]
    others = [
        "X-Real-IP: 192.0.2.9",
        "Forwarded: for=192.0.2.9",
        f"X-Forwarded-Host: {EVIL}",
        "X-Forwarded-Proto: https",
    ]
    assert fail(service, 1, "X-Forwarded-For: 192.0.2.1", *others) == 429


def test_invalid_addresses_count_as_one_caller(service):
    junk = [":80", "unknown", '" "', "_hidden", "[]", "évil", "9" * 5000, "a b", "%00", "1.2.3.4.5"]
    assert [fail(service, 1, f"X-Forwarded-For: {caller}") for caller in junk] == [401] * 3 + [429] * (len(junk) - 3)


def test_forwarded_host_and_proto_of_a_trusted_proxy_decide_nothing(service):
    fields = [f"Host: {PORT}", "X-Forwarded-For: 192.0.2.50", f"X-Forwarded-Host: {EVIL}", "X-Forwarded-Proto: https"]
    for path in ("/Modhub/account/login", "/Modhub", "/Modhub/account"):
        status, response = send(service, [f"GET {path} HTTP/1.1", *fields], process=1)
        assert (status in (200, 303), echoed_words(response, fields), b"https:" in response) == (True, [], False)
        assert b"Secure" not in response
        assert b"Strict-Transport-Security" not in response
