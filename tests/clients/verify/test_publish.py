"""``modhub-verify``, part ``publish``: green on the application, red on one with a fault, and clean afterwards."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from webob import Request, Response

from modhub_client.verify import owner
from modhub_client.verify.checks import ContractCheck
from modhub_client.verify.parts import CHECKS
from modhub_client.verify.report import CheckState, VerifyReport
from modhub_client.verify.run import Run, RunCredentials, RunOptions
from modhub_client.verify.runner import run_checks
from modhub_client.verify.service import VerifiedService
from modhub_testing import Site, Start
from modhub_testing.broken_service import (
    BrokenService,
    Fault,
    answers,
    body,
    document,
    header,
    receives_body,
    status,
    when,
)
from modhub_testing.running_server import running

pytestmark = pytest.mark.long

BOTH, APP, WIKI = (character * 64 for character in "abc")
PUBLISH = [check for check in CHECKS if check.part == "publish"]
PAGES = ".*/api/(modhub/)?wiki/.*"


@pytest.fixture
def site(start: Start) -> Site:
    """The application with three keys, and a section of somebody's release."""
    keys = f"{BOTH} Modhub:app Modhub:wiki\n{APP} Modhub:app\n{WIKI} Modhub:wiki"
    site = start("modhub_auth modhub_builds modhub_wiki", ApiPrivateKeys=keys)
    site.post("/api/modhub/app/changelog", b"Somebody's release", headers={"X-Api-Key": BOTH}, status=201)
    return site


@pytest.fixture
def broken(site: Site) -> Iterator[tuple[BrokenService, str]]:
    """The application behind faults that a test adds, and its address."""
    service = BrokenService(site.app)
    with running(service) as server:
        yield service, "http://{}:{}".format(*server.addresses[0])


def verify(url: str, checks: list[ContractCheck], key: str = BOTH, *, traces: bool = True) -> VerifyReport:
    features = frozenset({"core", "modhub_auth", "modhub_builds", "modhub_wiki"})
    with VerifiedService(url) as service:
        run = Run(service, features, RunOptions(may_leave_traces=traces), RunCredentials(machine_key=key))
        return run_checks(run, checks, lambda _: None)


def not_passed(report: VerifyReport) -> dict[str, str]:
    return {result.check.name: result.detail for result in report.results if result.state is not CheckState.PASSED}


@pytest.mark.parametrize("traces", [False, True])
def test_every_check_passes_and_only_builds_stay(site: Site, broken: tuple[BrokenService, str], traces: bool) -> None:
    report = verify(broken[1], PUBLISH, traces=traces)
    skipped = set() if traces else {"builds are published and kept", "a section is put on top and taken back"}
    assert not_passed(report).keys() == skipped, not_passed(report)
    assert (report.left_behind, report.code) == ([], 0)
    assert site.get("/Modhub/api/wiki").json["count"] == 0
    app = site.get("/api/modhub/app").json
    assert app["changelog"] == "Somebody's release"
    assert [build["os"] for build in app["builds"]] == (["modhub-verify"] if traces else [])


@pytest.mark.parametrize(("key", "missing"), [(APP, "Modhub:wiki"), (WIKI, "Modhub:app")])
def test_what_the_key_may_not_is_skipped(broken: tuple[BrokenService, str], key: str, missing: str) -> None:
    problems = not_passed(verify(broken[1], PUBLISH, key))
    assert set(problems.values()) == {f"the key has not the scope {missing}"}
    assert not any(check.name in problems for check in PUBLISH if "C-KEY-2" in check.clauses)


