"""Creating and editing mods: fields, cleaning, GUID lists."""

import uuid

from modhub_testing.mods import OWNER, mod_address, upload_asset

# With letters in each: capitals must be able to matter.
G = [str(uuid.UUID(int=(0xABCDEF << 104) + at + 1, version=4)) for at in range(60)]


def create(site, status=201, **fields):
    return site.as_account(OWNER).post_json("/api/modhub", fields, status=status).json


def edit(site, mod, status=200, **fields):
    return site.as_account(OWNER).put_json(mod_address(mod), fields, status=status).json


def test_what_cannot_be_set_is_ignored(site):
    # C-ERR-13, C-MOD-2, C-UP-5, C-OWN-2, C-OWN-1, T-B6
    sent = {"id": 999, "guid": G[0], "version": "9", "published": True, "owner": 8, "createdAt": "x", "assets": []}
    sent |= {"url": "/x", "updatedAt": "x", "ups": 5, "unknown": {"a": [1]}}
    made = create(site, title="x", **sent)
    assert edit(site, made, **sent) == made
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
    assert site.as_account(OWNER).get("/api/modhub/mine").json["mods"] == [mod]


def test_an_edit_of_another_state_is_refused(site):
    # C-OWN-30
    owner, mod = site.as_account(OWNER), create(site, title="x")
    now = f'"{mod["updatedAt"]}"'

    def put(if_match, status, **fields):
        return owner.put_json(mod_address(mod), fields, headers={"If-Match": if_match}, status=status).json

    for other in ("", now.strip('"'), f"W/{now}", f"x, {now}"):
        put(other, 412, title="z")
    assert put(f'"x", {now}', 200, title="x") == mod
    upload_asset(site, mod, "css", b"body{}")
    put(now, 412, title="z")
    # Ownership and credentials come before state.
    for caller in (site, site.as_account(OWNER + 1)):
        caller.put_json(mod_address(mod), {"title": "z"}, headers={"If-Match": '"x"'}, status=401)
