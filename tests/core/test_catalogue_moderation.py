"""Hidden mods: unchanged for the owner, invisible to others, and fully restorable."""

import pytest
from sqlalchemy import select

from modhub.base.errors import ApiError
from modhub.catalogue.models import Mod
from modhub.catalogue.owning import voting
from modhub_testing.mods import (
    OWNER,
    copy_damage,
    hide_mod,
    mod_address,
    new_mod,
    notes_of_mod,
    publish_test_mod,
    published_mod,
    restore_mod,
    upload_asset,
)
from tests.people import read


def row(site, mod):
    (found,) = read(site, select(Mod).where(Mod.id == mod["id"]))
    return found


def own(site):
    (mine,) = site.as_account(OWNER).get("/api/modhub/mine").json["mods"]
    return mine


def test_the_owner_goes_on_as_if_nothing_were(site):
    # C-PRO-2
    mod, owner = published_mod(site, title="Before", games=["Portal"]), site.as_account(OWNER)
    (note,) = notes_of_mod(site, mod)
    hide_mod(site, mod, "Looks like malware.")
    assert own(site) == mod
    answers = [
        owner.put_json(mod_address(mod), {"title": "After"}, status=200),
        owner.post(mod_address(mod, "code?version=2"), b"two", status=201),
        owner.post(mod_address(mod, "publish"), status=200),
    ]
    assert [answer.json["published"] for answer in answers] == [True] * 3
    assert "idden" not in "".join(answer.text for answer in answers)
    owner.delete(mod_address(mod, "changelog", note["id"]), status=204)
    site.get(mod_address(mod), status=404)
    assert row(site, mod).hidden_reason == "Looks like malware."
    restore_mod(site, mod)
    assert site.get(mod_address(mod)).json["install"] == [own(site)]
    assert site.get(mod_address(mod, "download")).body == b"two"
    hide_mod(site, mod, "")
    assert row(site, mod).hidden_reason is None
    owner.delete(mod_address(mod), status=204)
    assert owner.get("/api/modhub/mine").json["count"] == 0
    assert copy_damage(site) == []


def test_a_draft_that_is_published_while_it_is_hidden_waits_too(site):
    # C-FILE-7
    mod = new_mod(site)
    upload_asset(site, mod, "code", version="1")
    hide_mod(site, mod)
    publish_test_mod(site, mod)
    site.get(mod_address(mod, "download"), status=404)
    restore_mod(site, mod)
    site.get(mod_address(mod, "download"), status=200)


def test_votes_wait_for_the_mod(site):
    mod = published_mod(site)
    voter, url = site.as_account(8), mod_address(mod, "vote")
    voter.put_json(url, {"value": 1}, status=200)
    hide_mod(site, mod)
    # Hidden between the look at the mod and the vote.
    with site.databases.write_session.begin() as session, pytest.raises(ApiError) as refused:
        voting.cast_vote(session, mod["id"], 8, -1)
    assert refused.value.status == 404
    restore_mod(site, mod)
    assert voter.get(url).json == {"ups": 1, "downs": 0, "value": 1}
    assert site.as_account(9).get(url).json["value"] == 0
    assert site.get("/api/modhub?sort=top").json["mods"][0]["id"] == mod["id"]
