"""``/metrics``: who may read it, and what it says."""

import http.client
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from pyramid_retry import mark_error_retryable

from modhub.base.metrics import COUNTER
from modhub.base.settings import StartRefused
from modhub.catalogue import owner_views
from modhub.http.payload import decode_in_turn
from modhub_metrics import exporter
from modhub_metrics.exporter import Exporter
from modhub_testing import TEST_ACCOUNTS, Site, Start, stored_files
from modhub_testing.mods import mod_address, published_mod, upload_asset
from modhub_testing.running_server import running

INCLUDES = f"{TEST_ACCOUNTS} modhub_metrics"
TOKEN = {"Authorization": "Bearer the token"}
PROXIES = [
    {"X-Forwarded-For": "127.0.0.1"},
    {"X-Forwarded-For": ""},
    {"Forwarded": "for=127.0.0.1"},
    {"X-Forwarded-Proto": "http"},
    {"X-Real-IP": "127.0.0.1"},
    {"Via": "1.1 proxy"},
]

Answer = tuple[int, str | None, bytes]


@pytest.fixture
def site(start: Start) -> Site:
    return start(INCLUDES, fresh=True, modhub_metrics__token="the token")  # counters begin at 0


@contextmanager
def served(site: Site, **settings: Any) -> Iterator[Any]:
    """Our server; ``ask(method, path, headers)`` returns the status, the content type and the body."""
    with running(site.app, **settings) as server:

        def ask(method: str, path: str, headers: dict[str, str] | None = None) -> Answer:
            with closing(http.client.HTTPConnection("127.0.0.1", server.addresses[0][1], timeout=60)) as client:
                client.request(method, path, headers=headers or {})
                response = client.getresponse()
                return response.status, response.getheader("Content-Type"), response.read()

        yield ask


def samples(site: Site) -> dict[str, float]:
    """Each sample of ``/metrics`` by its name and labels."""
    lines = site.get("/metrics", headers=TOKEN).text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


@pytest.mark.parametrize("proxy", [None, "127.0.0.1"])
def test_only_this_machine_and_the_token_may_read(site: Site, proxy: str | None) -> None:
    # C-RUN-11
    with served(site, trusted_proxy=proxy, trusted_proxy_headers=proxy and "x-forwarded-for") as ask:
        assert ask("GET", "/metrics")[:2] == (200, "text/plain; version=0.0.4; charset=utf-8")
        for headers in PROXIES:
            for method in ("GET", "HEAD", "POST", "OPTIONS", "PUT"):
                assert ask(method, "/metrics", headers) == ask(method, "/metricz", headers), (method, headers)
            assert ask("GET", "/metrics", headers)[0] == 404
            assert ask("GET", "/metrics", headers | TOKEN)[0] == 200
            assert ask("GET", "/metrics", headers | {"Authorization": "Bearer the toke"})[0] == 404


@pytest.mark.parametrize(
    ("peer", "not_forwarded", "status"),
    [
        ("127.0.0.1", True, 200),
        ("127.8.9.1", True, 200),
        ("::1", True, 200),
        ("::ffff:127.0.0.1", True, 200),
        ("127.0.0.1", None, 404),  # another server, which may have removed the headers
        ("192.168.0.2", True, 404),
        ("::ffff:192.0.2.1", True, 404),
        ("localhost", True, 404),  # a unix socket
        ("", True, 404),
    ],
)
def test_this_machine_is_a_loopback_address(site: Site, peer: str, not_forwarded: bool | None, status: int) -> None:
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": peer, "modhub.not_forwarded": not_forwarded}
    site.get("/metrics", status=status)


@pytest.mark.parametrize("presented", ["Bearer ", "Bearer", "bearer", "Basic the token", "Bearer \xff"])
def test_without_a_token_none_is_right(start: Start, presented: str) -> None:
    start(INCLUDES).get("/metrics", headers={"Authorization": presented}, status=404)


