"""Every page, narrow and wide, light and dark: accessible, no sideways scrolling, valid markup."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

MIRA = 900_000_001
Visit = Callable[..., Page]
Look = Callable[[Page, str], None]
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
    "reference": "/Modhub/doc",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_is_accessible_valid_and_fits(visit: Visit, look: Look, width: int, scheme: str) -> None:
    # 320 px is also what a window of 1280 px has at 400 % (WCAG 1.4.10).
    page = visit(account=MIRA, viewport={"width": width, "height": 800}, color_scheme=scheme)
    for name, address in PAGES.items():
        page.goto(address)
        look(page, name)


def test_nothing_comes_from_elsewhere(visit: Visit) -> None:
    # T-H5
    page = visit(account=MIRA)
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url.split("/Modhub")[0].split("/static")[0].split("/api")[0]))
    for address in PAGES.values():
        page.goto(address)
    assert len(asked) == 1, asked
