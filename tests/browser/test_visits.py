"""What a returning visitor sees: badges on browse."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

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
]


def changes(page):
    return page.locator(".browse > .cards .card").evaluate_all("(cards) => cards.map((card) => card.dataset.changed)")


@pytest.mark.parametrize("looks", LOOKS)
def test_browse_says_what_is_new_since_the_last_visit(visit, look, looks):
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
    resource_types = []
    page.on("request", lambda request: resource_types.append(request.resource_type))
    page.reload()
    expect(badges).to_have_count(3)
    # Other tests of this service may have made new mods, whose short summaries leave no room.
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


def test_a_browser_without_storage_shows_the_list(visit):
    page = visit()
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    page.goto("/Modhub")
    assert page.locator(".card").count() > 1
