"""Reading and changing tags by JSON: who may, what is refused, and what a change leaves as it was."""

import pytest

from modhub.db.changes import ChangeReader
from modhub_tags.models import ModTag
from modhub_testing.mods import hide_mod, mod_address, new_mod, published_mod, restore_mod

from .conftest import SHIPPED, tag

NAMES = [["HUD"], ["map", ""], ["\ud800"]]


def test_the_owner_tags_a_mod_and_everybody_reads_it(site):
    # C-TAG-2, C-TAG-3
    mod = published_mod(site)
    address = mod_address(mod, "tags")
    empty = site.get(address)
    assert empty.json == {"tags": []}
    assert tag(site, mod, "timer", "map", "timer") == {"tags": ["map", "timer"]}
    answer = site.get(address, headers={"If-None-Match": empty.headers["ETag"]})
    assert answer.json == {"tags": ["map", "timer"]}
    assert tag(site, mod, *SHIPPED[:5], *SHIPPED[:5]) == {"tags": SHIPPED[:5]}
    assert tag(site, mod) == {"tags": []}
    assert site.get(address).json == {"tags": []}


@pytest.mark.parametrize("names", [*NAMES, SHIPPED[:6]], ids=ascii)
def test_what_is_not_in_the_list_and_a_sixth_tag_are_refused(site, names):
    # C-TAG-3
    mod = published_mod(site)
    tag(site, mod, "chat")
    answer = site.as_account(7).put_json(mod_address(mod, "tags"), {"tags": names}, status=400)
    assert answer.json["error"] == "invalid_input"
    assert site.get(mod_address(mod, "tags")).json == {"tags": ["chat"]}


def test_a_draft_and_a_hidden_mod_show_no_tags(site):
    # C-TAG-2, C-PRO-2
    draft, mod = new_mod(site), published_mod(site)
    for tagged in (draft, mod):
        tag(site, tagged, "map")
    hide_mod(site, mod)
    for address in (mod_address(draft, "tags"), mod_address(mod, "tags"), "/api/modhub/999/tags", "/api/modhub/x/tags"):
        missing = site.get(address, status=404)
        assert site.as_account(7).get(address, status=404).body == missing.body
    assert tag(site, mod, "chat") == {"tags": ["chat"]}, "its owner goes on"
    restore_mod(site, mod)
    assert site.get(mod_address(mod, "tags")).json == {"tags": ["chat"]}


def test_strangers_are_refused_as_by_all_calls_of_owners(site):
    # C-TAG-3, C-OWN-12
    mod, draft = published_mod(site), new_mod(site)
    body = {"tags": ["map"]}
    addresses = [mod_address(mod, "tags"), mod_address(draft, "tags"), "/api/modhub/999/tags", "/api/modhub/x/tags"]
    refused = [site.as_account(8).put_json(address, body, status=401) for address in addresses]
    anonymous = [site.put_json(address, body, status=401) for address in addresses]
    assert {answer.body for answer in [*refused, *anonymous]} == {refused[0].body}
    assert refused[0].headers["WWW-Authenticate"].startswith("Bearer")
    assert site.count_rows(ModTag) == 0


def test_a_change_is_no_news(start):
    # C-MOD-13
    site = start("modhub_testing.accounts modhub_sync modhub_tags")
    mod = published_mod(site)
    before = site.get(mod_address(mod)).json
    changes = site.get("/api/modhub/changes?since=0").json["changes"]
    feeds = ["/Modhub/feed.json", f"/Modhub/{mod['id']}/feed.json"]
    shown = [site.get(feed).json for feed in feeds]
    tag(site, mod, "map")
    assert site.get(mod_address(mod)).json == before
    assert site.get("/api/modhub/changes?since=0").json["changes"] == changes
    assert [site.get(feed).json for feed in feeds] == shown
    assert site.get(mod_address(mod, "tags")).json == {"tags": ["map"]}


def test_only_what_everybody_sees_moves_the_serial(site):
    # C-PRO-2
    mod, draft, hidden = published_mod(site), new_mod(site), published_mod(site)
    hide_mod(site, hidden)
    read = site.find_service(ChangeReader).generation
    before = read()
    tag(site, draft, "map")
    tag(site, hidden, "map")
    assert read() == before
    tag(site, mod, "map")
    after = read()
    assert after != before
    tag(site, mod, "map")
    assert read() == after, "nothing has changed"


def test_tags_go_with_their_mod(site):
    # C-OWN-11
    mod, kept = published_mod(site), published_mod(site)
    for tagged in (mod, kept):
        tag(site, tagged, "map", "timer")
    site.as_account(7).delete(mod_address(mod), status=204)
    assert site.count_rows(ModTag) == 2
    site.get(mod_address(mod, "tags"), status=404)
