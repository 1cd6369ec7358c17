"""Creating and editing mods: fields, cleaning, GUID lists."""

import uuid

from modhub_testing.mods import OWNER, mod_address, published_mod, upload_asset

# With letters in each: capitals must be able to matter.
G = [str(uuid.UUID(int=(0xABCDEF << 104) + at + 1, version=4)) for at in range(60)]


def create(site, status=201, **fields):
    return site.as_account(OWNER).post_json("/api/modhub", fields, status=status).json


def edit(site, mod, status=200, **fields):
    return site.as_account(OWNER).put_json(mod_address(mod), fields, status=status).json


def test_an_invalid_title_is_400_and_creates_nothing(site):
    # C-MOD-3
    mod = create(site, title="kept")
    for title in ("", "\u200b\u202e", 5):
        assert "title" in create(site, 400, title=title)["message"]
        assert "title" in edit(site, mod, 400, title=title, description="new")["message"]
    create(site, 400, title=None)
    create(site, 400)
    assert edit(site, mod, title=None) == mod
    assert site.as_account(OWNER).get("/api/modhub/mine").json["mods"] == [mod]


def test_what_cannot_be_set_is_ignored(site):
    # C-ERR-13, C-MOD-2, C-UP-5, C-OWN-2, C-OWN-1, T-B6
    mod = published_mod(site)
    sent = {"id": 999, "guid": G[0], "version": "9", "published": False, "owner": 8, "createdAt": "x", "assets": []}
    sent |= {"url": "/x", "updatedAt": "x", "ups": 5, "unknown": {"a": [1]}}
    assert edit(site, mod, **sent) == mod
    made = create(site, title="x", **{**sent, "published": True})
    assert (made["published"], made["version"], made["guid"] == G[0], made["id"] == 999) == (False, "", False, False)
    assert site.as_account(8).get("/api/modhub/mine").json["count"] == 0


def test_an_invalid_guid_is_rejected(site):
    # C-MOD-8, C-ERR-10, C-OWN-4, C-OWN-1, T-B7
    mod = create(site, title="x", requires=[G[0]])
    plain = G[1].replace("-", "")
    bad = ["", plain, "{" + G[1] + "}", G[1] + "\n", G[1].replace("0", "٠"), 5, None]
    for field in ("requires", "conflictsWith"):
        for value in bad:
            assert field in edit(site, mod, 400, **{field: [G[2], value]})["message"], value
        assert field in create(site, 400, title="y", **{field: ["x"]})["message"]
        assert "50" in edit(site, mod, 400, **{field: G[1:52]})["message"]
        assert "own" in edit(site, mod, 400, **{field: [G[1], mod["guid"].upper()]})["message"]
        assert field in edit(site, mod, 400, **{field: G[1]})["message"]
    assert site.as_account(OWNER).get("/api/modhub/mine").json["mods"] == [mod]


def test_one_guid_in_both_lists_is_refused_even_when_one_is_sent(site):
    # C-OWN-4
    mod = create(site, title="x", requires=[G[0]], conflictsWith=[G[1]])
    both = [
        {"requires": [G[1].upper()]},
        {"conflictsWith": [G[0]]},
        {"requires": [G[2]], "conflictsWith": [G[3], G[2].upper()]},
    ]
    for sent in both:
        assert "both" in edit(site, mod, 400, title="changed", **sent)["message"]
        assert site.as_account(OWNER).get("/api/modhub/mine").json["mods"] == [mod]
    # Exchanged in one call they stand in one list each.
    swapped = edit(site, mod, requires=[G[1]], conflictsWith=[G[0]])
    assert (swapped["requires"], swapped["conflictsWith"]) == ([G[1]], [G[0]])


def test_an_edit_of_another_state_is_refused(site):
    # C-OWN-30
    owner = site.as_account(OWNER)
    read = create(site, title="x")
    known = f'"{read["updatedAt"]}"'

    def put(if_match, status, **fields):
        return owner.put_json(mod_address(read), fields, headers={"If-Match": if_match}, status=status).json

    current = put(known, 200, title="y")
    refused = put(known, 412, title="z")
    assert refused == {"error": "changed", "message": refused["message"]}
    now = f'"{current["updatedAt"]}"'
    for other in ("", now.strip('"'), f"W/{now}", f"x, {now}"):
        put(other, 412, title="z")
    assert owner.get("/api/modhub/mine").json["mods"] == [current]
    for fitting in ("*", f"{known}, {now}"):
        assert put(fitting, 200, title="y") == current
    upload_asset(site, read, "css", b"body{}")
    put(now, 412, title="z")
    # Input comes before state, ownership and credentials before both.
    put(now, 400, title="")
    for caller in (site, site.as_account(OWNER + 1)):
        caller.put_json(mod_address(read), {"title": "z"}, headers={"If-Match": '"x"'}, status=401)
