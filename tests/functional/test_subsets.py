"""Any subset of the features starts with only its own addresses, and can be removed and re-enabled without loss."""

from itertools import chain, combinations

import pytest

from modhub.ops import migrate
from modhub.testing import Start

FEATURES = ("modhub_auth", "modhub_builds", "modhub_sync", "modhub_wiki")
SUBSETS = list(chain.from_iterable(combinations(FEATURES, size) for size in range(len(FEATURES) + 1)))
PLACES = {
    "modhub_auth": "/Modhub/account/login",
    "modhub_builds": "/api/modhub/app",
    "modhub_sync": "/api/modhub/changes",
    "modhub_wiki": "/Modhub/api/wiki",
}
LINKS = {"modhub_auth": "/Modhub/account/login", "modhub_builds": "/Modhub/App", "modhub_wiki": "/Modhub/Wiki"}
KEYS = {"ApiPrivateKeys": "agent Modhub:app Modhub:wiki"}
AGENT = {"X-Api-Key": "agent"}


@pytest.mark.parametrize("subset", SUBSETS, ids=lambda subset: "+".join(subset) or "none")
def test_a_subset_shows_what_is_there_and_nothing_else(start: Start, subset: tuple[str, ...]) -> None:
    # C-SET-4
    site = start(" ".join(subset), **KEYS)
    assert site.get("/api/modhub").json["total"] == 0
    home = site.get("/Modhub").text
    for feature in FEATURES:
        there = feature in subset
        assert site.get(PLACES[feature], status="*").status_int == (200 if there else 404), feature
        if feature in LINKS:
            assert (f'href="{LINKS[feature]}' in home) is there, feature
    assert ("Disallow: /Modhub/account\n" in site.get("/robots.txt").text) is ("modhub_auth" in subset)
    site.post_json("/api/modhub", {"title": "x"}, status=401)
    assert site.get("/Modhub/mine", status="*").status_int == (303 if "modhub_auth" in subset else 404)
    assert site.get("/readyz").json["status"] == "ok"


@pytest.mark.parametrize("gone", FEATURES)
def test_a_feature_leaves_and_comes_back(start: Start, gone: str) -> None:
    # C-RUN-7
    everything = " ".join(FEATURES)
    site = start(everything, **KEYS)
    url = site.registry.settings["sqlalchemy.url"]
    site.post("/api/modhub/app/linux?version=1", b"build", headers=AGENT, status=201)
    site.put("/Modhub/api/wiki/kept", b"# Kept", headers=AGENT, status=201)
    person = {"email": "ada@example.org", "password": "correct horse battery"}
    site.post_json("/api/auth/register", person, status=201)

    rest = start(" ".join(feature for feature in FEATURES if feature != gone), url=url, **KEYS)
    assert migrate.upgrade(rest.databases, rest.declarations.migrations) == []
    assert rest.get("/api/modhub").status_int == 200

    again = start(everything, url=url, **KEYS)
    assert migrate.upgrade(again.databases, again.declarations.migrations) == []
    assert migrate.behind(again.databases, again.declarations.migrations) == []
    assert [build["version"] for build in again.get("/api/modhub/app").json["builds"]] == ["1"]
    assert again.get("/Modhub/app/linux").body == b"build"
    assert again.get("/Modhub/api/wiki/kept").text == "# Kept"
    again.post_json("/api/auth/login", person, status=200)
