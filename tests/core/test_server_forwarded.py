"""Callers that a proxy names (decisions 3.5)."""

from types import SimpleNamespace
from typing import Any

import pytest
from waitress.proxy_headers import proxy_headers_middleware

from modhub.server.forwarded import caller, name_callers


def adj(header: str, count: int = 1, proxy: str | None = "127.0.0.1") -> Any:
    return SimpleNamespace(trusted_proxy=proxy, trusted_proxy_count=count, trusted_proxy_headers={header})


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
    assert caller(sent) == meant


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
    found = []
    app = proxy_headers_middleware(
        lambda environ, _start: found.append(environ["REMOTE_ADDR"]),
        trusted_proxy="127.0.0.1",
        trusted_proxy_headers={header.lower().replace("_", "-")},
    )
    environ = {"REMOTE_ADDR": "127.0.0.1", "wsgi.url_scheme": "http", f"HTTP_{header}": sent}
    name_callers(environ, adj(header.lower().replace("_", "-")))
    app(environ, None)
    assert found == [seen]


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
    environ = {
        "REMOTE_ADDR": peer,
        "HTTP_X_FORWARDED_FOR": "a,2001:db8::1,2001:db8::2",
        "HTTP_FORWARDED": "for=c,for=2001:db8::2",
    }
    name_callers(environ, settings)
    assert (environ["HTTP_X_FORWARDED_FOR"], environ["HTTP_FORWARDED"]) == (listed, elements)
