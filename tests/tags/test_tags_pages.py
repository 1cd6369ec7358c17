"""What pages show: the tags of a mod with links to the filter, and the form of its owner."""

from modhub_testing.mods import new_mod, published_mod
from modhub_testing.pages import form_at, messages_on, new_visitor
from tests.owning import own_form

from .conftest import SHIPPED, tag, tags_of


def chips(page):
    return {link.text: link["href"] for link in page.html.select('aside ul[aria-label="Tags"] a.chip')}


def tick(form, *names):
    for box in form.fields["tag"]:
        box.checked = box._value in names
    return form


def test_a_mods_page_leads_to_the_mods_with_each_tag(site):
    mod = published_mod(site)
    assert chips(site.get(mod["url"])) == {}
    tag(site, mod, "map", "hud")
    assert chips(site.get(mod["url"])) == {"HUD": "/Modhub?tag=hud", "Map": "/Modhub?tag=map"}
    german = site.get(mod["url"], headers={"Accept-Language": "de"}).html
    assert [link.text for link in german.select('aside ul[aria-label="Tags"] a')] == ["HUD", "Karte"]
    assert [link.text for link in site.get("/Modhub?tag=map").html.select(".card h3 a")] == [mod["title"]]


def ticked(form):
    return [box._value for box in form.fields["tag"] if box.checked]


def test_the_owner_ticks_tags_in_the_workshop(site):
    mod = published_mod(site)
    form = own_form(site, mod)
    assert [box._value for box in form.fields["tag"]] == SHIPPED
    assert ticked(form) == []
    assert messages_on(tick(form, "map", "chat").submit(status=303).follow()) == ["details"]
    assert tags_of(site, mod) == ["chat", "map"]
    form = own_form(site, mod)
    assert ticked(form) == ["chat", "map"]
    tick(form).submit(status=303)
    assert tags_of(site, mod) == []


def test_details_and_tags_are_saved_together_or_not_at_all(site):
    # C-TAG-3, C-PAGE-25
    mod = new_mod(site, title="A <b>mod</b>")
    tag(site, mod, "map")
    form = tick(own_form(site, mod), *SHIPPED[:6])
    form["title"] = "Another title"
    refused = form.submit(status=400)
    assert "At most 5" in refused.html.find(id="tag").text
    assert refused.html.find(id="errors").a["href"] == "#tag"
    again = form_at(refused, form.action)
    assert ticked(again) == SHIPPED[:6]
    assert again["title"].value == "Another title"
    assert (own_form(site, mod)["title"].value, ticked(own_form(site, mod))) == ("A <b>mod</b>", ["map"])
    # A title that is refused keeps the tags.
    tick(again, "chat")
    again["title"] = " "
    refused = again.submit(status=400)
    assert ticked(form_at(refused, form.action)) == ["chat"]
    assert ticked(own_form(site, mod)) == ["map"]


def test_a_tab_that_did_not_touch_the_tags_undoes_nothing(site):
    # C-PAGE-25
    mod = published_mod(site)
    first, second = own_form(site, mod), own_form(site, mod)
    tick(first, "map").submit(status=303)
    second["description"] = "Of another tab"
    second.submit(status=303)
    assert tags_of(site, mod) == ["map"]


def test_a_draft_shows_its_tags_in_the_preview_alone(site):
    # C-PRO-2
    mod = new_mod(site)
    tag(site, mod, "map")
    owner = new_visitor(site, 7)
    assert "Map" in chips(owner.get(f"/Modhub/mine/{mod['id']}/preview"))
    assert "Map" not in site.get(mod["url"], status=404).html.find("main").text
