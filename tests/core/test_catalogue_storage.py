"""A file store that is missing."""

import pytest

from modhub_testing.mods import OWNER, mod_address, new_mod, published_mod

pytestmark = pytest.mark.slow


def post(site, mod, rest, body):
    return site.as_account(OWNER).post(mod_address(mod, rest), body, expect_errors=True)


def test_without_a_store_files_are_503_and_the_rest_works(start):
    # C-ERR-3, C-ERR-15
    with_store = start(fresh=True)
    stored = published_mod(with_store)
    site = start(url=with_store.registry.settings["sqlalchemy.url"], modhub__storage="")
    mod = new_mod(site)
    # What is sent is judged first.
    assert post(site, mod, "code?version=1", b"").status_int == 400
    assert post(site, mod, "css", b"x" * 300_000).status_int == 413
    for rest in ("code?version=1", "css", "images"):
        refused = post(site, mod, rest, b"x")
        assert (refused.status_int, refused.json["error"]) == (503, "storage_not_configured")
        assert "Retry-After" not in refused.headers
    page = site.get(stored["assets"][0]["url"], status=503)
    assert "Retry-After" not in page.headers
    assert (page.html.h1.text, "Temporarily" in page.text) == ("Not set up yet", False)
    assert site.get("/api/modhub").json["total"] == 1
    site.as_account(OWNER).put_json(mod_address(mod), {"title": "y"})
    site.as_account(OWNER).delete(mod_address(mod), status=204)