def test_every_name_has_the_prefix(start: Start) -> None:
    site = start("modhub_auth modhub_metrics", modhub_metrics__token="the token")
    body = site.get("/metrics", headers=TOKEN).text
    names = re.findall(r"(?m)^(?:# (?:HELP|TYPE) )?(\w+)", body)
    assert len(set(names)) > 25
    assert [name for name in names if not name.startswith("modhub_")] == []
    measured = samples(site)
    assert measured['modhub_part_up{part="database"}'] == measured['modhub_part_up{part="storage"}'] == 1
    assert measured['modhub_emails{state="waiting"}'] == measured["modhub_metrics_failing"] == 0
    assert measured['modhub_limits_hit_total{limit="body_bytes"}'] == 0


def test_requests_are_counted_by_kind_and_status(site: Site) -> None:
    mod = published_mod(site)
    upload_asset(site, mod, "code", b"x" * 3_000, version="2", name="mod.zip")
    before = samples(site)
    site.get(mod_address(mod))
    site.get("/api/modhub/999", status=404)
    site.get("/nowhere", status=404)
    site.post(mod_address(mod, "publish"), status=401)
    site.as_account(7).post(mod_address(mod, "images"), b"x" * (2 * 1024 * 1024 + 1), status=413)
    after = samples(site)
    grown = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    assert grown['modhub_requests_total{kind="api_mod",method="GET",status="200"}'] == 1
    assert grown['modhub_requests_total{kind="api_mod",method="GET",status="404"}'] == 1
    assert grown['modhub_requests_total{kind="site_root",method="GET",status="404"}'] == 1
    assert grown['modhub_requests_total{kind="api_mod",method="POST",status="401"}'] == 1
    assert grown['modhub_request_seconds_count{kind="api_mod",method="GET"}'] == 2
    assert grown['modhub_limits_hit_total{limit="body_bytes"}'] == 1
    assert after['modhub_request_body_bytes_total{kind="api_mod"}'] > 3_000
    assert grown['modhub_response_body_bytes_total{kind="api_mod"}'] > 100
    assert after['modhub_store_files{state="used"}'] == 1
    assert after['modhub_store_bytes{state="used"}'] == 3_000
    assert after['modhub_store_files{state="trashed"}'] == 1


def test_calls_to_the_store_are_timed_and_their_failures_counted(site: Site) -> None:
    # C-RUN-26
    mod = published_mod(site)
    site.get(mod_address(mod, "download"))
    measured = samples(site)
    for operation in ("stage", "publish", "open"):
        assert measured[f'modhub_store_operations_total{{operation="{operation}"}}'] == 1, operation
        assert 0 < measured[f'modhub_store_operation_seconds_total{{operation="{operation}"}}'] < 60
        assert measured[f'modhub_store_errors_total{{operation="{operation}"}}'] == 0
    too_large = b"x" * (2 * 1024 * 1024 + 1)
    site.as_account(7).post(mod_address(mod, "images"), too_large, status=413)
    assert samples(site)['modhub_store_errors_total{operation="stage"}'] == 0
    for path in stored_files(site):
        path.unlink()
    site.get(mod_address(mod, "download"), status=503)
    failed = samples(site)
    assert failed['modhub_store_operations_total{operation="open"}'] == 2
    assert failed['modhub_store_errors_total{operation="open"}'] == 1


def test_a_kept_response_is_counted_each_time(site: Site) -> None:
    """The execution policy sends it: no tween sees that request."""
    published_mod(site)
    before = samples(site)
    first = site.get("/api/modhub")
    assert site.get("/api/modhub").body == first.body
    site.request("/api/modhub", method="HEAD")
    site.get("/api/modhub", headers={"If-None-Match": first.headers["ETag"]}, status=304)
    after = samples(site)
    grown = {name: value - before.get(name, 0) for name, value in after.items() if 'kind="api_catalogue"' in name}
    assert grown['modhub_requests_total{kind="api_catalogue",method="GET",status="200"}'] == 2
    assert grown['modhub_requests_total{kind="api_catalogue",method="HEAD",status="200"}'] == 1
    assert grown['modhub_requests_total{kind="api_catalogue",method="GET",status="304"}'] == 1
    assert grown['modhub_request_seconds_count{kind="api_catalogue",method="GET"}'] == 3
    assert grown['modhub_response_body_bytes_total{kind="api_catalogue"}'] == 2 * len(first.body)


