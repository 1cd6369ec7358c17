"""What readers elsewhere follow is well formed, says what the page says, and keeps to the configured address."""

from xml.etree import ElementTree

import pytest

from modhub.catalogue.pages import feeds
from modhub.testing import Site, Start
from modhub.testing.mods import new_mod, published_mod, upload

ATOM = "{http://www.w3.org/2005/Atom}"
MAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
BASE = "https://mods.example.org"


@pytest.fixture
def site(start: Start) -> Site:
    return start(modhub__base_url=BASE)


def test_a_feed_is_exactly_the_filter(site: Site) -> None:
    published_mod(site, title="Other", games=["Quake"])
    wanted = published_mod(site, title="A \ufffe < & name", games=["Portal"], description="<p>Hi &amp; bye</p>")
    new_mod(site, title="Draft", games=["Portal"])
    page = site.get("/Modhub?game=portal")
    address = page.html.find("link", type="application/atom+xml")["href"]
    answer = site.get(address)
    assert answer.content_type == "application/atom+xml"
    feed = ElementTree.fromstring(answer.body)
    (entry,) = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}id") == f"urn:uuid:{wanted['guid']}"
    assert entry.findtext(f"{ATOM}title") == "A \ufffd < & name 1"
    assert entry.findtext(f"{ATOM}content") == "<p>Hi &amp; bye</p>"
    assert entry.findtext(f"{ATOM}summary") == "Hi & bye"
    assert entry.find(f"{ATOM}link").get("href") == f"{BASE}{wanted['url']}"
    assert feed.findtext(f"{ATOM}updated") == wanted["updatedAt"]
    assert feed.find(f"{ATOM}link[@rel='self']").get("href") == f"{BASE}{address}"


def test_a_feed_that_has_not_changed_is_not_sent_again(site: Site) -> None:
    published_mod(site)
    first = site.get("/Modhub/feed")
    site.get("/Modhub/feed", headers={"If-None-Match": first.headers["ETag"]}, status=304)
    published_mod(site)
    site.get("/Modhub/feed", headers={"If-None-Match": first.headers["ETag"]}, status=200)


def test_a_mods_feed_tells_its_changes(site: Site) -> None:
    mod = published_mod(site, title="Tool", version="1")
    upload(site, mod, "code", version="2")
    feed = ElementTree.fromstring(site.get(f"{mod['url']}/feed").body)
    assert [one.findtext(f"{ATOM}title") for one in feed.iter(f"{ATOM}entry")] == ["Tool 2", "Tool 1"]
    draft = new_mod(site)
    site.get(f"/Modhub/{draft['id']}/feed", status=404)
    site.get("/Modhub/x/feed", status=404)


def test_an_empty_feed_is_a_feed(site: Site) -> None:
    feed = ElementTree.fromstring(site.get("/Modhub/feed?q=nothing").body)
    assert feed.findtext(f"{ATOM}updated") == "1970-01-01T00:00:00Z"


def test_a_browser_learns_how_to_search(site: Site) -> None:
    answer = site.get("/opensearch.xml")
    assert answer.content_type == "application/opensearchdescription+xml"
    urls = [one.get("template") for one in ElementTree.fromstring(answer.body).iter() if one.get("template")]
    assert f"{BASE}/Modhub?q={{searchTerms}}&page={{startPage?}}" in urls


def test_the_sitemap_names_what_is_published(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _draft, last = published_mod(site), new_mod(site), published_mod(site)
    whole = ElementTree.fromstring(site.get("/sitemap.xml").body)
    assert [one.text for one in whole.iter(f"{MAP}loc")] == [
        f"{BASE}/Modhub",
        f"{BASE}{first['url']}",
        f"{BASE}{last['url']}",
    ]
    # Drafts behind the last published mod make no part of their own.
    for _ in range(3):
        new_mod(site)
    monkeypatch.setattr(feeds, "SITEMAP", 2)
    index = ElementTree.fromstring(site.get("/sitemap.xml").body)
    parts = [one.text.removeprefix(BASE) for one in index.iter(f"{MAP}loc")]
    assert len(parts) == 2
    found = [one.text for part in parts for one in ElementTree.fromstring(site.get(part).body).iter(f"{MAP}loc")]
    assert found == [one.text for one in whole.iter(f"{MAP}loc")]
    assert len(ElementTree.fromstring(site.get("/sitemap.xml?part=99999").body)) == 0