def test_a_section_that_is_not_on_top_is_left_and_told(
    site: Site, broken: tuple[BrokenService, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.0)

    def release(_request: Request, _response: Response) -> None:
        broken[0].faults.clear()
        site.post("/api/modhub/app/changelog", b"A newer release", headers={"X-Api-Key": BOTH}, status=201)

    broken[0].faults = [
        Fault("POST /api/modhub/app/changelog", after=lambda *both: both[1].status_int == 201 and release(*both))
    ]
    report = verify(broken[1], [check for check in PUBLISH if "C-APP-10" in check.clauses])
    assert site.get("/api/modhub/app").json["changelog"].startswith("A newer release\n\nmodhub-verify ")
    assert "a section of the app changelog" in report.left_behind[0]
    assert report.code == 1


def put(**fields: Any) -> Callable[[Any], None]:
    return lambda value: value.update(fields)


CASES: list[tuple[str, str, list[Fault]]] = [
    ("the key is valid", "C-KEY-3", [document("GET .*/key", put(scopes=[]))]),
    ("other keys are refused", "C-KEY-2", [status("GET .*/key", 200)]),
    ("other keys are refused", "C-ERR-2", [document("PUT /api/modhub/wiki/.*", put(message="No."))]),
    ("the key is no address key and no token", "C-KEY-4", [when("GET .*/key", lambda *_: True, 200)]),
    ("the key is no address key and no token", "C-ADDR-2", [status("POST .*/storage/address", 400)]),
    ("bad platforms are refused", "C-APP-1", [status("POST .*/app/a--b", 201)]),
    ("bad builds are refused", "C-APP-3", [receives_body(r"POST .*/app/modhub-verify\?.*", lambda sent: sent or b"x")]),
    (
        "bad sections are refused",
        "C-APP-8",
        [when("POST .*/changelog", lambda request, _: b"\xff" in request.body, 201)],
    ),
    (
        "a build that is declared too large is refused at once",
        "C-UP-12",
        [document("POST .*/app/.*", lambda value: value.pop("limitBytes"))],
    ),
    ("a build that is declared too large is refused at once", "C-ERR-20", [status("POST .*/app/.*", 404, only=401)]),
    ("bad paths are refused", "C-WIKI-1", [status("PUT .*/wiki/_a", 404)]),
    ("bad pages are refused", "C-WIKI-4", [receives_body(f"PUT {PAGES}", lambda sent: sent.replace(b"\xff", b"x"))]),
    ("a page is published and changed", "C-WIKI-2", [status(f"PUT {PAGES}", 201, only=200)]),
    ("a page is published and changed", "C-WIKI-3", [document(f"PUT {PAGES}", put(title="Untitled"))]),
    ("a page is read as it was sent", "C-WIKI-6", [header(f"GET {PAGES}", "ETag", None)]),
    ("the older address answers the same", "C-WIKI-7", [body("GET /api/modhub/wiki/.*", bytes.upper)]),
    ("a removed page is gone", "C-WIKI-5", [answers(f"DELETE {PAGES}", 204)]),
    ("builds are published and kept", "C-APP-2", [document("POST .*/app/modhub-verify.*", put(newest="/Modhub/App"))]),
    ("builds are published and kept", "C-APP-4", [status(r"GET /Modhub/app/modhub-verify/\d+", 404)]),
    (
        "builds are published and kept",
        "C-APP-5",
        [document("GET .*/app", lambda value: value["builds"][0]["versions"].reverse())],
    ),
    (
        "builds are published and kept",
        "C-APP-7",
        [header("GET /Modhub/app/modhub-verify", "Cache-Control", "max-age=600")],
    ),
    ("a section is put on top and taken back", "C-APP-9", [document("POST .*/changelog", put(characters=99))]),
    ("a section is put on top and taken back", "C-APP-10", [document("DELETE .*/changelog", put(characters=0))]),
]


def test_a_fault_turns_its_check_red(broken: tuple[BrokenService, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.0)
    service, url = broken
    checks = {check.name: check for check in PUBLISH}
    survivors = []
    for name, clause, faults in CASES:
        assert clause in checks[name].clauses, (name, clause)
        service.faults = faults
        (result,) = verify(url, [checks[name]]).results
        if result.state is not CheckState.BROKEN:
            survivors.append((name, clause, result.state, result.detail))
    assert survivors == []


def test_every_check_and_clause_has_a_fault() -> None:
    assert {name for name, _, _ in CASES} == {check.name for check in PUBLISH}
    assert {clause for _, clause, _ in CASES} == {clause for check in PUBLISH for clause in check.clauses}
