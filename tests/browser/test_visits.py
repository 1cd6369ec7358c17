"""What a returning visitor sees: badges on browse, an author's page, and what an account follows."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

Visit = Callable[..., Page]
Look = Callable[[Page, str], None]
PASSWORD = "correct horse battery"
SHIFTS = """() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; })
        .observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 300);
})"""
LOOKED = """(known) => {
    localStorage.setItem("modhub-visit", JSON.stringify(known));
}"""
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
LOOKS = [
    {"viewport": PHONE, "color_scheme": "light", "locale": "en"},
    {"viewport": DESK, "color_scheme": "dark", "locale": "de"},
    {"viewport": PHONE, "color_scheme": "dark", "locale": "de"},
]


def changes(page: Page) -> list[str]:
    return page.locator(".browse > .cards .card").evaluate_all("(cards) => cards.map((card) => card.dataset.changed)")


@pytest.mark.parametrize("looks", LOOKS[:2])
def test_browse_says_what_is_new_since_the_last_visit(visit: Visit, look: Look, looks: Any) -> None:
    # C-PAGE-41
    language, width = looks["locale"], looks["viewport"]["width"]
    page = visit(**looks)
    page.goto("/Modhub")
    line, badges = page.locator("[data-since]"), page.locator(".browse > .cards .badge")
    # Nothing is new to somebody who was never here.
    expect(line).to_be_empty()
    expect(badges).to_have_count(0)
    known = page.evaluate("JSON.parse(localStorage.getItem('modhub-visit'))")
    moments = sorted(changes(page), reverse=True)
    assert known["seen"] == known["since"] == moments[0]
    # An hour later, three more were changed.
    hour_ago = {"since": moments[5], "seen": moments[3], "at": known["at"] - 3_600_000}
    page.evaluate(LOOKED, hour_ago)
    resource_types: list[str] = []
    page.on("request", lambda request: resource_types.append(request.resource_type))
    page.reload()
    expect(badges).to_have_count(3)
    text = (
        "3 new or updated since your last visit"
        if language == "en"
        else "3 neu oder aktualisiert seit deinem letzten Besuch"
    )
    expect(line).to_have_text(text)
    # C-PAGE-75: other tests of this service may have made new mods, whose short summaries leave no room.
    updated = page.locator(".browse > .cards .card:has(.badge)", has_text=re.compile("Updated|Aktualisiert"))
    told = updated.locator(".changes")
    assert told.count() == told.locator("visible=true").count()
    assert page.locator(".browse > .cards .card:not(:has(.badge)) .changes").locator("visible=true").count() == 0
    assert set(badges.all_text_contents()) <= {"New", "Updated", "Neu", "Aktualisiert"}
    assert page.evaluate(SHIFTS) < 0.01
    assert not {"xhr", "fetch"} & set(resource_types)
    assert page.context.cookies() == []
    look(page, f"browse {width}")
    # They stay for this visit, also in what is typed into the search; another one begins after a pause.
    page.reload()
    expect(badges).to_have_count(3)
    page.locator("#q").fill("zz")
    expect(page.locator(".empty")).to_be_visible()
    page.locator("#q").fill("")
    expect(badges).to_have_count(3)
    page.evaluate(LOOKED, {**hour_ago, "seen": moments[0]})
    page.reload()
    expect(line).to_be_empty()


def test_a_browser_without_storage_shows_the_list(visit: Visit) -> None:
    page = visit()
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    page.goto("/Modhub")
    assert page.locator(".card").count() > 1


@pytest.mark.parametrize("looks", LOOKS[:2])
def test_an_author_has_a_page(visit: Visit, look: Look, looks: Any) -> None:
    page = visit(**looks)
    page.goto("/Modhub")
    by_line = page.locator(".card .author a").first
    name = by_line.text_content() or ""
    by_line.click()
    expect(page.locator("h1")).to_have_text(name)
    look(page, "author")


@pytest.fixture(scope="module")
def followed(serve_with: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serve_with(tmp_path_factory.mktemp("followed"), "modhub_auth modhub_following", "demo") as running:
        yield running


@pytest.mark.parametrize("looks", LOOKS)
def test_a_reader_follows_by_buttons(browser: Browser, followed: Any, look: Look, looks: Any) -> None:
    # C-FOL-1, C-FOL-2
    language, width, scheme = looks["locale"], looks["viewport"]["width"], looks["color_scheme"]
    context = browser.new_context(base_url=followed.address, **looks)
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto("/Modhub/account/register")
    page.locator('input[name="email"]').fill(f"reader-{width}-{scheme}@example.org")
    page.locator('input[name="password"]').fill(PASSWORD)
    page.locator('main button[type="submit"]').click()
    page.goto("/Modhub/following")
    look(page, f"nothing {width} {language}")
    page.goto("/Modhub")
    page.locator(".card h3 a").first.click()
    look(page, f"mod {width} {language}")
    page.locator("form.follow button").click()
    expect(page.locator("form.follow a")).to_be_visible()
    page.locator(".byline a").click()
    page.locator("form.follow button").click()
    expect(page.locator("form.follow a")).to_be_visible()
    look(page, f"author {width} {language}")
    page.goto("/Modhub?game=Starfall+Rally")
    page.locator("form.follow button").click()
    expect(page.locator("form.follow a")).to_be_visible()
    look(page, f"game {width} {language}")
    page.locator("form.follow a").click()
    expect(page.locator(".followed li")).to_have_count(3)
    page.locator("#frequency").select_option("weekly")
    page.locator("#frequency").locator("xpath=ancestor::form").locator("button").click()
    expect(page.locator(".note.good")).to_be_visible()
    look(page, f"following {width} {language}")
    context.close()


def test_who_came_by_another_page_first_has_missed_nothing(visit: Visit) -> None:
    # C-PAGE-41
    for first in ("/Modhub?game=Starfall+Rally", "/Modhub?q=nothinghere", "/Modhub?sort=top"):
        page = visit()
        page.goto(first)
        page.goto("/Modhub")
        expect(page.locator("[data-since]")).to_be_empty()
        expect(page.locator(".card .badge")).to_have_count(0)


def test_the_line_counts_the_beginning_of_the_whole_list(visit: Visit) -> None:
    # C-PAGE-41
    page = visit()
    page.goto("/Modhub?size=5")
    known = page.evaluate("JSON.parse(localStorage.getItem('modhub-visit'))")
    week_ago = {"since": "2020-01-01", "seen": "2020-01-01", "at": known["at"] - 7 * 86_400_000}
    page.evaluate(LOOKED, week_ago)
    page.reload()
    # All that is shown is new: marks would mark nothing.
    expect(page.locator("[data-since]")).to_have_text("5+ new or updated since your last visit")
    expect(page.locator(".card .badge")).to_have_count(0)
    page.goto("/Modhub?size=5&page=2")
    expect(page.locator("[data-since]")).to_be_empty()
