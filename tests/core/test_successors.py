"""The mod that supersedes another one."""

import uuid

import pytest

from modhub_testing.mods import OWNER, hide_mod, mod_address, new_mod, published_mod
from tests.owning import save_details

pytestmark = pytest.mark.slow


def successor_of(site, mod):
    return site.get(mod_address(mod, "superseded"), status=200).json["supersededBy"]


def banner(page):
    return page.html.find(id="superseded")


def test_a_published_successor_is_shown_to_readers(site):
    # C-OWN-18
    old, new = published_mod(site, title="Old"), published_mod(site, owner=8, title="New <b>one</b>")
    before = site.get(mod_address(old)).json
    for typed in ("new <B>one</b>", f"New – {new['guid']}"):
        save_details(site, old, supersededBy=typed)
        assert successor_of(site, old)["id"] == new["id"]
        shown = banner(site.get(old["url"]))
        assert (shown.a["href"], shown.a.text) == (new["url"], "New <b>one</b>")
    assert site.get(mod_address(old)).json.keys() == before.keys(), "it is no field of a mod"
    answer = site.get(mod_address(old, "superseded"))
    site.get(mod_address(old, "superseded"), headers={"If-None-Match": answer.headers["ETag"]}, status=304)
    hide_mod(site, new)
    assert successor_of(site, old) is None
    assert banner(site.get(old["url"])) is None


@pytest.mark.postgres
def test_a_search_has_the_successor_before_what_it_replaces(site):
    # C-PAGE-65
    def found():
        cards = site.get("/Modhub?q=map").html.select(".card")
        return [(card.h3.a.text, "Replaced" in card.h3.text) for card in cards]

    atlas, new, old = (published_mod(site, title=title) for title in ("Atlas", "New map", "Old map"))
    older = published_mod(site, title="Older map")
    save_details(site, old, supersededBy=new["guid"])
    save_details(site, older, supersededBy=atlas["guid"])
    # It need not be found itself, and stands once.
    assert found() == [("Atlas", False), ("Older map", True), ("New map", False), ("Old map", True)]
    assert site.get("/api/modhub?q=map").json["total"] == 3
    hide_mod(site, atlas)
    assert found()[0] == ("Older map", False)


def test_a_strangers_draft_is_as_an_unknown_mod(site, author):
    # C-OWN-18
    mod, draft = published_mod(site), new_mod(site, owner=8, title="A secret draft")
    errors = set()
    for typed in (f"/Modhub/{draft['id']}", "/Modhub/999999", "A secret draft", "A title"):
        page = save_details(site, mod, 400, supersededBy=typed)
        errors.add(page.html.find(id="supersededBy-error").text.replace(typed, "…"))
        assert page.html.find(id="supersededBy")["value"] == typed
        assert typed == "A secret draft" or "secret" not in page.text
    assert len(errors) == 1
    pages = []
    for guid in (draft["guid"], str(uuid.uuid4())):
        save_details(site, mod, supersededBy=guid)
        assert successor_of(site, mod) is None
        page = author.get(f"/Modhub/mine/{mod['id']}?part=details")
        pages.append(str(page.html.find(id="supersededBy").parent).replace(guid, "…"))
        assert "secret" not in page.text
    assert pages[0] == pages[1]


def test_a_rehearsal_names_it(site, author):
    # C-OWN-18, C-OWN-17
    mod, draft = new_mod(site), new_mod(site, owner=8)
    save_details(site, mod, supersededBy=draft["guid"])
    report = site.as_account(OWNER).post(mod_address(mod, "rehearsal")).json
    assert report["supersededBy"] == {"guid": draft["guid"], "published": False}
    assert draft["guid"] in author.get(f"/Modhub/mine/{mod['id']}/rehearsal").text


def put_successor(site, mod, by, status=200):
    return site.as_account(OWNER).put_json(mod_address(mod, "superseded"), {"by": by}, status=status).json


def test_the_successor_is_named_by_the_api(site):
    # C-OWN-18
    old, new = published_mod(site, title="Old"), published_mod(site, owner=8, title="New")
    document = {"supersededBy": {name: new[name] for name in ("guid", "id", "title", "url")}}
    whole = site.get(new["url"]).html.find("link", rel="canonical")["href"]
    for by in (new["guid"].upper(), new["url"], whole):
        assert put_successor(site, old, None) == {"supersededBy": None}
        assert put_successor(site, old, by) == document
        assert site.get(mod_address(old, "superseded")).json == document


def test_what_is_no_successor_is_400(site):
    # C-OWN-18
    mod, draft = published_mod(site), new_mod(site, owner=8)
    others = (draft["url"], "/Modhub/999999", f"/Modhub/{'9' * 40}", "http://elsewhere.example/Modhub/1")
    assert len({put_successor(site, mod, by, 400)["message"] for by in others}) == 1
    assert "by" in site.as_account(OWNER).put_json(mod_address(mod, "superseded"), {}, status=400).json["message"]
