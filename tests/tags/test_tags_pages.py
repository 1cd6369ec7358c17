"""What pages show: the tags of a mod with links to the filter, and the form of its owner."""

from typing import Any

from modhub_testing import Site, Start
from modhub_testing.mods import hide_mod, mod_address, new_mod, published_mod, upload_asset
from modhub_testing.pages import form_at, messages_on, new_visitor

from .conftest import SHIPPED, tag


def chips(page: Any) -> dict[str, str]:
    return {link.text: link["href"] for link in page.html.select('aside ul[aria-label="Tags"] a.chip')}


def own_form(site: Site, mod: dict[str, Any], page: str = "", account_id: int = 7) -> Any:
    address = f"/Modhub/mine/{mod['id']}"
    return form_at(new_visitor(site, account_id).get(address + page), f"{address}/tags")


def tick(form: Any, *names: str) -> Any:
    for box in form.fields["tag"]:
        box.checked = box._value in names
    return form


def test_a_mods_page_leads_to_the_mods_with_each_tag(site: Site) -> None:
    # C-TAG-7
    mod = published_mod(site)
    assert chips(site.get(mod["url"])) == {}
    tag(site, mod, "map", "hud")
    assert chips(site.get(mod["url"])) == {"HUD": "/Modhub?tag=hud", "Map": "/Modhub?tag=map"}
    german = site.get(mod["url"], headers={"Accept-Language": "de"}).html
    assert [link.text for link in german.select('aside ul[aria-label="Tags"] a')] == ["HUD", "Karte"]
    assert [link.text for link in site.get("/Modhub?tag=map").html.select(".card h3 a")] == [mod["title"]]


def test_the_panel_is_one_statement(site: Site, start: Start) -> None:
    mod = published_mod(site)
    tag(site, mod, "map")
    without = start("modhub_testing.accounts", url=str(site.registry.settings["sqlalchemy.url"]))
    counts = []
    for app in (site, without):
        app.get(mod["url"])
        with app.counted() as statements:
            app.get(mod["url"])
        counts.append(len(statements))
    assert counts[0] == counts[1] + 1


def test_the_owner_ticks_tags_in_the_workshop(site: Site) -> None:
    # C-TAG-7
    mod = published_mod(site)
    form = own_form(site, mod)
    assert [box._value for box in form.fields["tag"]] == SHIPPED
    assert not any(box.checked for box in form.fields["tag"])
    saved = tick(form, "map", "chat").submit(status=303)
    assert saved.location.endswith(f"/Modhub/mine/{mod['id']}?done=tags#tags")
    page = new_visitor(site, 7).get(f"/Modhub/mine/{mod['id']}?done=tags")
    assert messages_on(page) == ["tags"]
    assert site.get(mod_address(mod, "tags")).json == {"tags": ["chat", "map"]}
    form = own_form(site, mod)
    assert [box._value for box in form.fields["tag"] if box.checked] == ["chat", "map"]
    tick(form).submit(status=303)
    assert site.get(mod_address(mod, "tags")).json == {"tags": []}


def test_a_page_that_is_shown_for_a_changelog_entry_has_the_tags_of_no_other_mod(site: Site) -> None:
    mod = published_mod(site)
    upload_asset(site, mod, "code", version="2")
    other, visitor = published_mod(site), new_visitor(site, 7)
    entry = site.get(mod_address(mod, "changelog")).json["notes"][0]
    assert entry["id"] == other["id"], "they have one number"
    address = f"/Modhub/mine/{mod['id']}/changelog/{other['id']}"
    form = form_at(visitor.get(f"/Modhub/mine/{mod['id']}?part=changelog"), address)
    assert f"/Modhub/mine/{other['id']}/tags" not in form.submit("preview", status=200)


def test_a_refused_form_is_shown_again_with_what_was_ticked(site: Site) -> None:
    # C-TAG-3, C-TAG-7
    mod = new_mod(site, title="A <b>mod</b>")
    tag(site, mod, "map")
    refused = tick(own_form(site, mod), *SHIPPED[:6]).submit(status=400)
    assert messages_on(refused) == ["tags_refused"]
    form = form_at(refused, f"/Modhub/mine/{mod['id']}/tags")
    assert [box._value for box in form.fields["tag"] if box.checked] == SHIPPED[:6]
    assert "A &lt;b&gt;mod&lt;/b&gt;" in refused
    assert [box._value for box in own_form(site, mod, "/tags").fields["tag"] if box.checked] == ["map"]


def test_a_draft_shows_its_tags_in_the_preview_alone(site: Site) -> None:
    # C-PRO-2
    mod = new_mod(site)
    tag(site, mod, "map")
    owner = new_visitor(site, 7)
    assert "Map" in chips(owner.get(f"/Modhub/mine/{mod['id']}/preview"))
    assert "Map" not in site.get(mod["url"], status=404).html.find("main").text


def test_the_form_is_closed_to_others(site: Site) -> None:
    # C-OWN-12, C-PAGE-8
    mod, hidden = published_mod(site), published_mod(site)
    hide_mod(site, hidden)
    for address in (f"/Modhub/mine/{mod['id']}/tags", f"/Modhub/mine/{hidden['id']}/tags", "/Modhub/mine/999/tags"):
        assert new_visitor(site).get(address, status=303).location.startswith("/Modhub/account")
        new_visitor(site, 8).get(address, status=404)
    new_visitor(site, 7).get(f"/Modhub/mine/{hidden['id']}/tags", status=200)
    site.get(f"/Modhub/{mod['id']}/tags", status=404)


def test_a_form_that_was_sent_again_has_its_tags_in_one_field(site: Site) -> None:
    mod = published_mod(site)
    form = tick(own_form(site, mod), "map", "chat")
    form["csrf_token"] = "expired"
    again = form.submit(headers={"Origin": site.registry.settings["modhub.base_url"]}, status=400)
    form_at(again, f"/Modhub/mine/{mod['id']}/tags").submit(status=303)
    assert site.get(mod_address(mod, "tags")).json == {"tags": ["chat", "map"]}


def test_a_name_that_is_not_in_the_list_is_text(site: Site) -> None:
    mod, visitor = published_mod(site), new_visitor(site, 7)
    form = form_at(visitor.get(f"/Modhub/mine/{mod['id']}"), f"/Modhub/mine/{mod['id']}/tags")
    fields = [("csrf_token", form["csrf_token"].value), ("tag", "map"), ("tag", "<i>")]
    refused = visitor.post(form.action, fields, status=400)
    assert "<i>" not in refused.html.find("main").decode_contents()
    assert messages_on(refused) == ["tags_refused"]
