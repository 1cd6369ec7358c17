"""What goes on while the store or the database is away, what is answered, and that everything comes back by itself."""

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from modhub_testing.caller import Caller, CallerResponse
from modhub_testing.databases import closed_database
from modhub_testing.service import PASSWORD, Installation

pytestmark = pytest.mark.long

KEY = "0f3c9d1e5b7a4862b1d4e7f0a3c68952"
FEATURES = "modhub_auth modhub_builds modhub_wiki"
SIGN_IN = {"email": "away@example.org", "password": PASSWORD}
AGENT = {"X-Api-Key": KEY}


@pytest.fixture(scope="module")
def served(services: Any, kind: str) -> Installation:
    """Two processes with every feature."""
    keys = {"ApiPrivateKeys": f"{KEY} Modhub:app Modhub:wiki"}
    return services(kind, 2, includes=FEATURES, settings=keys)


@pytest.fixture(scope="module")
def own(served: Installation) -> Caller:
    return served.register("away")


def each_process(service: Installation, token: str) -> list[Caller]:
    return [Caller([process.port], token) for process in service.processes]


def answer_without_storage(caller: Caller) -> CallerResponse:
    """The answer of /readyz once it has noticed: a check is reused for two seconds, also by the next test."""
    deadline = time.monotonic() + 60
    while (answer := caller.ask("GET", "/readyz")).json["storage"] != "unreachable":
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)
    return answer


@pytest.mark.parametrize("kind", ["postgresql"], scope="module", indirect=True)
@pytest.mark.postgres
def test_without_the_database_all_that_needs_it_is_503_for_the_moment(served: Installation, own: Caller) -> None:
    # C-ERR-16, C-RUN-8, C-RUN-21
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
    writes: list[tuple[str, str, Any]] = [
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


@pytest.mark.skipif(
    "MODHUB_TEST_OBJECT_STORE" in os.environ,
    reason="about a folder; test_object_store.py is about the other kind of store",
)
def test_without_the_store_all_but_files_goes_on(served: Installation, own: Caller) -> None:
    # C-RUN-21
    mod = own.published("Without files", b"content")
    path = f"/api/modhub/{mod['id']}"
    away = Path(f"{served.files}.away")
    served.files.rename(away)
    try:
        for caller in each_process(served, own.token):
            for address in (
                "/Modhub",
                f"/Modhub/{mod['id']}",
                "/api/modhub",
                path,
                f"{path}/changelog",
                "/Modhub/feed",
            ):
                assert caller.ask("GET", address).status == 200, address
            assert caller.ask("POST", "/api/auth/login", SIGN_IN).status == 200
            assert caller.ask("PUT", path, {"description": "still"}).status == 200
            (note,) = caller.ask("GET", f"{path}/changelog").json["notes"]
            assert caller.ask("PUT", f"{path}/changelog/{note['id']}", {"text": "still"}).status == 200
            for address in (f"{path}/download", mod["assets"][0]["url"]):
                answer = caller.ask("GET", address)
                assert (answer.status, int(answer.headers["Retry-After"]) >= 1) == (503, True), address
            refused = caller.send_file(mod["id"], "code", b"late", version="2")
            assert (refused.status, refused.json["error"]) == (502, "storage_refused")
            ready = answer_without_storage(caller)
            assert (ready.status, ready.json["storage"], ready.json["database"]) == (503, "unreachable", "ok")
            assert int(ready.headers["Retry-After"]) >= 1
        assert not served.files.exists()
    finally:
        away.rename(served.files)
    for number, caller in enumerate(each_process(served, own.token)):
        assert caller.ask("GET", f"{path}/download").body in (b"content", b"back")
        assert caller.send_file(mod["id"], "code", b"back", version=f"3.{number}").status == 201
    assert served.admin("verify").returncode == 0
