"""``/Modhub/App`` and its feed: content, and escaping."""

import hashlib
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

import pytest

from modhub_builds import pages
from modhub_builds.pages import PlatformBlock
from modhub_builds.read_service import Release
from modhub_builds.schemas import detect_platform
from modhub_testing.pages import messages_on

ATOM = "{http://www.w3.org/2005/Atom}"
ANDROID = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/150.0.0.0 Mobile Safari/537.36"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile Safari/604.1"
LINUX = "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101"
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"


def page(site, agent=""):
    answer = site.get("/Modhub/App", headers={"User-Agent": agent})
    assert answer.content_type == "text/html"
    return answer


def headings(answer):
    return [heading.get_text() for heading in answer.html.select("main section > h2")]


def primary_buttons(answer):
    return [link["href"] for link in answer.html.select("main .button")]


def test_an_empty_page_is_calm(site):
    answer = page(site)
    assert messages_on(answer) == ["no_builds"]
    assert primary_buttons(answer) == []
    assert headings(answer) == ["Changelog"]
    assert len(answer.html.find_all("h1")) == 1


def test_the_newest_build_leads_and_every_system_is_named(agent):
    # C-PAGE-3
    agent.upload("windows", query="?version=1")
    agent.upload("linux", b"newer", query="?version=2&name=modhub.tar.gz")
    answer = page(agent.site)
    assert headings(answer) == ["Linux", "Windows", "macOS", "Changelog"]
    assert messages_on(answer) == ["no_build"]
    assert answer.html.select_one('header nav a[href="/Modhub/App"]')["aria-current"] == "page"
    lead = answer.html.select_one("section.leads")
    assert primary_buttons(answer) == ["/Modhub/app/linux"]
    assert [link["href"] for link in answer.html.select(".platforms section > a")] == ["/Modhub/app/windows"]
    for shown in ("5 bytes", "modhub.tar.gz", "/Modhub/app/linux/", "sha256sum -- modhub.tar.gz"):
        assert shown in lead.get_text(), shown
    assert lead.select_one("details dd code").get_text() == hashlib.sha256(b"newer").hexdigest()
    assert lead.find("time")["datetime"].endswith("Z")


def test_the_visitors_own_system_comes_first(agent):
    for os in ("windows", "linux", "haiku"):
        agent.upload(os)
    assert headings(page(agent.site, WINDOWS))[:2] == ["Windows", "Linux"]
    assert headings(page(agent.site, LINUX))[:2] == ["Linux", "Windows"]
    assert headings(page(agent.site))[0] == "haiku"
    # A hint to a system without a build changes nothing.
    assert headings(page(agent.site, "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15)"))[0] == "haiku"
    assert {"User-Agent", "Sec-CH-UA-Platform", "Cookie"} <= set(page(agent.site).headers["Vary"].split(", "))


def test_nobody_is_led_to_what_cannot_run(agent):
    for os in ("windows", "macos"):
        agent.upload(os)
    answer = page(agent.site, ANDROID)
    assert answer.html.select(".leads") == []
    assert primary_buttons(answer) == []
    assert answer.html.select_one("main .note").get_text().startswith("There is no build for Android yet.")
    assert headings(answer)[:2] == ["macOS", "Windows"]
    answer = page(agent.site)
    assert answer.html.select(".leads")
    assert answer.html.select("main .note") == []
    # Once there is a build, it leads as any other.
    agent.upload("android")
    agent.upload("windows")
    assert page(agent.site, ANDROID).html.select_one(".leads h2").get_text() == "android"
    assert page(agent.site, IPHONE).html.select(".leads") == []


def test_older_builds_are_in_details(agent):
    # C-PAGE-3
    urls = [agent.upload("linux", query=f"?version={number}").json["url"] for number in range(3)]
    older = page(agent.site).html.select("details li a")
    links = [link["href"] for link in older]
    assert [url for url in links if url in urls] == [urls[1], urls[1], urls[0], urls[0]]
    assert "2 older builds for Linux" in page(agent.site).html.select("summary")[1].get_text()
    assert "2 ältere Versionen für Linux" in agent.site.get("/Modhub/App", headers={"Accept-Language": "de"})


HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}&lt;b&gt;"


def test_what_agents_write_is_text(agent):
    # C-APP-11
    agent.upload("linux", query="?version=%3Cscript%3Ealert(1)%3C/script%3E&name=%22%3E%3Cimg%20src=x%3E.zip")
    agent.push(b"1.0\n  - indented")
    agent.push(HOSTILE.encode())
    answer = page(agent.site)
    assert answer.html.select("main script, main img:not(.overlay-picture)") == []
    assert [section.get_text() for section in answer.html.select("section.changes pre")] == [
        HOSTILE,
        "1.0\n  - indented",
    ]
    assert "<script>alert(1)</script>" in answer.html.select_one("section.leads p").get_text()
    assert "49" not in answer.html.select_one("section.changes").get_text()


def test_the_feed_lists_the_newest_builds(agent, monkeypatch):
    assert ET.fromstring(agent.site.get("/Modhub/App/feed").body).findall(f"{ATOM}entry") == []
    monkeypatch.setattr(pages, "FEED_ENTRIES", 2)
    agent.upload("macos")
    urls = [agent.upload(os, query="?version=1%2E4").json["url"] for os in ("windows", "linux")]
    answer = agent.site.get("/Modhub/App/feed")
    assert answer.content_type == "application/atom+xml"
    root = ET.fromstring(answer.body)
    base = agent.site.registry.settings["modhub.base_url"]
    entries = root.findall(f"{ATOM}entry")
    assert [entry.find(f"{ATOM}id").text for entry in entries] == [base + url for url in reversed(urls)]
    assert entries[0].find(f"{ATOM}title").text == "Linux 1.4"
    enclosure = entries[0].find(f"{ATOM}link[@rel='enclosure']").attrib
    assert (enclosure["href"], enclosure["length"]) == (base + urls[1], "7")
    assert root.find(f"{ATOM}updated").text == entries[0].find(f"{ATOM}updated").text
    assert root.find(f"{ATOM}link[@rel='self']").attrib["href"] == f"{base}/Modhub/App/feed"
    again = agent.site.get("/Modhub/App/feed", headers={"If-None-Match": answer.headers["ETag"]}, status=304)
    assert again.body == b""


@pytest.mark.parametrize(
    ("os", "name", "shown"),
    [
        ("linux", "a b'c.zip", """sha256sum -- 'a b'"'"'c.zip'"""),
        ("macos", "-rf", "shasum -a 256 -- -rf"),
        ("windows", "it's \u2019.zip", "Get-FileHash -LiteralPath 'it''s \u2019\u2019.zip'"),
    ],
)
def test_the_line_that_verifies_is_safe_to_paste(os, name, shown):
    fields = {"content_type": "a/b", "key": "", "size": 1, "sha256": "0" * 64}
    release = Release(id=1, os=os, version="1", name=name, uploaded_at=datetime(2026, 11, 21, tzinfo=UTC), **fields)
    assert PlatformBlock(os, [release]).checksum_command == shown


@pytest.mark.parametrize(
    ("headers", "os"),
    [
        ({"User-Agent": IPHONE}, "ios"),
        ({"Sec-CH-UA-Platform": '"macOS"', "User-Agent": WINDOWS}, "macos"),
        ({"User-Agent": "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0)"}, None),
        ({"Sec-CH-UA-Platform": '"' * 1000}, None),
    ],
)
def test_what_the_browser_says(headers, os):
    assert detect_platform(headers) == os


def test_the_page_is_in_the_sitemap(site, agent):
    address = "/sitemap.xml?of=app&part=0"
    assert "/Modhub/App</loc>" in site.get("/sitemap.xml").text
    assert "lastmod" not in site.get(address).text
    agent.upload("linux", b"x")
    stamp = agent.list()["builds"][0]["uploadedAt"]
    assert f"/Modhub/App</loc><lastmod>{stamp}</lastmod>" in site.get(address).text
