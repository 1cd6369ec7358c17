"""Errors on pages are translated, use the page's labels, and appear beside the field."""

import pytest

from modhub.base.errors import ApiError, invalid
from modhub_testing.mods import OWNER, mod_address, new_mod
from tests.owning import save_details

pytestmark = pytest.mark.slow

GERMAN = {"Accept-Language": "de"}


def test_a_refusal_tells_programs_and_people_the_same():
    refusal = invalid("In %(field)s, 100%% of %(item)s.", field="requires", item="50%")
    assert refusal.message == "In requires, 100% of 50%."
    assert refusal.body() == {"error": "invalid_input", "message": refusal.message}
    assert str(refusal) == refusal.message
    assert refusal.localized(lambda text, **values: text % values, {"requires": "Needs", "50%": "x"}) == (
        "In Needs, 100% of 50%."
    )
    assert ApiError(400, "a", "100% as it is").message == "100% as it is"


def test_the_workshop_refuses_in_german_by_its_own_labels_and_all_at_once(site):
    mod = new_mod(site)
    page = save_details(site, mod, 400, GERMAN, title=" ", requires="x", conflictsWith=mod["guid"])
    assert page.html.find(id="title-error").text == "Das Feld „Titel“ darf nicht leer sein."
    assert page.html.find(id="requires-error").text.startswith("Auf dieser Website gibt es keine Mod „x“.")
    assert "eigene GUID" in page.html.find(id="conflictsWith-error").text
    assert [link["href"] for link in page.html.select("#errors a")] == ["#title", "#requires", "#conflictsWith"]
    both = "01234567-89ab-cdef-0123-456789abcdef"
    page = save_details(site, mod, 400, GERMAN, requires=both, conflictsWith=both)
    assert f"{both} steht sowohl in „Benötigt" in page.html.find(id="conflictsWith-error").text
    # To programs, as ever.
    answer = site.as_account(OWNER).put_json(mod_address(mod), {"requires": ["x"]}, headers=GERMAN, status=400)
    assert answer.json["message"] == ("In requires, item 1 is not a GUID such as 01234567-89ab-cdef-0123-456789abcdef.")
