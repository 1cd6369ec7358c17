"""``GET /api/modhub``: the shape, and how parameters are interpreted."""

import re

import pytest

from modhub_testing.mods import OWNER, insert_mods, mod_address, published_mod, upload_asset

pytestmark = pytest.mark.postgres

FIELDS = ["id", "guid", "title", "description", "version", "games", "requires", "conflictsWith", "published"]
FIELDS += ["createdAt", "updatedAt", "url", "assets"]
STAMP = r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z"


def test_every_mod_returning_call_gives_the_same_shape_and_only_the_single_read_adds_two(site):
    # C-MOD-1, C-READ-1, C-TXT-4, C-UP-2
    mod = published_mod(site)
    upload_asset(site, mod, "images", b"x", content_type="image/png")
    changed = upload_asset(site, mod, "css", b"x", content_type="text/css")
    own = site.as_account(OWNER)
    shapes = [site.get("/api/modhub").json["mods"][0], own.get("/api/modhub/mine").json["mods"][0], changed]
    shapes += [own.put_json(mod_address(mod), {}).json, own.post(mod_address(mod, "publish")).json]
    assert all(shape == changed for shape in shapes)
    assert [asset["kind"] for asset in changed["assets"]] == ["code", "css", "image"]
    assert re.match(STAMP, changed["createdAt"])
    assert re.match(STAMP, changed["updatedAt"])
    single = site.get(mod_address(mod)).json
    assert list(single) == [*FIELDS, "install", "missing"]
    assert single["install"] == [changed]


def test_values_that_make_no_sense_become_those_that_are_used(site):
    # C-LIST-2, T-D5
    insert_mods(site, [{} for _ in range(3)])
    pages = {"0": 1, "-99999999999999999999": 1, "abc": 1, "": 1, "1.5": 1, "%D9%A3": 1, "02": 2, "1_0": 1, "+2": 1}
    for sent, used in pages.items():
        assert site.get(f"/api/modhub?page={sent}").json["page"] == used, sent
    sizes = {"0": 1, "1": 1, "100": 100, "101": 100, "abc": 20, "2.0": 20, "1" * 5000: 100, "-" + "9" * 5000: 1}
    for sent, used in sizes.items():
        assert site.get(f"/api/modhub?size={sent}").json["size"] == used, sent[:30]
    new = [mod["id"] for mod in site.get("/api/modhub").json["mods"]]
    for sort in ("TOP", "new;drop"):
        assert [mod["id"] for mod in site.get(f"/api/modhub?sort={sort}").json["mods"]] == new


def test_public_reads_look_at_no_credential(site):
    # C-HTTP-5, T-B8
    ids = insert_mods(site, [{"title": "One"}])
    for url in ("/api/modhub", f"/api/modhub/{ids[0]}", f"/api/modhub/{ids[0]}/changelog", "/api/modhub/games"):
        plain = site.get(url)
        for headers in ({"Authorization": "Bearer nonsense"}, {"X-Api-Key": "wrong"}, {"Cookie": "session=1"}):
            other = site.get(url, headers=headers)
            assert other.body == plain.body
            assert "Set-Cookie" not in other.headers
            assert other.headers["ETag"] == plain.headers["ETag"]
