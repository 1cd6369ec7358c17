"""The demo page of docs/, served from another origin, reads everything that programs may read."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]
FEATURES = "modhub_testing.accounts modhub_builds modhub_wiki modhub_sync"
EXAMPLE = "6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90"


@pytest.fixture(scope="module")
def service(serve_with, tmp_path_factory):
    with serve_with(tmp_path_factory.mktemp("other-origin"), FEATURES, "demo", "snapshot") as running:
        yield running


@pytest.fixture
def demo(browser, elsewhere):
    context = browser.new_context()
    context.set_default_timeout(100_000)
    page = context.new_page()
    page.goto(f"{elsewhere}/docs/demo/index.html")
    yield page
    context.close()


def lines(page):
    return [line.inner_text() for line in page.locator("#log li").all()]


def test_a_page_of_another_origin_reads_everything(demo, service):
    # C-HTTP-2, C-HTTP-3, C-HTTP-4, C-PRO-1
    sent = []
    problems = []
    demo.on("request", lambda request: sent.append(request))  # noqa: PLW0108 - it sets an attribute of the function
    demo.on("pageerror", lambda error: problems.append(str(error)))
    demo.get_by_label("Service").fill(service.address)
    demo.get_by_label("Words").fill("Ghost Racer")
    demo.get_by_role("button").click()
    expect(demo.locator("#log li").last).to_have_text("Done")
    printed = lines(demo)
    assert problems == []
    assert demo.locator(".failed").count() == 0
    assert printed[0] == "Found 1"
    # Headers that are exposed: X-Request-Id, ETag, Content-Range, Content-Disposition, Last-Modified, Repr-Digest.
    assert re.fullmatch(r"Read Ghost Racer, request [0-9a-f-]{16,}", printed[1]), printed[1]
    assert printed[2] == "Unchanged"
    assert re.fullmatch(r"Plan: 4 steps, \d+ bytes, 0 conflicts, 0 missing", printed[4]), printed[4]
    verified = [line for line in printed if line.startswith("Verified ")]
    assert len(verified) == 4
    shown = r"Verified .*: (\d+) bytes, bytes \d+-\d+/\1, attachment; filename=.*, \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT"
    assert all(re.fullmatch(shown, line) for line in verified), verified
    assert "Lock: same same same same" in printed
    assert "Updates: 0 changed, 0 gone, 4 same" in printed
    assert "Since then: 0" in printed
    assert [line for line in printed if line.startswith("Refused: 404 not_found (request ")]
    numbers = {line.partition(":")[0]: int(re.search(r"\d+", line)[0]) for line in printed if re.search(r": \d", line)}
    # A feed has an entry for each version, a snapshot a line for each mod.
    assert numbers["Feed"] == numbers["Atom"] >= numbers["Snapshot"] >= 4
    assert min(numbers[name] for name in ("Changes", "Games", "Wiki", "App")) > 0
    requests = [request for request in sent if request.url.startswith(service.address)]
    names = {name for request in requests for name in request.headers}
    assert {"if-none-match", "range", "if-range"} <= names
    assert not names & {"authorization", "cookie", "x-api-key"}
