"""Feeds are well formed, match the pages, and use the configured address."""

from xml.etree import ElementTree

import pytest

from modhub.ui import sitemap
from modhub_testing.mods import OWNER, mod_address, new_mod, notes_of_mod, published_mod, upload_asset

pytestmark = pytest.mark.slow

ATOM = "{http://www.w3.org/2005/Atom}"
MAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
BASE = "https://mods.example.org"


@pytest.fixture
def site(start):
    return start(modhub__base_url=BASE)


@pytest.mark.postgres
def test_a_feed_is_exactly_the_filter(site):
    published_mod(site, title="Other", games=["Quake"])
    mod = published_mod(site, title="A \ufffe < & name", games=["Portal"], description="<p>Hi &amp; bye</p>")
    new_mod(site, title="Draft", games=["Portal"])
    page = site.get("/Modhub?game=portal")
    own = page.html.find("link", type="application/atom+xml")["href"]
    answer = site.get(own)
    assert answer.content_type == "application/atom+xml"
    feed = ElementTree.fromstring(answer.body)
    (entry,) = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "A  < & name 1"
    assert entry.findtext(f"{ATOM}content") == "<p>Hi &amp; bye</p>"
    assert entry.findtext(f"{ATOM}summary") == "Hi & bye"
    assert entry.find(f"{ATOM}link").get("href") == f"{BASE}{mod['url']}"
    assert feed.find(f"{ATOM}link[@rel='self']").get("href") == f"{BASE}{own}"


def entries(site):
    """The texts of the entries of the whole list's feed, and of the feed itself as the last."""
    feed = ElementTree.fromstring(site.get("/Modhub/feed").body)
    return [
        {element.tag.removeprefix(ATOM): element.text for element in part}
        for part in (*feed.findall(f"{ATOM}entry"), feed)
    ]


def test_each_version_is_an_entry_of_its_own_and_tells_its_change(site):
    mod = published_mod(site, description="<p>What it is</p>", version="1")
    own = site.as_account(OWNER)
    first, feed = entries(site)
    assert first["updated"] == feed["updated"] == mod["updatedAt"]
    # An edit is the same entry, changed.
    edited = own.put_json(mod_address(mod), {"description": "<p>Said <b>better</b></p>"}).json
    again, feed = entries(site)
    assert (again["id"], again["published"]) == (first["id"], first["published"])
    assert (again["summary"], again["updated"]) == ("Said better", edited["updatedAt"])
    # Another version is another entry; what changed stands in it once it is written.
    upload_asset(site, mod, "code", version="2")
    second, older, feed = entries(site)
    assert older["id"] == first["id"]
    assert (second["title"], second["content"]) == ("A mod 2", "<p>Said <b>better</b></p>")
    assert second["id"] != first["id"]
    assert second["published"] == notes_of_mod(site, mod)[0]["createdAt"] > first["published"]
    note = notes_of_mod(site, mod)[0]["id"]
    written = own.put_json(mod_address(mod, "changelog", note), {"title": "Two", "text": "<p>Faster</p>"}).json
    described, _, feed = entries(site)
    assert (described["id"], described["content"], described["summary"]) == (second["id"], "<p>Faster</p>", "Faster")
    assert described["updated"] == feed["updated"] == written["editedAt"] > second["updated"]


def test_a_mods_feed_tells_its_changes(site):
    mod = published_mod(site, title="Tool", version="1")
    upload_asset(site, mod, "code", version="2")
    for number in range(3, 13):
        upload_asset(site, mod, "code", version=str(number))
    feed = ElementTree.fromstring(site.get(f"{mod['url']}/feed").body)
    links = [entry.find(f"{ATOM}link").get("href") for entry in feed.iter(f"{ATOM}entry")]
    assert len(links) == 12
    for link in links:
        page, _, anchor = link.removeprefix(BASE).partition("#")
        assert site.get(page).html.find(id=anchor) is not None, link
    # What an entry is called does not depend on the page that it has come to stand on.
    assert [entry.findtext(f"{ATOM}id") for entry in feed.iter(f"{ATOM}entry")] == [
        link.replace("?changelog=2", "") for link in links
    ]


def test_a_browser_learns_how_to_search(site):
    answer = site.get("/opensearch.xml")
    assert answer.content_type == "application/opensearchdescription+xml"
    urls = [
        element.get("template") for element in ElementTree.fromstring(answer.body).iter() if element.get("template")
    ]
    assert f"{BASE}/Modhub?q={{searchTerms}}&page={{startPage?}}" in urls


def locations(site, of):
    """The addresses in a sitemap or an index, below the service's own."""
    answer = site.get(of)
    assert answer.content_type == "application/xml"
    addresses = [element.text for element in ElementTree.fromstring(answer.body).iter(f"{MAP}loc")]
    assert all(address.startswith(BASE) for address in addresses)
    return [address.removeprefix(BASE) for address in addresses]


def test_the_sitemap_names_what_is_published(site, monkeypatch):
    first, _draft, last = published_mod(site), new_mod(site), published_mod(site)
    author = f"/Modhub/by/{OWNER}"
    pages = ["/Modhub", first["url"], last["url"]]
    # A few addresses need no index.
    assert locations(site, "/sitemap.xml") == [author, *pages[1:], pages[0], "/Modhub/doc"]
    # Drafts behind the last published mod make no part of their own.
    for _ in range(3):
        new_mod(site)
    monkeypatch.setattr(sitemap, "PART", 2)
    parts = locations(site, "/sitemap.xml")
    assert [part for part in parts if "of=mods" in part] == [f"/sitemap.xml?of=mods&part={at}" for at in range(2)]
    assert sorted(url for part in parts for url in locations(site, part)) == sorted([author, *pages, "/Modhub/doc"])
    for query in ("of=nothing", "of=mods&part=-1"):
        site.get(f"/sitemap.xml?{query}", status=404)
