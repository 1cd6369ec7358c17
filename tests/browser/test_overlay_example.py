"""The example of an overlay, docs/examples/overlay, on a page of another origin than the service."""

import hashlib
import io
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import expect

from modhub_testing.service import PASSWORD

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "overlay"
CHAIN, SHOWN = 4, 20
SIGNED_IN = """async ([url, email, password]) => {
    const {createClient} = await import("modhub-client");
    const {indexedDbStore} = await import("modhub-client/stores/indexeddb");
    window.store = indexedDbStore();
    window.modhub = createClient({url, agent: "Windows", store});
    if (email) await modhub.account.signIn(email, password);
    await store.set("session", {...(await store.get("session")), until: 0});
}"""
STORED = """async ([guid, name]) => {
    const {indexedDbFiles} = await import("modhub-client/files/indexeddb");
    const blob = await indexedDbFiles().read(guid, name);
    return blob && Array.from(new Uint8Array(await blob.arrayBuffer()));
}"""


@pytest.fixture(scope="module")
def service(serve_with, tmp_path_factory):
    with serve_with(tmp_path_factory.mktemp("overlay"), "modhub_auth modhub_sync") as running:
        yield running


@pytest.fixture(scope="module")
def author(service):
    credentials = {"email": "ada@example.org", "password": PASSWORD}
    return service.caller(service.caller().need(201, "POST", "/api/auth/register", credentials)["accessToken"])


@pytest.fixture(scope="module")
def mods(author):
    """Mods with images; the last of them requires three others."""
    file = io.BytesIO()
    Image.new("RGB", (640, 360), "navy").save(file, "PNG")
    published = []
    for number in range(SHOWN):
        requires = [published[-1]["guid"]] if number > SHOWN - CHAIN else []
        mod = author.published(f"Mod {number}", b"%d " % number * 50_000, requires=requires)
        assert author.send_file(mod["id"], "images", file.getvalue(), "image/png", name="a.png").status == 201
        published.append(mod)
    return published


@pytest.fixture
def context(browser):
    made = browser.new_context()
    made.set_default_timeout(100_000)
    yield made
    made.close()


def open_example(context, elsewhere, service):
    page = context.new_page()
    page.goto(f"{elsewhere}/docs/examples/overlay/?service={service.address}")
    expect(page.locator("li")).to_have_count(SHOWN)
    return page


def test_the_example_lists_installs_and_updates(context, elsewhere, service, author, mods):
    # C-HTTP-2, C-PIC-1
    sent = []
    problems = []
    context.on("request", lambda request: sent.append(f"{request.method} {request.url.removeprefix(service.address)}"))
    context.on("weberror", lambda error: problems.append(str(error.error)))
    page = open_example(context, elsewhere, service)
    status, last = page.get_by_role("status"), mods[-1]
    page.wait_for_function("[...document.images].every((image) => image.naturalWidth)")
    assert page.locator("li img").count() == SHOWN
    assert [request for request in sent if request.startswith(("GET /api/modhub?", "POST /api/modhub/details"))] == [
        "GET /api/modhub?q=&size=20&page=1",
        "POST /api/modhub/details",
    ]
    assert Axe().run(page).violations_count == 0
    page.get_by_role("button", name=f"Install {last['title']}", exact=True).click()
    expect(status).to_have_text("Installed " + ", ".join(mod["title"] for mod in mods[-CHAIN:]))
    content = bytes(page.evaluate(STORED, [last["guid"], "mod.zip"]))
    assert hashlib.sha256(content).digest() == hashlib.sha256(b"%d " % (SHOWN - 1) * 50_000).digest()
    assert author.send_file(last["id"], "code", b"the second", version="2", name="second.js").status == 201
    page.get_by_role("button", name="Update").click()
    expect(status).to_have_text(f"Updated {last['title']} 2")
    assert bytes(page.evaluate(STORED, [last["guid"], "second.js"])) == b"the second"
    assert page.evaluate(STORED, [last["guid"], "mod.zip"]) is None
    page.reload()
    page.get_by_role("button", name=f"Remove {last['title']}", exact=True).click()
    expect(status).to_have_text(f"Removed {CHAIN}")
    assert problems == []


def test_two_windows_refresh_once(context, elsewhere, service, author, mods):
    # C-ACC-14
    author.need(201, "POST", "/api/auth/register", {"email": "eve@example.org", "password": PASSWORD})
    windows = [open_example(context, elsewhere, service) for _ in range(2)]
    windows[0].evaluate(SIGNED_IN, [service.address, "eve@example.org", PASSWORD])
    windows[1].evaluate(SIGNED_IN, [service.address, "", ""])
    refreshes = []
    context.on("request", lambda request: refreshes.append(request.method) if "refresh" in request.url else None)
    vote = f"() => {{ window.vote = modhub.vote({mods[0]['id']}, 1).then((votes) => votes.value); }}"
    for window in windows:
        window.evaluate(vote)
    assert [window.evaluate("window.vote") for window in windows] == [1, 1]
    assert refreshes.count("POST") == 1
    stored = windows[0].evaluate("store.get('session')")
    service.caller(stored["accessToken"]).need(200, "GET", "/api/auth/me")
