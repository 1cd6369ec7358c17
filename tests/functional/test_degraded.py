"""What goes on while the store or the database is away, what is answered, and that everything comes back by itself."""

import re

import pytest

from modhub_testing.caller import Caller
from modhub_testing.databases import closed_database
from modhub_testing.service import PASSWORD

pytestmark = pytest.mark.long

KEY = "0f3c9d1e5b7a4862b1d4e7f0a3c68952"
FEATURES = "modhub_auth modhub_builds modhub_wiki"
SIGN_IN = {"email": "away@example.org", "password": PASSWORD}
AGENT = {"X-Api-Key": KEY}


@pytest.fixture(scope="module")
def served(services, kind):
    """Two processes with every feature."""
    keys = {"ApiPrivateKeys": f"{KEY} Modhub:app Modhub:wiki"}
    return services(kind, 2, includes=FEATURES, settings=keys)


@pytest.fixture(scope="module")
def own(served):
    return served.register("away")


def each_process(service, token):
    return [Caller([process.port], token) for process in service.processes]


@pytest.mark.parametrize("kind", ["postgresql"], scope="module", indirect=True)
@pytest.mark.postgres
def test_without_the_database_all_that_needs_it_is_503_for_the_moment(served, own):
    # C-ERR-16, C-RUN-8, C-RUN-28
    mod = own.published("Away", b"content")
    path = f"/api/modhub/{mod['id']}"
    link = re.search(rb'href="(/static/[^"]+\.css)"', own.ask("GET", "/Modhub").body)
    assert link
    static = link[1].decode()
    away = [
        "/Modhub",
        f"/Modhub/{mod['id']}",
        "/Modhub/App",
        "/Modhub/app/windows",
        "/Modhub/Wiki",
        "/Modhub/api/wiki/a",
    ]
    away += ["/Modhub/feed", "/sitemap.xml", mod["assets"][0]["url"], "/readyz", "/api/auth/me"]
    away += ["/api/modhub", path, f"{path}/changelog", f"{path}/download", f"{path}/vote"]
    away += ["/api/modhub/mine", "/api/modhub/games", "/api/modhub/app"]
    writes = [
        ("POST", "/api/auth/login", SIGN_IN),
        ("POST", "/api/auth/register", SIGN_IN | {"email": "new@example.org"}),
        ("POST", "/api/auth/forgot", {"email": SIGN_IN["email"]}),
        ("POST", "/api/auth/refresh", {"refreshToken": "x"}),
        ("POST", "/api/modhub", {"title": "Late"}),
        ("PUT", path, {"title": "Late"}),
        ("PUT", f"{path}/vote", {"vote": 1}),
        ("DELETE", path, None),
        ("POST", f"{path}/code?version=2&name=x.zip", b"late"),
        ("POST", "/api/modhub/app/linux?version=3", b"late"),
    ]
    with closed_database(served.url):
        for caller in each_process(served, own.token):
            calls = [("GET", address, None) for address in away] + writes
            for method, address, body in calls:
                answer = caller.ask(method, address, body, headers=AGENT)
                assert answer.status == 503, (method, address, answer)
                assert int(answer.headers["Retry-After"]) >= 1, address
            for address in (static, "/healthz"):
                assert caller.ask("GET", address).status == 200
    # Both processes take the first call again.
    for caller in each_process(served, own.token):
        for address in (path, f"{path}/download", f"/Modhub/{mod['id']}", "/api/auth/me"):
            assert caller.ask("GET", address).status == 200, address
        assert caller.ask("PUT", path, {"title": "In time"}).status == 200
        assert caller.ask("POST", "/api/auth/login", SIGN_IN).status == 200
    assert served.admin("verify").returncode == 0
    log = served.log()
    assert "Traceback" not in log
    assert '"status": 500' not in log
