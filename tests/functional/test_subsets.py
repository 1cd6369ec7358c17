"""Any subset of the features starts with only its own addresses, and can be removed and re-enabled without loss."""

from collections import deque

import pytest

from modhub.admin import migrate
from modhub_testing.mods import insert_mods

pytestmark = pytest.mark.long

FEATURES = (
    "modhub_auth",
    "modhub_builds",
    "modhub_downloads",
    "modhub_following",
    "modhub_metrics",
    "modhub_moderation",
    "modhub_profiles",
    "modhub_sync",
    "modhub_tags",
    "modhub_wiki",
)
REQUIRED = {"modhub_following": "modhub_auth", "modhub_moderation": "modhub_auth"}
# A feature that needs or links to one that is not there does so in one of these: none, one, all but one, all.
SUBSETS = [(), *((feature,) for feature in FEATURES if feature not in REQUIRED)]
SUBSETS += [(needed, feature) for feature, needed in REQUIRED.items()]
SUBSETS += [tuple(one for one in FEATURES if gone not in {one, REQUIRED.get(one)}) for gone in FEATURES]
SUBSETS.append(FEATURES)
PLACES = {
    "modhub_auth": "/Modhub/account/login",
    "modhub_builds": "/api/modhub/app",
    "modhub_downloads": "/api/modhub/1/downloads",
    "modhub_following": "/Modhub/following",
    "modhub_metrics": "/metrics",
    "modhub_moderation": "/Modhub/advisories",
    "modhub_profiles": "/api/modhub/1/links",
    "modhub_sync": "/api/modhub/changes",
    "modhub_tags": "/api/modhub/tags",
    "modhub_wiki": "/Modhub/api/wiki",
}
ANSWERS = {"modhub_following": 303}
LINKS = {"modhub_auth": "/Modhub/account/login", "modhub_builds": "/Modhub/App", "modhub_wiki": "/Modhub/Wiki"}
KEYS = {"ApiPrivateKeys": "agent Modhub:app Modhub:wiki"}
AGENT = {"X-Api-Key": "agent"}
PERSON = {"email": "ada@example.org", "password": "correct horse battery"}


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("subset", SUBSETS, ids=lambda subset: "+".join(subset) or "none")
def test_a_subset_shows_what_is_there_and_nothing_else(start, subset):
    # C-SET-4
    site = start(" ".join(subset), **KEYS)
    # Metrics answer only the machine itself.
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": "127.0.0.1", "modhub.not_forwarded": True}
    owner = site.post_json("/api/auth/register", PERSON).json["accountId"] if "modhub_auth" in subset else 1
    insert_mods(site, [{"owner": owner, "games": ["Portal"], "description": "<p>Text</p>"}] * 2)
    assert site.get("/api/modhub").json["total"] == 2
    home = site.get("/Modhub").text
    for feature in FEATURES:
        included = feature in subset
        status = site.get(PLACES[feature], status="*").status_int
        assert status == (ANSWERS.get(feature, 200) if included else 404), feature
        if feature in LINKS:
            assert (f'href="{LINKS[feature]}' in home) is included, feature
    assert ("Most downloaded" in home) is ("modhub_downloads" in subset)
    assert ("All tags" in home) is ("modhub_tags" in subset)
    assert ("Disallow: /Modhub/account\n" in site.get("/robots.txt").text) is ("modhub_auth" in subset)
    site.post_json("/api/modhub", {"title": "x"}, status=401)
    assert site.get("/Modhub/mine", status="*").status_int == (303 if "modhub_auth" in subset else 404)
    assert site.get("/readyz").json["status"] == "ok"
    leads_nowhere_else(site, subset)


def links_of(page):
    """The addresses on our own site that a page leads to or loads."""
    for tag in page.html.select("[href], [src], form[action]"):
        if tag.name != "form" or tag.get("method", "get").lower() == "get":
            address = next(tag[name] for name in ("href", "src", "action") if tag.has_attr(name))
            if address.startswith("/") and not address.startswith("//"):
                yield address.partition("#")[0]


def find_dead_links(site, addresses):
    """Follow the links of all pages that start from these addresses."""
    queue, known, dead = deque(addresses), set(addresses), []
    while queue:
        address = queue.popleft()
        response = site.get(address, status="*")
        if response.status_int not in {200, 303}:
            dead.append(f"{response.status_int} {address}")
        elif response.content_type == "text/html":
            new = set(links_of(response)) - known
            known |= new
            queue.extend(new)
    return dead


def leads_nowhere_else(site, subset):
    """No link is dead, those of somebody who is signed in included."""
    if "modhub_builds" in subset:
        site.post("/api/modhub/app/linux?version=1", b"build", headers=AGENT, status=201)
    if "modhub_wiki" in subset:
        site.put("/Modhub/api/wiki/guide/first", b"# First\n\n[other](../second)", headers=AGENT, status=201)
        site.put("/Modhub/api/wiki/second", b"# Second", headers=AGENT, status=201)
    visited = ["/Modhub", "/sitemap.xml", "/Modhub?q=nothing"]
    assert find_dead_links(site, visited) == []
    if "modhub_auth" in subset:
        page = site.get("/Modhub/account/login")
        form = next(form for form in page.forms.values() if "password" in form.fields)
        form["email"], form["password"] = PERSON.values()
        form.submit(status=303)
        assert find_dead_links(site, [*visited, "/Modhub/account", "/Modhub/mine", "/Modhub/mine/1"]) == []


@pytest.mark.parametrize("gone", ["modhub_auth", "modhub_builds", "modhub_wiki"])
@pytest.mark.postgres
def test_a_feature_leaves_and_comes_back(start, gone, run_admin):
    # C-RUN-7
    everything = " ".join(FEATURES)
    site = start(everything, **KEYS)
    url = site.registry.settings["sqlalchemy.url"]
    site.post("/api/modhub/app/linux?version=1", b"build", headers=AGENT, status=201)
    site.put("/Modhub/api/wiki/kept", b"# Kept", headers=AGENT, status=201)
    site.post_json("/api/auth/register", PERSON, status=201)

    left = [feature for feature in FEATURES if gone not in {feature, REQUIRED.get(feature)}]
    rest = start(" ".join(left), url=url, **KEYS)
    assert migrate.upgrade(rest.databases, rest.declarations.migrations) == []
    assert rest.get("/api/modhub").status_int == 200
    assert run_admin(rest, "sweep", "--older-than", "0")[0] == 0
    assert run_admin(rest, "verify")[0] == 0

    again = start(everything, url=url, **KEYS)
    assert migrate.upgrade(again.databases, again.declarations.migrations) == []
    migrate.refuse_when_behind(again.databases, again.declarations.migrations)
    assert [build["version"] for build in again.get("/api/modhub/app").json["builds"]] == ["1"]
    assert again.get("/Modhub/app/linux").body == b"build"
    assert again.get("/Modhub/api/wiki/kept").text == "# Kept"
    again.post_json("/api/auth/login", PERSON, status=200)
