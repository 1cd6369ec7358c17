"""The front in a real browser: who is new, who comes back, on a phone, by keyboard, on the widest screens."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from modhub_testing.caller import Caller

MIRA = 900_000_001
CHANGED = 72
FIRST_RESULT_STOPS = 8
Visit = Callable[..., Page]
Look = Callable[[Page, str], None]
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


def first_card(page: Page) -> float:
    box = page.locator(".card").first.bounding_box()
    assert box
    return box["y"]


@pytest.mark.parametrize("java_script_enabled", [True, False], ids=["scripts", "no scripts"])
def test_who_is_new_comes_by_a_link_to_a_game(visit: Visit, look: Look, java_script_enabled: bool) -> None:
    # C-FRONT-2, C-FRONT-8, C-PAGE-5
    page = visit(java_script_enabled=java_script_enabled, viewport={"width": 1280, "height": 900})
    page.goto("/Modhub?game=Starfall+Rally")
    expect(page.locator(".results .game-icon")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mods for Starfall Rally")
    page.locator("#sort").select_option("top")
    page.get_by_role("button", name="Search").click()
    expect(page).to_have_url(re.compile("sort=top"))
    expect(page.locator("#sort")).to_have_value("top")
    page.locator(".brand").click()
    expect(page.locator(".front-head p")).to_have_text("Choose a mod, open its file in the overlay app.")
    # Nothing is new to somebody who was never here.
    expect(page.locator(".badge")).to_have_count(0)
    page.get_by_role("navigation", name="Games").get_by_role("link", name="Harbour Nine").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mods for Harbour Nine")


@pytest.mark.parametrize(("width", "address"), [(2560, "/Modhub"), (360, "/Modhub?game=Starfall+Rally")])
def test_nothing_moves_while_a_slow_machine_reads_the_page(visit: Visit, width: int, address: str) -> None:
    # C-FRONT-1: what the style sheet asks of a page is known when it begins
    page = visit(viewport={"width": width, "height": 900})
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 7})
    page.goto(address)
    assert page.evaluate(SHIFTS) < STILL


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_the_front_looks_right(visit: Visit, look: Look, width: int, scheme: str) -> None:
    # C-FRONT-1
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


@pytest.mark.parametrize("account", [None, MIRA], ids=["visitor", "signed in"])
@pytest.mark.parametrize("locale", ["en", "de"])
def test_a_phone_begins_with_mods(visit: Visit, look: Look, locale: str, account: int | None) -> None:
    # C-PAGE-19, C-FRONT-8
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
        expect(page.locator("h1")).to_have_text(
            "Mods, die über dein Konsolenspiel zeichnen" if locale == "de" else "Mods that draw over your console game"
        )
    assert min(page.locator(".row .card h3 a").evaluate_all(HEIGHTS)) >= 24


def test_a_keyboard_is_soon_at_the_first_result(visit: Visit) -> None:
    page = visit()
    page.goto("/Modhub")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    stops = 1
    while not page.evaluate("document.activeElement.matches('.card h3 a')"):
        page.keyboard.press("Tab")
        stops += 1
        assert stops <= FIRST_RESULT_STOPS
    # The row scrolls to what has the focus.
    page.set_viewport_size(PHONE)
    for _ in range(4):
        page.keyboard.press("Tab")
    expect(page.locator(".row").first.locator(".card").last).to_be_in_viewport()


@pytest.fixture(scope="module")
def busy(serve_with: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service on which 72 mods have changed, and its first mod before all of them."""
    with serve_with(tmp_path_factory.mktemp("busy"), "modhub_testing.accounts") as running:
        caller = Caller([int(running.address.rpartition(":")[2])], "account-7")
        caller.published("Known since long")
        for number in range(CHANGED):
            caller.published(f"Mod {number}")
        yield running


def test_a_week_later_there_are_72_changes(browser: Browser, busy: Any) -> None:
    # C-PAGE-41
    context = browser.new_context(base_url=busy.address)
    page = context.new_page()
    page.goto("/Modhub?page=4")
    before = page.locator(".card").last.get_attribute("data-changed") or ""
    page.evaluate("(at) => localStorage.setItem('modhub-visit', JSON.stringify({ at: Date.parse(at) }))", before)
    page.clock.set_fixed_time(datetime.now(UTC) + timedelta(days=7))
    page.goto("/Modhub?sort=new")
    # All that is shown is new: marks would mark none.
    expect(page.locator(".badge")).to_have_count(0)
    page.goto("/Modhub?page=4")
    expect(page.locator(".badge")).to_have_count(12)
    expect(page.locator(".card").last.locator(".badge")).to_have_count(0)
    context.close()