def test_a_repeated_request_is_counted_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [RuntimeError(), RuntimeError()]

    def conflict_twice(*arguments: Any) -> Any:
        if failures:
            mark_error_retryable(failures[-1])
            raise failures.pop()
        return decode_in_turn(*arguments)

    monkeypatch.setattr(owner_views, "decode_in_turn", conflict_twice)
    before = samples(site)
    site.as_account(7).post_json("/api/modhub", {"title": "x"}, status=201)
    after = samples(site)
    assert after["modhub_request_retries_total"] - before["modhub_request_retries_total"] == 2
    grown = {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}
    posts = {name: value for name, value in grown.items() if name.startswith('modhub_requests_total{kind="api_')}
    assert posts == {'modhub_requests_total{kind="api_catalogue",method="POST",status="201"}': 1}


def test_a_metric_that_fails_is_left_out_for_a_while(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    reader, calls = site.find_service(Exporter), []

    def fail(_registry: Any) -> float:
        calls.append(1)
        raise OSError

    site.config.add_metric("broken", "Never to be had.", fail)
    site.config.commit()
    for _ in range(2):
        measured = samples(site)
        assert measured["modhub_metrics_failing"] == 1
        assert "modhub_broken" not in measured
        assert measured['modhub_part_up{part="database"}'] == 1
    assert len(calls) == 1
    reader._next_try[fail] = 0.0
    samples(site)
    assert len(calls) == 2
    # Once for all readings that fail in a row.
    assert caplog.messages.count("the metric broken cannot be read (OSError)") == 1


def test_who_reads_at_once_may_find_another_metric_that_fails(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = site.find_service(Exporter)._next_try

    def monotonic_with_another() -> float:
        failing[len(failing)] = 0.0
        return time.monotonic()

    monkeypatch.setattr(exporter, "monotonic", monotonic_with_another)
    assert samples(site)["modhub_metrics_failing"] == 0


def test_the_server_says_what_it_does(site: Site) -> None:
    with served(site, threads=3) as ask:
        text = ask("GET", "/metrics")[2].decode()
        assert 'modhub_server_threads{pool="reading",state="busy"} 1.0' in text
        assert 'modhub_server_threads{pool="reading",state="idle"} 2.0' in text
        assert "modhub_server_connections 1.0" in text
        assert 'modhub_limits_hit_total{limit="head_bytes"} 0.0' in text
        assert ask("GET", "/", {"X-Long": "x" * 70_000})[0] == 431
        assert 'modhub_limits_hit_total{limit="head_bytes"} 1.0' in ask("GET", "/metrics")[2].decode()


def test_a_limit_of_sign_ins_is_counted(start: Start) -> None:
    site = start("modhub_auth modhub_metrics", modhub_metrics__token="the token", modhub_auth__forgot_limit="1")
    for status in (204, 429):
        site.post_json("/api/auth/forgot", {"email": "x@example.org"}, status=status)
    assert samples(site)['modhub_limits_hit_total{limit="forgot"}'] == 1


def test_without_the_feature_nothing_is_read(start: Start) -> None:
    site = start(TEST_ACCOUNTS)
    site.config.add_metric("never", "Never read.", lambda _: pytest.fail("read"))
    site.config.commit()
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": "127.0.0.1", "modhub.not_forwarded": True}
    site.get("/metrics", status=404)


@pytest.mark.parametrize(("name", "kind"), [("things_total", "gauge"), ("things", COUNTER)])
def test_the_name_of_a_counter_says_so(site: Site, name: str, kind: str) -> None:
    with pytest.raises(StartRefused, match="_total"):
        site.config.add_metric(name, "Things.", lambda _: 0, kind=kind)
