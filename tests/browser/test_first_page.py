"""The first page, in a real browser."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect


def test_first_page_has_one_heading_and_no_barrier(page: Page) -> None:
    answer = page.goto("/Modhub")
    assert answer is not None
    assert answer.status == 200
    expect(page.locator("h1")).to_have_count(1)
    expect(page.locator("h1")).not_to_be_empty()
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
