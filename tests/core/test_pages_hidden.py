"""The workshop shows that and why a mod is hidden, and which mods require one before it is deleted."""

import uuid

import pytest

from modhub.catalogue.pages import statements
from modhub_testing.mods import (
    OWNER,
    hide_mod,
    insert_mods,
    new_mod,
    published_mod,
    restore_mod,
    upload_asset,
)
from modhub_testing.pages import form_at

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
REASON = "Looks like <b>malware</b> & worse"


def bench(mod):
    return f"/Modhub/mine/{mod['id']}"


def test_a_hidden_mod_is_named_on_its_owners_pages_with_the_reason(site, author):
    mod = published_mod(site, title="Bad")
    mod = upload_asset(site, mod, "images", PNG, content_type="image/png")
    assert author.get(bench(mod)).html.find(id="hidden") is None
    hide_mod(site, mod, REASON)
    (row,) = author.get("/Modhub/mine").html.select(".shelf > li")
    assert row.select_one(".state")["data-state"] == "hidden"
    assert REASON in row.text
    assert row.b is None
    page = author.get(bench(mod))
    notice = page.html.find(id="hidden").text
    assert REASON in notice
    # Neither leads to what is a 404 now.
    for shown in (row, page.html):
        assert not [link for link in shown.find_all("a") if link["href"] == mod["url"]]
        assert not [image for image in shown.find_all("img") if image["src"].startswith("/Modhub/file/")]
    assert "Publish" not in [heading.text for heading in page.html.find_all("h2")]
    hide_mod(site, mod, "")
    assert "Reason:" not in author.get(bench(mod)).text
    restore_mod(site, mod)
    assert author.get(bench(mod)).html.find(id="hidden") is None


def test_mods_that_require_a_mod_are_listed_before_it_is_deleted(site, author):
    mod = published_mod(site, title="Base")
    assert author.get(f"{bench(mod)}?part=publish").html.find(id="required-by") is None
    new_mod(site, 8, "Secret draft", requires=[mod["guid"]])
    hidden = published_mod(site, 8, "Secret hidden", requires=[mod["guid"]])
    hide_mod(site, hidden)
    published_mod(site, 8, "Other", requires=[str(uuid.uuid4())], conflictsWith=[mod["guid"]])
    first = published_mod(site, 8, "One", requires=[mod["guid"].upper()])
    second = published_mod(site, OWNER, "Two <b>", requires=[str(uuid.uuid4()), mod["guid"]])
    page = author.get(f"{bench(mod)}?part=publish")
    dependents = page.html.find(id="required-by")
    assert dependents.p.text.startswith("2 ")
    assert {link["href"] for link in dependents.find_all("a")} == {first["url"], second["url"]}
    assert "Secret" not in page.text
    form = form_at(page, f"{bench(mod)}/delete")
    form["title"] = "Base"
    form.submit(status=303)
    site.get(mod["url"], status=404)


def test_a_mod_that_many_require_names_some(site, author):
    mod = new_mod(site, title="Base")
    insert_mods(site, [{"requires": [mod["guid"]]}] * (statements.DEPENDENTS_SHOWN + 2))
    dependents = author.get(f"{bench(mod)}?part=publish").html.find(id="required-by")
    assert dependents.p.text.startswith(f"{statements.DEPENDENTS_SHOWN + 2} ")
    assert len(dependents.find_all("a")) == statements.DEPENDENTS_SHOWN
    assert dependents.find_all("li")[-1].text == "and 2 more mods"
    insert_mods(site, [{"requires": [mod["guid"]]}] * statements.MAX_DEPENDENTS_COUNTED)
    dependents = author.get(f"{bench(mod)}?part=publish").html.find(id="required-by")
    assert f"More than {statements.MAX_DEPENDENTS_COUNTED} published mods" in dependents.text
    assert dependents.find_all("li")[-1].text == "and more"
