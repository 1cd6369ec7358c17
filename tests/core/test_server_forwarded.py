"""Clients named by a proxy."""

import json

import pytest

from modhub.base.body_rules import NOT_FORWARDED
from modhub.server.settings import Settings
from modhub.server.tasks import caller_address
from modhub_testing.running_server import RawClient, running

X_HEADERS = "x-forwarded-for x-forwarded-host x-forwarded-proto"
PROXY = {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": X_HEADERS}


def echo(environ, start_response):
    """Answers with what it is told about the caller."""
    body = json.dumps({name: environ.get(name) for name in ("REMOTE_ADDR", "HTTP_HOST", NOT_FORWARDED)}).encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


def seen(settings, *lines):
    head = "\r\n".join(["GET / HTTP/1.1", "Host: a", *lines, "", ""]).encode("latin-1")
    with running(echo, **settings) as service, RawClient(service) as client:
        answer = client.ask(head)
    assert answer.status == 200
    return list(json.loads(answer.body).values())


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("192.0.2.1", "192.0.2.1"),
        (' "192.0.2.1:80" ', "192.0.2.1"),
        ("2001:DB8::1", "[2001:db8::1]"),
        ("[2001:db8::1]:443", "[2001:db8::1]"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("[::ffff:192.0.2.1]:80", "192.0.2.1"),
        ("64:ff9b::192.0.2.1", "[64:ff9b::c000:201]"),
        *[(junk, "unknown") for junk in ("", " ", '" "', ":80", "[]", "[", "a b", "_hidden", "1.2.3", "é", "0x7f.1")],
    ],
)
def test_what_a_proxy_calls_a_caller(sent, meant):
    assert caller_address(sent) == meant


@pytest.mark.parametrize(
    ("settings", "listed", "caller"),
    [
        (PROXY, "a, 2001:db8::1, 2001:db8::2", "2001:db8::2"),
        ({**PROXY, "trusted_proxy_count": 2}, "a, 2001:db8::1, 2001:db8::2", "2001:db8::1"),
        ({**PROXY, "trusted_proxy": "*"}, "::ffff:192.0.2.1", "192.0.2.1"),
        ({**PROXY, "trusted_proxy": "192.0.2.9"}, "2001:db8::2", "127.0.0.1"),
        (PROXY, '"a, "junk", [', "unknown"),
        ({}, "2001:db8::2", "127.0.0.1"),
    ],
)
def test_only_what_a_trusted_proxy_added_is_looked_at(settings, listed, caller):
    # C-LIM-7
    assert seen(settings, f"X-Forwarded-For: {listed}") == [caller, "a", False]


def test_what_nobody_trusted_has_sent_does_not_reach_the_application():
    assert seen({}, "X-Forwarded-Host: b", "X-Forwarded-Proto: x") == ["127.0.0.1", "a", False]
    assert seen({}) == ["127.0.0.1", "a", True]
    assert seen(PROXY, "Via: 1.1 b") == ["127.0.0.1", "a", False]


def test_the_header_forwarded_is_refused_as_a_setting():
    with pytest.raises(ValueError, match="x-forwarded-for"):
        Settings(trusted_proxy="*", trusted_proxy_headers="forwarded")
