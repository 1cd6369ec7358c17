"""The front in a real browser: on a phone, on the widest screens, on a slow machine."""

import pytest
from playwright.sync_api import expect

MIRA = 900_000_001
PHONE = {"width": 360, "height": 740}
SHIFTS = """() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; })
        .observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 300);
})"""
STILL = 0.01
"""Below it nobody sees anything move: the last line of a card may, by some pixels, while its row is read."""
HEIGHTS = "(all) => all.map((one) => one.getBoundingClientRect().height)"
MIDDLES = "(all) => all.map((one) => { const { top, height } = one.getBoundingClientRect(); return top + height / 2; })"
SAME_LINE = "(links) => new Set(links.map((link) => link.getBoundingClientRect().top)).size"


def first_card(page):
    box = page.locator(".card").first.bounding_box()
    assert box
    return box["y"]


@pytest.mark.parametrize(("width", "address"), [(2560, "/Modhub"), (360, "/Modhub?game=Starfall+Rally")])
def test_nothing_moves_while_a_slow_machine_reads_the_page(visit, width, address):
    # C-PAGE-1: what the style sheet asks of a page is known when it begins
    page = visit(viewport={"width": width, "height": 900})
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 7})
    page.goto(address)
    assert page.evaluate(SHIFTS) < STILL


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark"), (2560, "light")])
def test_the_front_looks_right(visit, look, width, scheme):
    # C-PAGE-1
    page = visit(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto("/Modhub")
    look(page, f"front {width} {scheme}")
    assert page.evaluate(SHIFTS) < STILL
    first, second = (
        page.locator(".row")
        .first.locator(".card")
        .evaluate_all("(all) => all.slice(0, 2).map((one) => one.offsetWidth)")
    )
    assert (first > 1.8 * second) == (width > 360), "one mod leads"
    page.goto("/Modhub?sort=new")
    lefts = page.locator(".browse > .cards .card").evaluate_all("(all) => all.map((one) => one.offsetLeft)")
    assert len(set(lefts)) == {360: 1, 1280: 3, 2560: 5}[width]


@pytest.mark.parametrize(("locale", "account"), [("en", MIRA), ("de", None)])
def test_a_phone_begins_with_mods(visit, look, locale, account):
    page = visit(account=account, viewport=PHONE, locale=locale)
    for address in ("/Modhub", "/Modhub?page=1", "/Modhub?game=Starfall+Rally", "/Modhub?sort=top"):
        page.goto(address)
        assert first_card(page) <= 320, address
        assert page.locator(".site-head nav > *").locator("visible=true").evaluate_all(SAME_LINE) == 1
    if account is not None:
        page.goto("/Modhub/mine")
        middles = page.locator(".split > *").evaluate_all(MIDDLES)
        assert max(middles) - min(middles) <= 2, "the button stands below the heading"
    page.goto("/Modhub")
    look(page, f"front {locale} {account}")
    if account is None:
        expect(page.locator("h1")).to_have_text("Mods, die über dein Konsolenspiel zeichnen")
    assert min(page.locator(".row .card h3 a").evaluate_all(HEIGHTS)) >= 24
