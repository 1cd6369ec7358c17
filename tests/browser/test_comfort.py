"""What scripts add to pages that work without them."""

from playwright.sync_api import expect


def test_the_list_follows_what_is_typed_and_the_address_follows_the_list(visit):
    page = visit()
    page.goto("/Modhub?size=50")
    shown = page.locator("section.browse .card")
    assert shown.count() > 1
    search = page.get_by_label("Search mods")
    search.press_sequentially("foundry map")
    expect(shown).to_have_count(1)
    expect(page.get_by_role("link", name="Foundry Map", exact=True)).to_be_visible()
    expect(page).to_have_title("Mods matching “foundry map” · modhub")
    expect(page.get_by_role("status").last).to_have_text("1 mod")
    expect(search).to_be_focused()
    address = page.url
    assert "q=foundry+map" in address
    assert "size=50" in address
    page.goto(address)
    expect(shown).to_have_count(1)
    search.fill("nothing is called so")
    expect(page.get_by_text("No mods found for")).to_be_visible()
    search.fill("")
    expect(shown.nth(1)).to_be_visible()


def test_a_late_answer_does_not_overtake_a_newer_one(visit):
    page = visit()
    page.goto("/Modhub")
    held = []
    page.route("**/Modhub?q=starfall*", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused
    search = page.get_by_label("Search mods")
    with page.expect_request("**/Modhub?q=starfall**"):
        search.fill("starfall")
    search.fill("foundry map")
    expect(page.locator("section.browse .card")).to_have_count(1)
    for route in held:
        route.continue_()
    page.wait_for_timeout(300)
    expect(page.locator("section.browse .card")).to_have_count(1)
    assert "q=foundry" in page.url


def test_a_list_that_cannot_be_had_just_now_stays_as_it_is(visit):
    page = visit()
    page.goto("/Modhub")
    before = page.locator("section.browse .card").count()
    page.route("**/Modhub?q=*", lambda route: route.fulfill(status=503, content_type="text/html", body="<p>busy"))
    with page.expect_response("**/Modhub?q=*"):
        page.get_by_label("Search mods").fill("foundry")
    expect(page.locator("section.browse .card")).to_have_count(before)


def test_a_click_that_opens_nothing_leads_to_help(visit):
    # C-PAGE-23
    page = visit()
    page.goto("/Modhub?q=foundry+map")
    page.locator(".card h3 a").first.click()
    page.get_by_role("link", name="Open in the app", exact=True).click()
    hint = page.get_by_role("status").get_by_role("link")
    expect(hint).to_have_text("Nothing happened? Then the app is not installed here.")
    # Headless Chromium follows no link after one that it cannot open, so ask for the address.
    page.goto(hint.get_attribute("href") or "")
    expect(page.get_by_role("heading", level=1)).to_have_text("Installation: Foundry Map")


def test_a_phone_is_not_sent_to_an_app_that_it_cannot_have(visit):
    # C-PAGE-23
    for phone in (True, False):
        page = visit(has_touch=phone, is_mobile=phone, java_script_enabled=False)
        page.goto("/Modhub/3")
        expect(page.get_by_role("link", name="Open in the app")).to_have_count(0 if phone else 1)
        page.get_by_role("link", name="How to install").click()
        text = page.locator("main").inner_text()
        assert "on your computer" in text
        assert ("If nothing happens" in text) is not phone


def test_what_the_script_adds_moves_nothing_and_is_called_what_it_says(visit):
    page = visit()
    shifted = """() => new Promise((done) => {
        let sum = 0;
        const add = (list) => { for (const entry of list.getEntries()) sum += entry.value; };
        new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => done(sum), 500);
    })"""
    page.goto("/Modhub/2")
    assert page.evaluate(shifted) == 0
    page.get_by_text("Technical details").click()
    box = page.locator(".technical .copied").first.bounding_box()
    copy = page.locator("button.copier").first
    expect(copy).to_be_visible()
    copy.evaluate("(button) => button.remove()")
    assert page.locator(".technical .copied").first.bounding_box() == box
    page.reload()
    page.get_by_text("Technical details").click()
    expect(copy).to_have_accessible_name("Copy GUID")
    assert page.locator("img:not([alt])").count() == 0
    assert page.locator("[data-viewer] a").count() > 0
    assert page.locator("a:not([href])").count() == 0
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy.click()
    expect(copy).to_have_accessible_name("Copied GUID")
