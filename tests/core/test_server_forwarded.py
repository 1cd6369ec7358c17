"""Clients named by a proxy."""

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from waitress.proxy_headers import proxy_headers_middleware

from modhub.base.body_rules import BodyRules
from modhub.server import forwarded
from modhub.server.forwarded import UntrustedProxyWarning, caller_address, forwarded_caller, normalize_forwarded_headers
from modhub.server.protocol_errors import ERROR_HEADERS as FAULT_HEADERS
from modhub_testing.running_server import RawClient, running


def adj(header: str, count: int = 1, proxy: str | None = "127.0.0.1") -> Any:
    return SimpleNamespace(
        trusted_proxy=proxy,
        trusted_proxy_count=count,
        trusted_proxy_headers={header},
        proxy_warning=UntrustedProxyWarning(),
    )


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("192.0.2.1", "192.0.2.1"),
        (' "192.0.2.1:80" ', "192.0.2.1"),
        ("2001:DB8::1", "[2001:db8::1]"),
        ("[2001:db8::1]:443", "[2001:db8::1]"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("[::ffff:192.0.2.1]:80", "192.0.2.1"),
        ("64:ff9b::192.0.2.1", "[64:ff9b::c000:201]"),
        ("fe80::1%eth0", "[fe80::1]"),
        *[(junk, "unknown") for junk in ("", " ", '" "', ":80", "[]", "[", "a b", "_hidden", "1.2.3", "é", "0x7f.1")],
    ],
)
def test_what_a_proxy_calls_a_caller(sent: str, meant: str) -> None:
    assert caller_address(sent) == meant


@pytest.mark.parametrize(
    ("header", "sent", "seen"),
    [
        ("X_FORWARDED_FOR", "::ffff:192.0.2.1", "192.0.2.1"),
        ("X_FORWARDED_FOR", "203.0.113.9, 2001:db8::1", "2001:db8::1"),
        ("X_FORWARDED_FOR", ":80", "unknown"),
        ("FORWARDED", 'for=203.0.113.9, by=192.0.2.7;For="[2001:db8::1]:80";proto=http', "2001:db8::1"),
        ("FORWARDED", 'for=":80"', "unknown"),
        ("FORWARDED", "for=", "unknown"),
        ("FORWARDED", "for=::ffff:192.0.2.1", "192.0.2.1"),
    ],
)
def test_waitress_reads_it_so(header: str, sent: str, seen: str) -> None:
    callers = []
    app = proxy_headers_middleware(
        lambda environ, _start: callers.append(environ["REMOTE_ADDR"]),
        trusted_proxy="127.0.0.1",
        trusted_proxy_headers={header.lower().replace("_", "-")},
    )
    assert forwarded_caller({header: sent}, adj(header.lower().replace("_", "-"))) in {seen, f"[{seen}]"}
    environ = {"REMOTE_ADDR": "127.0.0.1", "wsgi.url_scheme": "http", f"HTTP_{header}": sent}
    normalize_forwarded_headers(environ, adj(header.lower().replace("_", "-")))
    app(environ, None)
    assert callers == [seen]


@pytest.mark.parametrize(
    ("settings", "peer", "listed", "elements"),
    [
        (adj("x-forwarded-for"), "127.0.0.1", "[2001:db8::2]", "for=c,for=2001:db8::2"),
        (adj("forwarded"), "127.0.0.1", "a,2001:db8::1,2001:db8::2", 'for="[2001:db8::2]"'),
        (adj("x-forwarded-for", 2), "127.0.0.1", "[2001:db8::1],[2001:db8::2]", "for=c,for=2001:db8::2"),
        (adj("x-forwarded-for"), "192.0.2.1", "a,2001:db8::1,2001:db8::2", "for=c,for=2001:db8::2"),
        (adj("x-forwarded-for", proxy="*"), "192.0.2.1", "[2001:db8::2]", "for=c,for=2001:db8::2"),
        (adj("x-forwarded-for", proxy=None), "127.0.0.1", "a,2001:db8::1,2001:db8::2", "for=c,for=2001:db8::2"),
    ],
)
def test_only_what_a_trusted_proxy_added_is_looked_at(settings: Any, peer: str, listed: str, elements: str) -> None:
    # C-LIM-7
    environ = {
        "REMOTE_ADDR": peer,
        "HTTP_X_FORWARDED_FOR": "a,2001:db8::1,2001:db8::2",
        "HTTP_FORWARDED": "for=c,for=2001:db8::2",
    }
    normalize_forwarded_headers(environ, settings)
    assert (environ["HTTP_X_FORWARDED_FOR"], environ["HTTP_FORWARDED"]) == (listed, elements)


HEADERS = ["HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_FORWARDED_PROTO"]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "10.1.2.3", "172.17.0.1", "192.168.0.9", "fd00::1", "localhost"])
def test_an_untrusted_proxy_is_logged_once_an_hour(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, peer: str, header: str
) -> None:
    # T-F11
    clock = [50.0]
    monkeypatch.setattr(forwarded, "monotonic", lambda: clock[0])
    settings = adj("x-forwarded-for", proxy=None)
    for seconds, lines in ((0, 1), (1, 1), (3598, 1), (3600, 2), (3601, 2)):
        clock[0] = 50.0 + seconds
        normalize_forwarded_headers({"REMOTE_ADDR": peer, header: "192.0.2.1"}, settings)
        assert len(caplog.records) == lines
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert f"set trusted_proxy = {peer} in [server:main]" in caplog.text
    assert "192.0.2.1" not in caplog.text


