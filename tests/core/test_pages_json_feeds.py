"""Every Atom feed has a JSON Feed twin: the same entries, linked from the same pages."""

import uuid
from xml.etree import ElementTree

import pytest

from modhub.plugins.moderation import IModeration
from modhub_testing.mods import (
    OWNER,
    hide_mod,
    insert_mods,
    mod_address,
    new_mod,
    published_mod,
    restore_mod,
    upload_asset,
)

pytestmark = pytest.mark.slow

ATOM = "{http://www.w3.org/2005/Atom}"
BASE = "https://mods.example.org"
AGENT = {"X-Api-Key": "agent"}
FEEDS = [f"/Modhub/by/{OWNER}/feed", "/Modhub/feed", "/Modhub/{id}/feed", "/Modhub/App/feed", "/Modhub/wiki.atom"]


@pytest.fixture
def site(start):
    includes = "modhub_testing.accounts modhub_builds modhub_wiki"
    return start(includes, modhub__base_url=BASE, ApiPrivateKeys="agent Modhub:app Modhub:wiki")


def feed(site, address, **headers):
    answer = site.get(address, headers=headers)
    assert answer.headers["Content-Type"] == "application/feed+json"
    return answer.json


def twin_of(address):
    return address.replace(".atom", "") + ".json"


def test_a_twin_has_the_entries_of_its_atom_feed(site):
    # C-PAGE-17
    published_mod(site, owner=8)
    mod = published_mod(site, title="A <b> & name", version="1", description="<p>What</p>")
    upload_asset(site, mod, "code", version="2")
    site.post("/api/modhub/app/linux?version=1.4&name=a.zip", b"build", headers=AGENT)
    site.put("/Modhub/api/wiki/a", b"# One & <two>", headers=AGENT, status=201)
    for address in FEEDS:
        check_twin(site, address.format(id=mod["id"]))
    assert [item["title"] for item in feed(site, f"{FEEDS[0]}.json")["items"]] == ["A <b> & name 2", "A <b> & name 1"]
    item = feed(site, "/Modhub/feed.json")["items"][0]
    assert item["_modhub"] == {"id": mod["id"], "guid": mod["guid"], "version": "2"}
    assert feed(site, "/Modhub/App/feed.json")["items"][0]["attachments"][0]["size_in_bytes"] == 5


def check_twin(site, address):
    atom = ElementTree.fromstring(site.get(address).body)
    assert atom.find(f"{ATOM}link[@type='application/feed+json']").get("href") == BASE + twin_of(address)
    twin = feed(site, twin_of(address))
    assert twin["title"] == atom.findtext(f"{ATOM}title")
    assert twin["feed_url"] == BASE + twin_of(address)
    assert twin["home_page_url"] == atom.find(f"{ATOM}link[@type='text/html']").get("href")
    assert [(item["id"], item["url"], item["date_modified"]) for item in twin["items"]] == [
        (entry.findtext(f"{ATOM}id"), entry.find(f"{ATOM}link").get("href"), entry.findtext(f"{ATOM}updated"))
        for entry in atom.findall(f"{ATOM}entry")
    ]
    page = site.get(twin["home_page_url"].removeprefix(BASE))
    assert page.html.find("link", type="application/feed+json")["href"] == twin_of(address)


def test_images_have_absolute_addresses_and_text_stays(site):
    html = '<p>&lt;img src="/x"&gt; <img alt="a&gt;b" src="/Modhub/file/1"> <img src="/Modhub/file/2"></p>'
    mod = published_mod(site, description=html)
    expected = mod["description"].replace('src="/Modhub/', f'src="{BASE}/Modhub/')
    assert expected.count(BASE) == 2
    assert feed(site, "/Modhub/feed.json")["items"][0]["content_html"] == expected


TOMBSTONES = "{http://purl.org/atompub/tombstones/1.0}deleted-entry"


def deleted(site, query=""):
    """The GUIDs of the tombstones."""
    return [entry["guid"] for entry in feed(site, f"/Modhub/feed.json{query}")["_modhub"]["deleted"]]


def test_deleted_and_hidden_mods_are_tombstones(site):
    # C-PAGE-18
    first, second = (published_mod(site, games=["Portal"]) for _ in range(2))
    draft = new_mod(site)
    own = site.as_account(OWNER)
    assert deleted(site) == []
    before = site.get("/Modhub/feed.json").headers["ETag"]
    own.delete(mod_address(draft))
    site.get("/Modhub/feed.json", headers={"If-None-Match": before}, status=304)
    own.delete(mod_address(first))
    hide_mod(site, second)
    assert deleted(site) == [second["guid"], first["guid"]]
    assert deleted(site, "?game=other") == [second["guid"], first["guid"]]
    atom = ElementTree.fromstring(site.get("/Modhub/feed").body)
    assert atom.findtext(f"{ATOM}updated") >= max(mark.get("when") for mark in atom.findall(TOMBSTONES))
    restore_mod(site, second)
    assert deleted(site) == [first["guid"]]


@pytest.mark.postgres
@pytest.mark.slow
def test_only_the_latest_deletions_are_shown(site):
    guids = [str(uuid.uuid4()) for _ in range(102)]
    ids = insert_mods(site, [{"guid": guid} for guid in guids])
    with site.databases.write_session.begin() as session:
        site.find_service(IModeration).delete(session, ids)
    assert deleted(site) == guids[:1:-1]
