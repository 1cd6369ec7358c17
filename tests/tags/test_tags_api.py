"""Reading and changing tags by JSON: who may, what is refused, and what a change leaves as it was."""

from modhub.db.changes import ChangeReader
from modhub_tags.models import ModTag
from modhub_testing.mods import hide_mod, mod_address, new_mod, published_mod, restore_mod
from tests.owning import delete_mod

from .conftest import tag, tags_of


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
    assert tags_of(site, mod) == ["chat"]


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
    assert tags_of(site, mod) == ["map"]


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
    delete_mod(site, mod)
    assert site.count_rows(ModTag) == 2
    site.get(mod_address(mod, "tags"), status=404)
