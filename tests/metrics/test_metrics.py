"""``/metrics``: who may read it, and what it says."""

import http.client
import re
from contextlib import closing, contextmanager

import pytest
from pyramid_retry import mark_error_retryable

from modhub.catalogue.owning import views
from modhub.web.payload import decode_in_turn
from modhub_testing import TEST_ACCOUNTS, stored_files
from modhub_testing.mods import mod_address, published_mod, upload_asset
from modhub_testing.running_server import running

INCLUDES = f"{TEST_ACCOUNTS} modhub_metrics"
TOKEN = {"Authorization": "Bearer the token"}
PROXIES = [
    {"X-Forwarded-For": "127.0.0.1"},
    {"Forwarded": "for=127.0.0.1"},
    {"X-Real-IP": "127.0.0.1"},
    {"Via": "1.1 proxy"},
]


@pytest.fixture
def site(start):
    return start(INCLUDES, modhub_metrics__token="the token")


@contextmanager
def served(site, **settings):
    """Our server; ``ask(method, path, headers)`` returns the status, the content type and the body."""
    with running(site.app, **settings) as server:

        def ask(method, path, headers=None):
            with closing(http.client.HTTPConnection("127.0.0.1", server.addresses[0][1], timeout=60)) as client:
                client.request(method, path, headers=headers or {})
                response = client.getresponse()
                return response.status, response.getheader("Content-Type"), response.read()

        yield ask


def samples(site):
    """Each sample of ``/metrics`` by its name and labels."""
    lines = site.get("/metrics", headers=TOKEN).text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def grown(site, before):
    """How much each sample has grown."""
    return {name: value - before.get(name, 0) for name, value in samples(site).items() if value != before.get(name, 0)}


@pytest.mark.parametrize("proxy", [None, "127.0.0.1"])
def test_only_this_machine_and_the_token_may_read(site, proxy):
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
        ("::ffff:127.0.0.1", True, 200),
        ("127.0.0.1", None, 404),  # another server, which may have removed the headers
        ("::ffff:192.0.2.1", True, 404),
        ("localhost", True, 404),  # a unix socket
    ],
)
def test_this_machine_is_a_loopback_address(site, peer, not_forwarded, status):
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": peer, "modhub.not_forwarded": not_forwarded}
    site.get("/metrics", status=status)


@pytest.mark.parametrize("presented", ["Bearer ", "Bearer \xff"])
def test_without_a_token_none_is_right(start, presented):
    start(INCLUDES).get("/metrics", headers={"Authorization": presented}, status=404)


def test_every_name_has_the_prefix(start):
    # C-RUN-11, C-RUN-28
    site = start("modhub_auth modhub_metrics", modhub_metrics__token="the token")
    body = site.get("/metrics", headers=TOKEN).text
    names = re.findall(r"(?m)^(?:# (?:HELP|TYPE) )?(\w+)", body)
    assert [name for name in names if not name.startswith(("modhub_", "process_", "python_"))] == []
    assert [name for name in names if name.endswith("_created")] == []
    measured = samples(site)
    assert measured['modhub_part_up{part="database"}'] == measured['modhub_part_up{part="storage"}'] == 1
    assert measured['modhub_free_bytes{folder="storage"}'] > 0
    assert measured['modhub_database_connections{pool="write",state="busy"}'] == 0
    assert sum(name.startswith("modhub_build_info{") for name in measured) == 1


def test_requests_are_counted_by_kind_and_status(site):
    mod = published_mod(site)
    upload_asset(site, mod, "code", b"x" * 3_000, version="2", name="mod.zip")
    before = samples(site)
    site.get(mod_address(mod))
    site.get("/api/modhub/999", status=404)
    site.get("/nowhere", status=404)
    site.post(mod_address(mod, "publish"), status=401)
    site.as_account(7).post(mod_address(mod, "images"), b"x" * (2 * 1024 * 1024 + 1), status=413)
    found = grown(site, before)
    assert found['modhub_requests_total{kind="api_mod",method="GET",status="200"}'] == 1
    assert found['modhub_requests_total{kind="api_mod",method="GET",status="404"}'] == 1
    assert found['modhub_requests_total{kind="site_root",method="GET",status="404"}'] == 1
    assert found['modhub_requests_total{kind="api_mod",method="POST",status="401"}'] == 1
    assert found['modhub_request_seconds_count{kind="api_mod",method="GET"}'] == 2
    assert found['modhub_limits_hit_total{limit="body_bytes"}'] == 1


def test_alarms_are_counted(site):
    # C-RUN-11
    mod = published_mod(site)
    before = samples(site)["modhub_alarms_total"]
    too_large = b"x" * (2 * 1024 * 1024 + 1)
    site.as_account(7).post(mod_address(mod, "images"), too_large, status=413)
    assert samples(site)["modhub_alarms_total"] == before
    for path in stored_files(site):
        path.unlink()
    for number in (1, 2):
        site.get(mod_address(mod, "download"), status=503)
        assert samples(site)["modhub_alarms_total"] == before + number


def test_a_kept_response_is_counted_each_time(site):
    """The execution policy sends it: no tween sees that request."""
    published_mod(site)
    before = samples(site)
    first = site.get("/api/modhub")
    assert site.get("/api/modhub").body == first.body
    site.request("/api/modhub", method="HEAD")
    site.get("/api/modhub", headers={"If-None-Match": first.headers["ETag"]}, status=304)
    found = grown(site, before)
    assert found['modhub_requests_total{kind="api_catalogue",method="GET",status="200"}'] == 2
    assert found['modhub_requests_total{kind="api_catalogue",method="HEAD",status="200"}'] == 1
    assert found['modhub_requests_total{kind="api_catalogue",method="GET",status="304"}'] == 1
    assert found['modhub_request_seconds_count{kind="api_catalogue",method="GET"}'] == 3


def test_a_repeated_request_is_counted_once(site, monkeypatch):
    failures = [RuntimeError(), RuntimeError()]

    def conflict_twice(*arguments):
        if failures:
            mark_error_retryable(failures[-1])
            raise failures.pop()
        return decode_in_turn(*arguments)

    monkeypatch.setattr(views, "decode_in_turn", conflict_twice)
    before = samples(site)
    site.as_account(7).post_json("/api/modhub", {"title": "x"}, status=201)
    found = grown(site, before).items()
    posts = {name: value for name, value in found if name.startswith('modhub_requests_total{kind="api_')}
    assert posts == {'modhub_requests_total{kind="api_catalogue",method="POST",status="201"}': 1}


def test_the_server_says_what_it_does(site):
    with served(site, threads=3) as ask:
        text = ask("GET", "/metrics")[2].decode()
        assert 'modhub_server_waiting_requests{pool="reading"} 0.0' in text
        assert "modhub_server_connections 1.0" in text
        name = 'modhub_limits_hit_total{limit="head_bytes"}'
        before = samples(site).get(name, 0)
        assert ask("GET", "/", {"X-Long": "x" * 70_000})[0] == 431
        assert samples(site)[name] == before + 1
