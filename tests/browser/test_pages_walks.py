"""Visitors, authors and voters use the pages in a real browser: with and without scripts, by mouse and keyboard."""

import re

import pytest
from playwright.sync_api import expect

MIRA = 900_000_001
HOSTILE = '"><script>document.title="ran"</script><img src=x onerror="document.title=\'ran\'">'
scripts = pytest.mark.parametrize("java_script_enabled", [True, False], ids=["scripts", "no scripts"])


@scripts
def test_a_visitor_searches_filters_opens_and_downloads(visit, java_script_enabled, tmp_path):
    # C-PAGE-5
    page = visit(java_script_enabled=java_script_enabled)
    page.goto("/")
    expect(page).to_have_url("/Modhub")
    page.get_by_label("Search mods").fill("RALLY ghost")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("status").first).to_have_text("1 mod")
    page.get_by_role("link", name="Clear all").click()
    page.locator(".brand").click()
    page.get_by_role("navigation", name="Games").get_by_role("link", name="Starfall Rally").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mods for Starfall Rally")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mods that draw over your console game")
    page.go_forward()
    page.get_by_role("link", name="Ghost Racer").click()
    expect(page.locator(".chain li")).to_have_count(4)
    with page.expect_download() as started:
        page.get_by_role("link", name="Download", exact=False).first.click()
    assert started.value.suggested_filename == "ghost-2.0.zip"
    saved = tmp_path / "saved.zip"
    started.value.save_as(saved)
    assert saved.stat().st_size > 200_000


def test_the_keyboard_alone_installs(visit):
    page = visit()
    page.goto("/Modhub/3")
    page.get_by_role("link", name="Needs 3 mods").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#install$"))
    names = []
    for _ in range(6):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.innerText.replace(/\\s+/g, ' ')"))
    titles = ["Overlay Kit", "Split Timer", "Telemetry Tap"]
    assert names[0::2] == titles
    assert [name.rpartition(": ")[2] for name in names[1::2]] == titles
    with page.expect_download() as started:
        page.keyboard.press("Enter")
    assert started.value.suggested_filename.startswith("telemetry")


def test_the_keyboard_alone_is_enough(visit):
    page = visit()
    page.goto("/Modhub?page=1")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Search mods")).to_be_focused()
    page.keyboard.type("foundry")
    # The list follows what is typed as well: what comes next has to find the page that Enter leads to.
    with page.expect_event("load"):
        page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_have_text("1 mod")
    page.get_by_role("link", name="Foundry Map").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Foundry Map")
    # Its pictures are made beside the service.
    while page.locator("[data-viewer] a").nth(1).get_attribute("data-large") is None:
        page.wait_for_timeout(500)
        page.reload()
    page.locator("[data-viewer] a").nth(1).focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    # Not on the link to the original, which the next Enter would follow.
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    expect(dialog.locator("img")).to_have_attribute("alt", "Image 2 of 3: picture-2.png")
    expect(dialog.locator(".counter")).to_have_text("2 / 3")
    # The picture that was made of it, not the original; and no file name as a caption.
    assert "/Modhub/picture/" in (dialog.locator("img").get_attribute("src") or "")
    assert "/Modhub/file/" in (dialog.get_by_role("link", name="Original").get_attribute("href") or "")
    expect(dialog.locator(".caption")).to_be_empty()
    page.keyboard.press("ArrowRight")
    expect(dialog.locator("img")).to_have_attribute("alt", "Image 3 of 3: picture-3.png")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("[data-viewer] a").nth(2)).to_be_focused()


def test_a_file_that_is_too_large_is_not_even_sent(visit):
    page = visit(account=MIRA)
    page.goto("/Modhub/mine/1?part=images")
    sent = []
    page.on("request", lambda request: sent.append(request.method))
    large = {"name": "large.png", "mimeType": "image/png", "buffer": b"x" * (2 * 1024 * 1024 + 1)}
    page.locator("#image-file").set_input_files(large)
    page.get_by_role("button", name="Upload images").click()
    expect(page.get_by_role("alert")).to_contain_text("too large")
    assert "POST" not in sent


def test_scripts_that_get_into_the_page_do_not_run(browser, gallery):
    """The policy alone stops them, should the cleaning ever fail."""
    context = browser.new_context(base_url=gallery.address)
    page = context.new_page()
    refused = []
    page.on("console", lambda line: refused.append(line.text))

    def worsen(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("</main>", f'<p title="{HOSTILE}</p></main>'))

    page.route("**/Modhub/1", worsen)
    page.goto("/Modhub/1")
    expect(page.locator("main img[src=x]")).to_be_attached()
    assert page.title() == "Overlay Kit · modhub"
    assert any("Content Security Policy" in line for line in refused)
    context.close()
