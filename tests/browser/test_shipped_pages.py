"""The main pages with all features that development.ini enables, for visitors and for who is signed in.

What assistive technology is told of each page is kept in ``snapshots/``. After a wanted change
``MODHUB_SNAPSHOTS=write make test-browser PYTEST_ARGS=tests/browser/test_shipped_pages.py`` writes them again: read the
difference as somebody who hears the page.
"""

import difflib
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from modhub_testing.service import PASSWORD, features_of

INI = Path(__file__).parents[2] / "development.ini"
SNAPSHOTS = Path(__file__).parent / "snapshots"
READER = "reader"
PHONE = {"width": 360, "height": 740}
LOOKS = [
    {"viewport": PHONE, "color_scheme": "light"},
    {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
]
PUBLIC = {
    "browse": "/Modhub?q=split&sort=top",
    "nothing": "/Modhub?q=nothing+like+this",
    "mod": "/Modhub/3",
    "install": "/Modhub/3/install",
    "author": "/Modhub/by/1",
    "app": "/Modhub/App",
    "wiki": "/Modhub/Wiki",
    "missing": "/Modhub/999999",
    "sign-in": "/Modhub/account/login",
    "register": "/Modhub/account/register",
}
OWN = {
    "following": "/Modhub/following",
    "mine": "/Modhub/mine",
    "new": "/Modhub/mine/new",
    "draft": "/Modhub/mine/{draft}",
    "account": "/Modhub/account",
    "publisher-key": "/Modhub/account/publisher-key",
    "history": "/Modhub/account/history",
}
LARGE = {"front": "/Modhub", "doc": "/Modhub/doc", "wiki-page": "/Modhub/Wiki/mods/overlay-api"}
"""Judged, but without a snapshot: too long to be read."""
FORMS = {"data": "/Modhub/account/data", "profile": "/Modhub/profile", "details": "/Modhub/mine/{draft}?part=details"}
"""Judged alone: most of them are fields."""
MONTH = "(January|February|March|April|May|June|July|August|September|October|November|December)"
# What is another in each run, or with the day of the run.
CHANGING = (
    (r"/(picture|static|file|icon)/[^\s\"]+", r"/\1/…"),
    (r"token=[\w.-]+", "token=…"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "GUID"),
    (r"\b[0-9a-f]{64}\b", "SHA-256"),
    (r"\b(just now|\d+ (second|minute|hour|day)s? ago)\b", "AGO"),
    (rf"\b\d{{1,2}} {MONTH} \d{{4}}\b", "DAY"),
    (rf"\b{MONTH} \d{{4}}\b", "MONTH"),
    (r"127\.0\.0\.1:\d+", "HOST"),
)


def steady(tree):
    for pattern, constant in CHANGING:
        tree = re.sub(pattern, constant, tree)
    return tree + "\n"


@pytest.fixture(scope="module")
def shipped(serve_with, tmp_path_factory):
    with serve_with(tmp_path_factory.mktemp("shipped"), features_of(INI), "demo") as service:
        yield service


def register(shipped, name):
    """Register an account; returns the id of its draft."""
    reader = shipped.caller()
    registration = {"email": f"{name}@example.org", "password": PASSWORD, "displayName": "Robin Reader"}
    reader.token = reader.need(201, "POST", "/api/auth/register", registration)["accessToken"]
    return reader.need(201, "POST", "/api/modhub", {"title": "A draft"})["id"]


@pytest.fixture(scope="module")
def draft(shipped):
    """A draft of the reader."""
    return register(shipped, READER)


def opened(browser, shipped, **options):
    context = browser.new_context(base_url=shipped.address, locale="en-GB", **{"viewport": PHONE, **options})
    context.set_default_timeout(100_000)
    return context.new_page()


def signed_in(browser, shipped, name=READER, **options):
    page = opened(browser, shipped, **options)
    shipped.sign_in(page, f"{name}@example.org")
    expect(page.locator("header").get_by_text("Account", exact=True)).to_have_count(1)
    return page


@pytest.mark.parametrize("looks", LOOKS)
def test_every_page_is_accessible_with_all_features(browser, shipped, draft, look, looks):
    visitor, owner = opened(browser, shipped, **looks), signed_in(browser, shipped, **looks)
    for page, addresses in ((visitor, {**PUBLIC, **LARGE}), (owner, {**LARGE, "mod": PUBLIC["mod"], **OWN, **FORMS})):
        for name, address in addresses.items():
            page.goto(address.format(draft=draft))
            look(page, f"{name} {looks}")
        page.context.close()


def test_what_assistive_technology_hears_is_as_it_was(browser, shipped):
    draft = register(shipped, "listener")  # of its own: the account's page lists all sessions
    # Without scripts: what they add is heard when it comes.
    visitor = opened(browser, shipped, java_script_enabled=False)
    owner = signed_in(browser, shipped, "listener", java_script_enabled=False)
    differing = []
    for page, addresses in ((visitor, PUBLIC), (owner, OWN)):
        for name, address in addresses.items():
            page.goto(address.format(draft=draft))
            heard, file = page.locator("body").aria_snapshot(), SNAPSHOTS / f"{name}.yml"
            tree = steady(heard).replace(f"/{draft}", "/DRAFT")
            if os.environ.get("MODHUB_SNAPSHOTS") == "write":
                file.parent.mkdir(exist_ok=True)
                file.write_text(tree, "utf-8")
            else:
                before = file.read_text("utf-8").splitlines()
                differing += difflib.unified_diff(before, tree.splitlines(), name, name, n=1, lineterm="")
        page.context.close()
    assert {path.stem for path in SNAPSHOTS.glob("*.yml")} == {*PUBLIC, *OWN}
    assert differing == [], "\n".join(differing)


def test_a_phone_that_is_signed_in_shows_a_mod_first(browser, shipped, draft):
    # With all entries of the navigation
    page = signed_in(browser, shipped, java_script_enabled=False)
    page.set_extra_http_headers({"Accept-Language": "de"})
    page.goto("/Modhub?sort=top")
    notice = page.locator('[data-message="email_sent"]')
    expect(notice).to_be_visible()
    page.locator('button[formaction$="/hide-notice"]').click()
    expect(notice).to_have_count(0)
    assert page.url.endswith("/Modhub?sort=top")
    # What is one's own is behind a button.
    own = page.locator('header [href="/Modhub/mine"]')
    expect(own).not_to_be_visible()
    page.locator("header button").click()
    expect(own).to_be_visible()
    page.keyboard.press("Escape")
    box = page.locator(".card").first.bounding_box()
    assert box
    assert box["y"] <= 320
    page.context.close()
    assert draft


def test_the_keyboard_reaches_the_first_result_in_eight_stops(browser, shipped):
    # C-PAGE-5
    page = opened(browser, shipped, viewport={"width": 1280, "height": 800}, java_script_enabled=False)
    page.goto("/Modhub?game=Starfall+Rally")
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to results")).to_be_focused()
    page.keyboard.press("Enter")
    focused = ""
    for _ in range(3, 9):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.closest('.card') ? 'card' : document.activeElement.outerHTML")
        if focused == "card":
            break
    assert focused == "card"
    page.context.close()