def test_a_proxy_other_than_the_trusted_one_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    normalize_forwarded_headers({"REMOTE_ADDR": "172.17.0.1", HEADERS[0]: "x"}, adj("x-forwarded-for"))
    assert "trusted_proxy = 172.17.0.1" in caplog.text


def test_a_trusted_proxy_without_its_trusted_headers_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    normalize_forwarded_headers({"REMOTE_ADDR": "127.0.0.1", HEADERS[0]: "x"}, adj("x-forwarded-proto"))
    assert "set trusted_proxy_headers = x-forwarded-for" in caplog.text


@pytest.mark.parametrize("peer", ["8.8.8.8", "2a00::1", "::ffff:8.8.8.8"])
def test_what_strangers_send_fills_no_log(caplog: pytest.LogCaptureFixture, peer: str) -> None:
    for header in HEADERS:
        normalize_forwarded_headers({"REMOTE_ADDR": peer, header: "x"}, adj("x-forwarded-for"))
    normalize_forwarded_headers({"REMOTE_ADDR": "127.0.0.1"}, adj("x-forwarded-for", proxy=None))
    normalize_forwarded_headers({"REMOTE_ADDR": "127.0.0.1", HEADERS[0]: "x"}, adj("x-forwarded-for"))
    assert caplog.text == ""


def test_nobody_is_named_where_the_trusted_header_is_absent() -> None:
    for header in ("x-forwarded-for", "forwarded", "x-forwarded-proto"):
        assert forwarded_caller({"X_REAL_IP": "192.0.2.1"}, adj(header)) is None
    assert forwarded_caller({"FORWARDED": "proto=http"}, adj("forwarded")) is None


TRANSPORT = (("Strict-Transport-Security", "max-age=31536000; includeSubDomains"),)
X_HEADERS = "x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-port"


def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answers with the host that it was called by, and ``X-Application``."""
    start_response("200 OK", [("X-Application", "yes")])
    return [environ["HTTP_HOST"].encode("latin-1")]


def registry(kind: object) -> BodyRules:
    rules = BodyRules()
    rules.error_headers = TRANSPORT
    return rules


echo.registry = SimpleNamespace(queryUtility=registry)  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize(
    ("trusted", "name", "line"),
    [
        (X_HEADERS, "X-Forwarded-Proto", "X-Forwarded-Proto: gopher"),
        (X_HEADERS, "X-Forwarded-Proto", "X-Forwarded-Proto: http, https"),
        (X_HEADERS, "X-Forwarded-Proto", 'X-Forwarded-Proto: "http'),
        (X_HEADERS, "X-Forwarded-Host", 'X-Forwarded-Host: "a'),
        (X_HEADERS, "X-Forwarded-Port", "X-Forwarded-Port: 80, 81"),
        ("forwarded", "Forwarded", "Forwarded: for"),
        ("forwarded", "Forwarded", "Forwarded: for=192.0.2.1; proto=http"),
        ("forwarded", "Forwarded", "Forwarded: proto=gopher"),
        ("forwarded", "Forwarded", 'Forwarded: host="a'),
    ],
)
def test_a_malformed_header_of_a_trusted_proxy_is_refused_as_the_server_refuses(
    method: str, trusted: str, name: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    # C-HTTP-10
    request = f"{method} /Modhub HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n".encode("latin-1")
    settings = {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": trusted}
    with running(echo, **settings) as service, RawClient(service) as client:
        answer = client.ask(request, method)
        assert answer.status == 400
        for field, value in (*FAULT_HEADERS, *TRANSPORT):
            assert answer.fields[field.lower()] == value
        assert len(answer.fields["x-request-id"]) == 32
        if method != "HEAD":
            assert json.loads(answer.body) == {
                "error": "bad_request",
                "message": f"The {name} header is malformed.",
            }
        assert client.ask(request, method).status == 400  # the log says it once
        assert client.ask(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").fields["x-application"] == "yes"
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == [f"a trusted proxy sent a malformed {name} header"]


@pytest.mark.parametrize(
    "junk", ["", " ", '"', '""', ":", ":80", "[", "]", "[]", "a b", "é", "a:b:c", "a,b,,", "=;", "," * 99]
)
def test_no_junk_in_a_forwarded_header_is_a_500_or_an_answer_of_waitress(junk: str) -> None:
    for trusted in (X_HEADERS, "forwarded"):
        settings = {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": trusted}
        with running(echo, **settings) as service:
            for name in trusted.split():
                for value in (junk, f"for={junk}", f"host={junk}", f"proto={junk}", f'for="{junk}"'):
                    line = f"{name}: {value}".encode("latin-1")
                    with RawClient(service) as client:
                        answer = client.ask(b"GET / HTTP/1.1\r\nHost: a\r\n" + line + b"\r\n\r\n")
                    assert answer.status in (200, 400), line
                    assert ("x-application" in answer.fields) is (answer.status == 200)
                    assert ("x-request-id" in answer.fields) is (answer.status == 400)


def test_what_nobody_trusted_has_sent_does_not_reach_the_application() -> None:
    with running(echo) as service, RawClient(service) as client:
        answer = client.ask(b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Host: b\r\nX-Forwarded-Proto: x\r\n\r\n")
        assert (answer.status, answer.body) == (200, b"a")
