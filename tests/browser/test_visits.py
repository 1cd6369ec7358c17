"""What a returning visitor sees: badges on browse, an author's page, and what an account follows."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
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
LOOKED = "(at) => localStorage.setItem('modhub-visit', JSON.stringify({ at: Date.parse(at) }))"
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
    width = looks["viewport"]["width"]
    page = visit(**looks)
    page.goto("/Modhub?sort=new")
    badges = page.locator(".browse > .cards .badge")
    # Nothing is new to somebody who was never here.
    expect(badges).to_have_count(0)
    moments = sorted(changes(page), reverse=True)
    # The last look was after the fourth was changed, and it is an hour later.
    page.evaluate(LOOKED, moments[3])
    page.clock.set_fixed_time(datetime.now(UTC) + timedelta(hours=1))
    resource_types: list[str] = []
    page.on("request", lambda request: resource_types.append(request.resource_type))
    page.reload()
    expect(badges).to_have_count(3)
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
    page.clock.set_fixed_time(datetime.now(UTC) + timedelta(hours=2))
    page.reload()
    expect(badges).to_have_count(0)


def test_a_browser_without_storage_shows_the_list(visit: Visit) -> None:
    page = visit()
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    page.goto("/Modhub")
    assert page.locator(".card").count() > 1


@pytest.mark.parametrize("looks", LOOKS[:2])
def test_an_author_has_a_page(visit: Visit, look: Look, looks: Any) -> None:
    page = visit(**looks)
    page.goto("/Modhub?sort=new")
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
    expect(page.locator('form.follow [value="0"]')).to_be_visible()
    page.locator(".byline a").click()
    page.locator("form.follow button").click()
    expect(page.locator('form.follow [value="0"]')).to_be_visible()
    look(page, f"author {width} {language}")
    page.goto("/Modhub?game=Starfall+Rally")
    page.locator("form.follow button").click()
    expect(page.locator('form.follow [value="0"]')).to_be_visible()
    look(page, f"game {width} {language}")
    page.goto("/Modhub/following")
    expect(page.locator(".followed li")).to_have_count(3)
    page.locator("#frequency").select_option("weekly")
    page.locator("#frequency").locator("xpath=ancestor::form").locator("button").click()
    expect(page.locator(".note.good")).to_be_visible()
    look(page, f"following {width} {language}")
    context.close()
