"""Mods are found by their titles while typing, in the fields of the workshop that name mods."""

from playwright.sync_api import expect

MIRA = 900_000_001


def choose(page, field, typed):
    """Type the beginning of a title and choose what is found."""
    page.locator(field).press_sequentially(typed)
    option = page.locator(f"#{page.locator(field).get_attribute('list')} option").first
    expect(option).to_be_attached()
    value = option.get_attribute("value") or ""
    page.locator(field).fill(value)
    return value


def test_a_required_mod_is_added_and_a_successor_stays_in_its_field(visit):
    page = visit(account=MIRA)
    page.goto("/Modhub/mine/13?part=details")
    finder = 'input[list="requires-found"]'
    chosen = choose(page, finder, "Split")
    assert chosen.startswith("Split Timer – ")
    expect(page.locator(finder)).to_have_value("")
    assert page.locator("#requires").input_value().split("\n")[1:] == [chosen]
    page.locator(finder).press("Enter")  # sends nothing
    page.reload()
    chosen = choose(page, "#supersededBy", "Split")
    for value in (chosen, ""):
        page.locator("#supersededBy").fill(value)
        page.locator("#supersededBy").press("Enter")
        expect(page.locator(".note.good")).to_contain_text("Saved")
        expect(page.locator("#supersededBy")).to_have_value(value)
