"""What owners read of a mod before it is public: its files with digests, and a text as it would be stored."""

import hashlib

from modhub.content import limits
from modhub_testing.mods import OWNER, mod_address, new_mod, upload_asset

PNG = b"\x89PNG\r\n\x1a\n"


def preview(site, mod, **body):
    return site.as_account(OWNER).post_json(mod_address(mod, "preview"), body).json


def test_owners_read_the_digests_of_a_draft(site):
    # C-OWN-40
    mod = new_mod(site)
    owner, here = site.as_account(OWNER), mod_address(mod, "files")
    bodies = [PNG + b"1", PNG + b"2"]
    for body in bodies:
        upload_asset(site, mod, "images", body, content_type="image/png")
    upload_asset(site, mod, "code", b"the code", version="1")
    first, second = (file["assetId"] for file in owner.get(here).json["files"][1:])
    owner.put_json(mod_address(mod, "order"), {"assetIds": [second, first]})
    owner.put_json(mod_address(mod, "captions"), {"captions": [{"assetId": second, "caption": "Two"}]})
    answer = owner.get(here)
    assert answer.headers["Cache-Control"] == "no-store"
    files = answer.json["files"]
    digests = [hashlib.sha256(body).hexdigest() for body in (b"the code", *reversed(bodies))]
    assert [file["sha256"] for file in files] == digests
    assert [(file["kind"], file["caption"]) for file in files] == [("code", ""), ("image", "Two"), ("image", "")]
    for caller in (site, site.as_account(OWNER + 1)):
        caller.get(here, status=401)


TEXTS = [
    {"text": "A **calm** HUD.\n\nTwo", "format": "markdown"},
    {"text": "One\n\nTwo & <three>", "format": "text"},
    {"text": "a & b", "format": None, "field": "changelog"},
]


def test_what_is_previewed_is_what_is_stored(site):
    # C-OWN-41
    mod = new_mod(site, title="One", description="before")
    for sent in TEXTS:
        before = site.as_account(OWNER).get("/api/modhub/mine").json
        shown = preview(site, mod, **sent)
        assert shown["trimmed"] is False
        assert site.as_account(OWNER).get("/api/modhub/mine").json == before
        stored = site.as_account(OWNER).put_json(mod_address(mod), {"description": shown["html"]}).json
        assert stored["description"] == shown["html"]


def test_a_preview_says_what_is_lost(site):
    # C-OWN-41
    mod = new_mod(site)
    shown = preview(site, mod, text="# A\n\n<script>x</script><p onclick='x'>a</p>", format="markdown")
    assert shown["removed"] == {"tags": ["script"], "attributes": ["onclick"]}
    for field, limit in (("description", limits.DESCRIPTION), ("changelog", limits.NOTE)):
        for length, trimmed in ((limit + 1, True), (limit - 10, False)):
            assert preview(site, mod, text="a" * length, format="text", field=field)["trimmed"] is trimmed
