"""Regression tests of edge cases."""

import pytest

from modhub_testing.mods import OWNER, new_mod, upload_asset


@pytest.mark.parametrize("sent", ["Basic eA==", "Bearer", "Bearer "])
def test_only_a_bearer_token_can_be_an_invalid_one(site, sent):
    # C-ERR-6
    answer = site.get("/api/modhub/mine", headers={"Authorization": sent}, status=401)
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="modhub"'
    answer = site.get("/api/modhub/mine", headers={"Authorization": "bearer wrong"}, status=401)
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="modhub", error="invalid_token"'


def test_what_is_sent_is_judged_before_the_store_that_is_missing(start):
    site = start(modhub__storage="")
    mod = new_mod(site, OWNER)
    upload_asset(site, mod, "code", content=b"", version="1", status=400)
    upload_asset(site, mod, "css", content=b"x" * 300_000, status=413)
    answer = upload_asset(site, mod, "code", content=b"x", version="1", status=503)
    assert answer["error"] == "storage_not_configured"
