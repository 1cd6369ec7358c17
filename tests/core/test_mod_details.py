"""What stands beside mods, of many at once."""

import pytest

from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import OWNER, hide_mod, insert_mods, mod_address, new_mod, published_mod, upload_asset
from tests.owning import vote, write_caption

DETAILS = "/api/modhub/details"
FEATURES = f"{TEST_ACCOUNTS} modhub_downloads modhub_tags modhub_profiles"


def details(site, *ids):
    return site.post_json(DETAILS, {"ids": ids}, headers={"Authorization": "Bearer wrong"}).json


@pytest.mark.postgres
def test_all_features_answer_beside_the_core(start):
    # C-READ-13
    site = start(FEATURES)
    mod, newer = published_mod(site), published_mod(site, title="Newer")
    upload_asset(site, mod, "images", b"\x89PNG\r\n\x1a\n", content_type="image/png", name="a.png")
    image = site.get(mod_address(mod, "captions")).json["captions"][0]
    owner = site.as_account(OWNER)
    write_caption(site, mod, image, "Calm")
    owner.put_json(mod_address(mod, "superseded"), {"by": newer["guid"]})
    owner.put_json(mod_address(mod, "links"), {"license": "MIT"})
    owner.put_json(mod_address(mod, "tags"), {"tags": ["map", "library"]})
    vote(site, mod, OWNER + 1)
    answer = details(site, newer["id"], mod["id"], mod["id"])
    first, second = answer["details"]
    assert (first["id"], answer["missing"]) == (newer["id"], [])
    assert second == {
        "id": mod["id"],
        "guid": mod["guid"],
        "sha256": site.get(mod_address(mod, "download")).headers["ETag"].strip('"'),
        "author": {"accountId": OWNER, "displayName": second["author"]["displayName"], "url": f"/Modhub/by/{OWNER}"},
        "votes": {"ups": 1, "downs": 0},
        "downloads": 0,
        "tags": ["library", "map"],
        "captions": [{**image, "caption": "Calm"}],
        "links": site.get(mod_address(mod, "links")).json,
        "supersededBy": site.get(mod_address(mod, "superseded")).json["supersededBy"],
    }
    assert first["supersededBy"] is None


def test_what_is_not_published_is_missing_in_the_order_asked(start):
    # C-READ-13
    site = start()
    draft, hidden, shown = new_mod(site), published_mod(site), published_mod(site)
    hide_mod(site, hidden)
    unknown = [-1, 2**80, 0, 987654]
    answer = details(site, draft["id"], *unknown, shown["id"], hidden["id"])
    assert [detail["id"] for detail in answer["details"]] == [shown["id"]]
    assert answer["missing"] == [draft["id"], *unknown, hidden["id"]]
    assert set(answer["details"][0]) == {"id", "guid", "sha256", "author", "votes", "captions", "supersededBy"}


@pytest.mark.postgres
def test_the_number_of_statements_is_constant(start):
    # C-READ-13
    site = start(FEATURES)
    ids = insert_mods(site, [{}] * 100)
    with site.counted() as few:
        details(site, ids[0])
    with site.counted() as many:
        details(site, *ids)
    assert len(few) == len(many)
