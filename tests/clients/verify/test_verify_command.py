"""The command: its exit codes, its reports, and how it treats a service that is busy, slow, away or another one."""

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from pyramid.response import Response

from modhub_client.verify import service as service_module
from modhub_client.verify.checks import ContractCheck
from modhub_client.verify.main import main
from modhub_client.verify.parts import CHECKS
from modhub_client.verify.replies import Broken, VerifyExit
from modhub_client.verify.report import CheckState
from modhub_client.verify.run import Run
from modhub_client.verify.runner import try_check
from modhub_client.verify.service import VerifiedService
from modhub_testing.broken_service import BrokenService, Fault, answers, at, document, header, ignores, status
from modhub_testing.lines import Relay
from modhub_testing.running_server import served

pytestmark = pytest.mark.long

LIST = "/api/modhub/?"
COMMAND = [sys.executable, "-m", "modhub_client.verify.main"]


@pytest.fixture
def empty(start):
    """The core alone, without a mod."""
    faulty = BrokenService(start("").app)
    with served(faulty) as url:
        yield url, faulty


@pytest.fixture
def verify(capsys):
    """Runs the command and returns its document."""

    def call(code, *words):
        capsys.readouterr()
        came, output = main(["--json", *words]), capsys.readouterr()
        report = json.loads(output.out)
        broken = [check for check in report["checks"] if check["state"] == "broken"]
        assert came == code, (broken, output.err)
        return report

    return call


def by_name(report):
    return {check["name"]: check for check in report["checks"]}


def test_an_empty_core_is_green_and_nothing_untried_is_passed(verify, empty):
    report = verify(0, empty[0])
    states = {check["name"]: check["state"] for check in report["checks"]}
    assert report["features"] == ["core"]
    assert "broken" not in states.values()
    assert states["a single read is the mod of the list"] == "skipped"
    assert states["a lookup has mods in the order asked"] == "absent"
    assert states["a list has its fields and counts"] == "passed"
    assert {check["part"] for check in report["checks"]} == {"read", "follow"}
    assert report["clauses"]["C-SYNC-16"] == "absent"
    assert report["clauses"]["C-LIST-1"] == "passed"
    assert report["counts"]["passed"] == list(states.values()).count("passed") < len(states)
    details = {check["detail"] for check in report["checks"] if check["state"] != "passed"}
    assert "" not in details


def test_a_broken_clause_is_told(empty, capsys):
    url, faulty = empty
    faulty.faults = [
        document(at(LIST), lambda listed: listed.update(count=7)),
        document(at("/Modhub/feed.json"), lambda feed: feed.update(version="\x1b[2J")),
    ]
    assert main([url, "--part", "read"]) == 1
    output = capsys.readouterr().out
    assert "came \ufffd[2J." in output, "it is safe for terminals"
    lines = output.splitlines()
    assert "broken  C-LIST-1: a list has its fields and counts: count: expected 0, came 7." in lines
    assert "C-LIST-1 is broken." in lines
    assert lines[-1].startswith("Checks: ")


def test_another_implementation_is_judged_by_the_interface(verified, verify):
    """One with other pages, without a description, validators, ranges, request ids and calls from other origins."""
    own = (
        "ETag",
        "Last-Modified",
        "Repr-Digest",
        "Access-Control-Allow-Origin",
        "X-Request-Id",
        "Link",
        "Vary",
        "Allow",
    )
    pages = "/|/Modhub|/Modhub/doc|/Modhub/feed.*|/sitemap.xml|/robots.txt"
    verified.faulty.faults = [
        status(at("/api/openapi.json"), 404),
        answers(at(pages), 200, b"Other pages"),
        ignores(at(".*"), "Range", "If-None-Match"),
        *(header(at(".*"), name, None) for name in own),
    ]
    report = verify(0, verified.url, "--part", "read", "--interface-only")
    added = {check["state"] for check in report["checks"] if check["added"]}
    assert added == {"absent"}
    assert {"modhub_auth", "modhub_builds", "modhub_wiki"} < set(report["features"])
    assert [check["name"] for check in report["checks"] if not check["added"] and check["state"] != "passed"] == []
    assert report["counts"]["passed"] > 15


def test_a_report_for_build_pipelines(empty, tmp_path):
    url, faulty = empty
    faulty.faults = [document(at(LIST), lambda listed: listed.update(count="\x00\ud800"))]
    file = tmp_path / "report.xml"
    assert main([url, "--junit", str(file)]) == 1
    suites = {suite.attrib["name"]: suite for suite in ET.parse(file).getroot()}
    assert list(suites) == ["modhub-verify read", "modhub-verify follow"]
    read = suites["modhub-verify read"]
    cases = read.findall("testcase")
    failures = [case for case in cases if case.find("failure") is not None]
    assert len(cases) == int(read.attrib["tests"]) == sum(check.part == "read" for check in CHECKS)
    assert len(failures) == int(read.attrib["failures"]) > 0
    assert "C-LIST-1" in failures[0].attrib["name"]
    assert len(read.findall("testcase/skipped")) == int(read.attrib["skipped"]) > 0


