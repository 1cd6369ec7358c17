"""The functional suite of the contract: every check passes on our service, and nothing of a run is left."""

import pytest

from modhub.admin.program import run_command
from modhub_client.verify import owner
from modhub_client.verify.parts import CHECKS, find_features
from modhub_client.verify.report import CheckState
from modhub_client.verify.run import RunCredentials
from modhub_client.verify.service import VerifiedService
from modhub_testing.broken_service import Fault, receives_body, when
from modhub_testing.databases import schema_differences

from .conftest import APP, BOTH, BY_KEY, BY_TRACES, FEATURES, WIKI, verified_service

BUILDS = ["builds are published and kept", "a section is put on top and taken back"]
"""The checks of the part publish that need ``--may-leave-traces``."""
VOTE = r"PUT /api/modhub/\d+/vote"


def not_passed(report):
    return {result.check.name: result.detail for result in report.results if result.state is not CheckState.PASSED}


def content(site):
    """What everybody can read that a run might leave something in."""
    mods = site.get("/api/modhub?size=100").json["mods"]
    votes = {mod["id"]: site.get(f"/api/modhub/{mod['id']}/vote").json for mod in mods}
    app = site.get("/api/modhub/app").json
    builds = [build for build in app["builds"] if build["os"] != "modhub-verify"]
    return {"mods": mods, "votes": votes, "wiki": site.get("/Modhub/api/wiki").json, "app": {**app, "builds": builds}}


@pytest.mark.postgres
def test_every_check_passes_and_nothing_is_left(applications, dialect, tmp_path):
    # By their checks alone: C-FRONT-7, C-SYNC-20
    # C-PRO-2: nothing of a run stays visible, and reading changes nothing.
    # Proven by these checks alone: C-APP-2, C-APP-5, C-ERR-5, C-HTTP-5, C-MOD-1, C-MOD-3, C-MOD-4, C-MOD-6, C-MOD-8,
    # C-NOTE-1, C-NOTE-3, C-NOTE-20, C-OWN-1, C-OWN-2, C-SYNC-4, C-SYNC-9, C-SYNC-20, C-TXT-4, C-TXT-7, C-UP-1, C-UP-2,
    # C-UP-3, C-UP-5, C-VOTE-1, C-WIKI-10, T-B6.
    with verified_service(applications, dialect, tmp_path) as verified:
        before, changes = content(verified.site), verified.site.get("/api/modhub/changes").json
        run_command(verified.site.config, ["-c", "tests.ini", "demo"])
        assert content(verified.site) == before, "samples are added once"
        reading = verified.verify([check for check in CHECKS if check.part in {"read", "follow"}])
        assert not_passed(reading) == {}
        assert verified.site.get("/api/modhub/changes").json == changes
        report = verified.verify([check for check in CHECKS if check.part in {"own", "publish"}])
        assert not_passed(report).keys() == {BY_KEY}, not_passed(report)
        assert (report.left_behind, report.code) == ([], 0)
        by_key = verified.verify([check for check in CHECKS if check.name == BY_KEY], verified.publisher)
        assert (not_passed(by_key), by_key.left_behind) == ({}, [])
        assert content(verified.site) == before
        assert verified.site.get("/api/modhub/mine", headers=verified.bearer).json["mods"] == []


def test_what_leaves_traces_is_not_tried_unasked(verified):
    checks = [check for check in CHECKS if check.name in {BY_TRACES, *BUILDS}]
    assert not_passed(verified.verify(checks, traces=False)).keys() == {BY_TRACES, *BUILDS}


@pytest.mark.parametrize(("key", "missing"), [(APP, "Modhub:wiki"), (WIKI, "Modhub:app")])
def test_what_the_key_may_not_is_skipped(verified, key, missing):
    checks = [check for check in CHECKS if check.part == "publish"]
    problems = not_passed(verified.verify(checks, RunCredentials(machine_key=key)))
    assert set(problems.values()) == {f"the key has not the scope {missing}"}
    assert not any(check.name in problems for check in checks if "C-KEY-2" in check.clauses)


def test_a_section_that_is_not_on_top_is_left_and_told(verified, monkeypatch):
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.0)
    address, headers = "/api/modhub/app/changelog", {"X-Api-Key": BOTH}

    def release(_request, response):
        if response.status_int == 201:
            verified.faulty.faults.clear()
            verified.site.post(address, b"A newer release", headers=headers, status=201)

    verified.faulty.faults = [Fault(f"POST {address}", after=release)]
    report = verified.verify([check for check in CHECKS if "C-APP-10" in check.clauses])
    assert verified.site.get("/api/modhub/app").json["changelog"].startswith("A newer release\n\nmodhub-verify ")
    assert "a section of the app changelog" in report.left_behind[0]
    assert report.code == 1
    for _ in range(2):
        verified.site.delete(address, headers=headers, status=200)


def test_a_vote_is_put_back_or_told(verified, monkeypatch):
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.0)
    checks = [check for check in CHECKS if check.name == BY_TRACES]
    verified.faulty.faults = [receives_body(VOTE, lambda sent: b"{}" if b'"value": 0' in sent else sent)]
    report = verified.verify(checks)
    assert report.results[0].state is CheckState.BROKEN
    assert "A vote could not be put back: {'/api/modhub/" in report.left_behind[0]
    assert report.code == 1
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 30.0)
    ends = iter([True, True, True])
    verified.faulty.faults = [when(VOTE, lambda *_: next(ends, False), 500)]
    report = verified.verify(checks)
    assert (report.results[0].state, report.left_behind) == (CheckState.BROKEN, [])


@pytest.mark.postgres
def test_models_and_migrations_of_every_feature_agree(start):
    site = start(FEATURES)
    for package in site.declarations.migrations:
        assert schema_differences(site.databases, package) == [], package.package


def test_every_check_has_a_name_of_its_own_and_clauses():
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.clauses for check in CHECKS)


def test_features_are_those_of_the_description(verified):
    with VerifiedService(verified.url) as service:
        features = find_features(service)
    assert features - {"core"} == {feature.name for feature in verified.site.declarations.features}
