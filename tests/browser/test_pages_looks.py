"""Pages of authors, narrow and wide, light and dark: accessible, no sideways scrolling, valid markup. And of phones."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

MIRA = 900_000_001
PAGES = {
    "mod-with-everything": "/Modhub/8",
    "search": "/Modhub?q=overlay&game=starfall+rally&sort=top&size=1",
    "new version": "/Modhub/mine/1",
    **{
        f"edit {part}": f"/Modhub/mine/1?part={part}" for part in ("details", "files", "images", "changelog", "publish")
    },
    "preview": "/Modhub/mine/13/preview",
}


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
def test_each_page_is_accessible_valid_and_fits(visit, look, width, scheme):
    # 320 px is also what a window of 1280 px has at 400 % (WCAG 1.4.10).
    page = visit(account=MIRA, viewport={"width": width, "height": 800}, color_scheme=scheme)
    origins = set()
    page.on("request", lambda request: origins.add(urlsplit(request.url).netloc))
    for name, address in PAGES.items():
        page.goto(address)
        look(page, name)
    # T-H5: nothing comes from elsewhere.
    assert len(origins) == 1, origins


def test_the_download_stays_on_a_phone(visit):
    page = visit(viewport={"width": 360, "height": 740})
    page.goto("/Modhub/3")
    download = page.locator(".download")
    for selector in ("h1", "#install", "#changelog"):
        page.locator(selector).evaluate("(part) => part.scrollIntoView({ behavior: 'instant' })")
        box = download.bounding_box()
        assert box
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 740
    targets = page.locator(".mod-side :is(a, button, summary), .mod-gallery a, .chain a")
    heights = [target.bounding_box() for target in targets.all() if target.is_visible()]
    assert [box for box in heights if box and box["height"] < 24] == []


def test_a_shared_link_says_at_once_what_the_mod_does(visit):
    page = visit(viewport={"width": 360, "height": 740})
    page.goto("/Modhub/1")
    sentence = page.locator(".mod-head .lead").bounding_box()
    assert sentence
    assert sentence["y"] <= 220
    expect(page.locator(".download")).to_be_in_viewport()


@pytest.mark.parametrize("density", [1.75, 4])
def test_a_card_loads_640_pixels_on_every_screen(visit, density):
    # Twenty of the next size would weigh more than a megabyte.
    page = visit(viewport={"width": 390, "height": 740}, device_scale_factor=density)
    for _ in range(100):
        page.goto("/Modhub")
        if page.locator(".card picture").count():
            break
        # Its pictures are still being made.
        page.wait_for_timeout(300)
    card = page.locator(".card picture img").first
    content = page.request.get(str(card.get_attribute("src"))).body()
    page.route("**/chosen/*", lambda route: route.fulfill(body=content, content_type="image/jpeg"))
    # The samples have no picture of the next size.
    chosen = card.evaluate(
        """async (image) => {
            const other = new Image();
            other.sizes = image.sizes;
            other.srcset = [320, 640, 1280].map((width) => `/chosen/${width} ${width}w`).join();
            await other.decode();
            return other.currentSrc;
        }"""
    )
    assert chosen.endswith("/640")
