"""Every page, narrow and wide, light and dark: no barrier that axe knows, no sideways scrolling, valid markup."""

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from bleach._vendor import html5lib
from playwright.sync_api import Page

MIRA = 900_000_001
Visit = Callable[..., Page]
PAGES = {
    "browse": "/Modhub",
    "search": "/Modhub?q=overlay&game=starfall+rally&sort=top&size=1",
    "nothing": "/Modhub?q=zzzz",
    "mod": "/Modhub/3",
    "mod-with-everything": "/Modhub/8",
    "absent": "/Modhub/999999",
    "mine": "/Modhub/mine",
    "new": "/Modhub/mine/new",
    "draft": "/Modhub/mine/13",
    "edit": "/Modhub/mine/1",
    "preview": "/Modhub/mine/13/preview",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_is_accessible_and_fits(visit: Visit, width: int, scheme: str, tmp_path: Path) -> None:
    # 320 px is also what a window of 1280 px has at 400 % (WCAG 1.4.10).
    page = visit(account=MIRA, viewport={"width": width, "height": 800}, color_scheme=scheme)
    for name, address in PAGES.items():
        page.goto(address)
        page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
        sideways = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert sideways == 0, f"{name} scrolls sideways"
        assert page.locator("h1").count() == 1, name
        found = Axe().run(page)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"


def test_every_page_is_valid_markup(visit: Visit) -> None:
    page = visit(account=MIRA)
    for name, address in PAGES.items():
        answer = page.goto(address)
        assert answer is not None
        parser = html5lib.HTMLParser()
        parser.parse(answer.text())
        assert parser.errors == [], f"{name}: {[(at, code) for at, code, _ in parser.errors]}"
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
        assert len(ids) == len(set(ids)), f"{name}: an id stands twice"


def test_nothing_comes_from_elsewhere(visit: Visit) -> None:
    page = visit(account=MIRA)
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url.split("/Modhub")[0].split("/static")[0].split("/api")[0]))
    for address in PAGES.values():
        page.goto(address)
    assert len(asked) == 1, asked
