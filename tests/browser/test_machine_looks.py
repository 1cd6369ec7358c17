"""Pages of builds and the wiki: narrow and wide, light and dark, filled and empty."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

Look = Callable[[Page, str], None]
FEATURES = "modhub_builds modhub_wiki"
PAGES = {
    "app": "/Modhub/App",
    "wiki": "/Modhub/Wiki",
    "wiki-page": "/Modhub/Wiki/mods/overlay-api",
    "wiki-search": "/Modhub/Wiki?q=overlay",
    "wiki-nothing": "/Modhub/Wiki?q=zzzz",
    "wiki-absent": "/Modhub/Wiki/there/is/no/such/page",
}


@pytest.fixture(scope="module")
def published(serve_with: Any, tmp_path_factory: Any) -> Iterator[Any]:
    with serve_with(tmp_path_factory.mktemp("machines"), FEATURES, "demo") as service:
        yield service


@pytest.fixture
def nothing_published(serve_with: Any, tmp_path: Path) -> Iterator[Any]:
    with serve_with(tmp_path, FEATURES) as service:
        yield service


def walk(browser: Browser, service: Any, look: Look, **options: Any) -> None:
    context = browser.new_context(base_url=service.address, **options)
    page = context.new_page()
    for name, address in PAGES.items():
        page.goto(address)
        look(page, name)
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_is_accessible_valid_and_fits(
    browser: Browser, published: Any, look: Look, width: int, scheme: str
) -> None:
    walk(browser, published, look, viewport={"width": width, "height": 800}, color_scheme=scheme)


def test_so_are_the_empty_ones(browser: Browser, nothing_published: Any, look: Look) -> None:
    walk(browser, nothing_published, look, viewport={"width": 320, "height": 800})


def test_every_hash_has_a_button_that_copies_it(browser: Browser, published: Any) -> None:
    context = browser.new_context(base_url=published.address)
    page = context.new_page()
    page.goto("/Modhub/App")
    hashes = page.locator("code[data-copy]").count()
    assert page.locator("button.copier").count() == hashes > 0
    context.close()
