"""``/api/modhub/{id}/links``, the workshop's form, and what the page of a mod shows."""

from sqlalchemy import select

from modhub_profiles.models import ModLinks
from modhub_testing.mods import (
    OWNER,
    hide_mod,
    mod_address,
    new_mod,
    publish_test_mod,
    published_mod,
    restore_mod,
    upload_asset,
)
from modhub_testing.pages import form_at, messages_on
from tests.owning import delete_mod, own_form
from tests.people import actions, read

NOTHING = {"source": None, "report": None, "community": None, "license": None}
ALL = {
    "source": "https://code.example.org/ada/hud",
    "report": "https://bugs.example.org/hud",
    "community": "https://xn--bcher-kva.example",
    "license": "MIT OR GPL-3.0-or-later",
}


def put(site, mod, owner=OWNER, status=200, **fields):
    return site.as_account(owner).put_json(mod_address(mod, "links"), fields, status=status).json


def links_of(site, mod):
    return site.get(mod_address(mod, "links")).json


def test_an_owner_sets_links_and_everybody_reads_them(site):
    # C-PRF-1
    mod = published_mod(site)
    here = mod_address(mod, "links")
    first = site.get(here)
    assert first.json == NOTHING
    assert put(site, mod, **ALL) == ALL
    assert site.get(here, headers={"If-None-Match": first.headers["ETag"]}, status=200).json == ALL
    assert put(site, mod, **NOTHING) == NOTHING
    assert actions(site)[-1] == "links changed"
    # Neither the mod nor a feed has changed.
    assert site.get(mod_address(mod)).json["updatedAt"] == mod["updatedAt"]
    assert site.get(f"/Modhub/{mod['id']}/links", status=404)


def test_a_refused_link_changes_nothing(site):
    # C-PRF-1, C-PRF-2, C-PRF-3
    mod = published_mod(site)
    put(site, mod, **ALL)
    for field, value in (("source", "http://x.example"), ("license", "nonsense"), ("report", 5), ("community", ["x"])):
        refused = put(site, mod, status=400, **{"source": "https://new.example", field: value})
        assert field in refused["message"]
        assert links_of(site, mod) == ALL
    large = put(site, mod, status=413, source="https://example.org/" + "x" * 10_000)
    assert large["limitBytes"] == 8192


def test_links_are_seen_as_their_mod_is(site):
    # C-PRF-1, C-PRO-2
    draft = new_mod(site)
    assert put(site, draft, **ALL) == ALL
    here = mod_address(draft, "links")
    absent = site.get("/api/modhub/999/links", status=404).body
    assert site.get(here, status=404).body == absent
    assert site.as_account(OWNER).get(here, status=404).body == absent
    upload_asset(site, draft, "code", version="1")
    publish_test_mod(site, draft)
    assert site.get(here).json == ALL
    hide_mod(site, draft)
    assert site.get(here, status=404).body == absent
    put(site, draft, license="CC0-1.0")
    restore_mod(site, draft)
    assert site.get(here).json == ALL | {"license": "CC0-1.0"}


def test_the_page_of_a_mod_shows_them(site):
    # C-PRF-2
    mod = published_mod(site)
    assert not site.get(mod["url"]).html.select(".links")
    put(site, mod, **ALL)
    page = site.get(mod["url"])
    shown = [(link.text, link["href"], " ".join(link["rel"])) for link in page.html.select(".links a")]
    assert shown == [
        ("code.example.org", ALL["source"], "ugc nofollow noopener"),
        ("bugs.example.org", ALL["report"], "ugc nofollow noopener"),
        ("xn--bcher-kva.example", ALL["community"], "ugc nofollow noopener"),
    ]
    assert page.html.select(".links dd")[-1].text == ALL["license"]
    put(site, mod, source=None, report=None, community=None, license='other: <b>Ask</b> "me"')
    again = site.get(mod["url"])
    assert again.html.select_one(".links dd").text == '<b>Ask</b> "me"'
    assert "<b>Ask" not in again.text
    assert "Lizenz" in site.get(mod["url"], headers={"Accept-Language": "de"}).html.select_one(".links").text


def test_the_form_in_the_workshop_sets_them(site):
    # C-PRF-2, C-PAGE-25
    mod = published_mod(site)
    form = own_form(site, mod)
    for name, value in ALL.items():
        form[name] = value.removeprefix("https://")
    form["title"] = "With links"
    assert messages_on(form.submit(status=303).follow()) == ["details"]
    assert links_of(site, mod) == ALL
    assert site.get(mod_address(mod)).json["title"] == "With links"
    form = own_form(site, mod)
    assert {name: form[name].value for name in ALL} == ALL
    # All errors at once; nothing is saved, nothing that was typed is lost.
    form["title"], form["source"], form["report"], form["license"] = "", "http://example.org", "127.0.0.1", "Ask me"
    refused = form.submit(status=400)
    assert [link["href"] for link in refused.html.select("#errors a")] == ["#title", "#source", "#report"]
    again = form_at(refused, form.action)
    assert (again["report"].value, again["license"].value) == ("127.0.0.1", "Ask me")
    assert refused.html.select_one("#source")["aria-invalid"] == "true"
    assert links_of(site, mod) == ALL
    again["title"], again["source"], again["report"] = "Of other links", "", ""
    again.submit(status=303)
    assert own_form(site, mod)["license"].value == "Ask me"
    stored = links_of(site, mod)
    assert (stored["source"], stored["license"]) == (None, "other: Ask me")
    own_form(site, mod).submit(status=303)
    assert links_of(site, mod) == stored


def test_a_tab_that_did_not_touch_the_links_undoes_nothing(site):
    # C-PAGE-25
    mod = published_mod(site)
    form = own_form(site, mod)
    put(site, mod, **ALL)
    form["description"] = "Of another tab"
    form.submit(status=303)
    assert links_of(site, mod) == ALL


def test_links_end_with_their_mod(site):
    # C-PRF-6
    mod, other = published_mod(site), published_mod(site)
    put(site, mod, **ALL)
    put(site, other, **ALL)
    delete_mod(site, mod)
    assert read(site, select(ModLinks.mod_id)) == [other["id"]]