def test_a_report_that_cannot_be_written(empty, tmp_path, capsys):
    assert main([empty[0], "--part", "follow", "--junit", str(tmp_path / "none" / "report.xml")]) == VerifyExit.USAGE
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["mods.example.org"],
        ["http://me:secret@mods.example.org"],
        ["http://127.0.0.1:9", "--part", "own"],
        ["http://127.0.0.1:9", "--account-file", "/dev/null"],
    ],
)
def test_a_wrong_call(words, capsys):
    assert main(words) == VerifyExit.USAGE
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("modhub-verify: ")
    assert "secret" not in output.err


class Ending(Relay):
    """Passes sixty requests, and no more."""

    requests = 0

    def is_refused(self):
        return self.requests >= 60

    def request(self, data, client):
        self.requests += b" HTTP/1.1\r\n" in data
        return None if self.requests > 60 else data


def test_a_service_that_goes_away_is_no_proof(empty, capsys):
    relay = Ending(int(empty[0].rpartition(":")[2]))
    assert main([relay.endpoint, "--json"]) == VerifyExit.UNREACHABLE
    report = json.loads(capsys.readouterr().out)
    assert report["exit"] == 3
    assert "cannot be reached" in report["unreachable"]
    assert {check["detail"] for check in report["checks"][-3:]} <= {
        "the service cannot be reached",
        "the deployment has no modhub_sync",
    }
    assert report["counts"]["broken"] == 0


def test_a_redirect_is_not_followed(empty, capsys):
    url, faulty = empty
    faulty.faults = [answers(at(LIST), 301, location="https://mods.example/\x1b[2J")]
    assert main([url]) == VerifyExit.USAGE
    assert "redirects to https://mods.example/" in (told := capsys.readouterr().err)
    assert "\x1b" not in told
    assert len(faulty.calls) == 1


def busy_until(count, status, wait):
    """The first ``count`` requests are told to wait."""
    left = iter(range(count))

    def refuse(request):
        return Response(status=status, headers={"Retry-After": wait}) if next(left, None) is not None else None

    return Fault(at(LIST), refuse)


def test_a_busy_service_is_waited_for(empty):
    url, faulty = empty
    faulty.faults = [busy_until(1, 503, "1")]
    began = time.monotonic()
    with VerifiedService(url) as service:
        assert service.get("/api/modhub").status == 200
    assert 1 <= time.monotonic() - began < 5
    assert len(faulty.calls) == 2


def test_a_service_that_stays_busy_is_no_broken_clause(empty, verify, monkeypatch):
    url, faulty = empty
    monkeypatch.setattr(service_module, "MOST_PATIENCE", 0.5)
    faulty.faults = [
        Fault(at("/api/modhub/games"), lambda request: Response(status=429, headers={"Retry-After": "99999"}))
    ]
    games = by_name(verify(0, url, "--part", "read"))["curated games have a name to show"]
    assert games["state"] == "skipped"
    assert "429" in games["detail"]


def test_a_call_that_ends_the_connection_is_broken(empty, verify):
    class Cutting(Relay):
        def request(self, data, client):
            return None if b"GET /api/modhub/games " in data else data

    relay = Cutting(int(empty[0].rpartition(":")[2]))
    games = by_name(verify(1, relay.endpoint, "--part", "read"))["curated games have a name to show"]
    assert games["state"] == "broken"
    assert "the connection failed" in games["detail"]


def test_content_that_changes_meanwhile_is_no_fault(empty, verify):
    url, faulty = empty
    wrong = iter([True])
    faulty.faults = [
        document(
            at(LIST), lambda listed: listed.update(count=7) if listed.get("size") == 2 and next(wrong, False) else None
        )
    ]
    assert verify(0, url, "--part", "read")["clauses"]["C-LIST-1"] == "passed"


def test_an_output_that_is_full(empty):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "--json", empty[0]], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == VerifyExit.USAGE
    assert b"cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr


def make_check(run, part="own"):
    return ContractCheck(("C-OWN-1",), part, "core", False, run)


def test_an_answer_of_another_shape_is_broken_and_ends_nothing(empty):
    def odd(_run):
        raise KeyError("builds")

    result = try_check(Run(VerifiedService(empty[0]), frozenset({"core"})), make_check(odd))
    assert result.state is CheckState.BROKEN
    assert "KeyError" in result.detail


def test_a_body_without_end_is_refused(empty, monkeypatch):
    monkeypatch.setattr(service_module, "_MOST_BYTES", 100)
    with VerifiedService(empty[0]) as service, pytest.raises(Broken, match="more than 100 bytes"):
        service.get("/Modhub")
