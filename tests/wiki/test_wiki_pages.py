"""The wiki's pages: tree, history, revisions, search, feed."""

import re
import xml.etree.ElementTree as ET

import pytest

from modhub_testing import TEST_SECRET
from modhub_testing.pages import messages_on
from modhub_wiki.models import PageSearchText
from modhub_wiki.pages import page_tree
from modhub_wiki.read_service import WikiReader
from modhub_wiki.response_schemas import PageDocument

pytestmark = pytest.mark.slow

ATOM = "{http://www.w3.org/2005/Atom}"


def test_the_index_is_shown_at_the_wiki_itself(wiki, publish):
    # C-WIKI-8
    page = wiki.get("/Modhub/Wiki")
    assert messages_on(page) == ["no_pages"]
    assert wiki.get("/Modhub/Wiki/").status_int == 200
    assert 'href="/Modhub/Wiki" aria-current="page">Wiki</a>' in page.text
    publish("guide/a", "# A page")
    bare = wiki.get("/Modhub/Wiki").text
    assert "<h1>Wiki</h1>" in bare
    assert '<meta name="description" content="Guides and reference for people who write mods.">' in bare
    assert '<a href="/Modhub/Wiki/guide/a"' in bare
    publish("index", "# Welcome\n\n[a](guide/a)")
    shown = wiki.get("/Modhub/Wiki").text
    assert '<h1 id="welcome">' in shown
    assert '<p><a href="/Modhub/Wiki/guide/a" rel="noopener">a</a></p>' in shown
    assert '<a href="/Modhub/Wiki" aria-current="page" dir="auto">Welcome</a>' in shown
    assert '<link rel="canonical" href="http://127.0.0.1:6543/Modhub/Wiki">' in wiki.get("/Modhub/Wiki/index").text


def test_a_page_has_contents_anchors_and_its_facts(wiki, publish):
    # C-WIKI-8
    made = publish("guide/a", '# A page\n\n## One\n\n*Text* & "more"\n\n## Two & more\n\nNot this\n')
    page = wiki.get(made["url"])
    assert '<meta name="description" content="Text &amp; &#34;more&#34;">' in page.text
    assert page.text.count("<h1") == 1
    assert '<a href="#two-more" dir="auto">Two &amp; more</a>' in page.text
    assert '<h2 id="two-more">' in page.text
    assert "(revision 1)" in page.text
    history = wiki.get(f"{made['url']}?history").text
    key = re.search(r"<code>([0-9a-f]{12})</code>", history)
    assert key
    assert key[1] not in page.text  # whose key it was helps those who publish, not readers
    assert "wiki-key" not in page.text
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "img-src 'self'" in page.headers["Content-Security-Policy"]
    publish("guide/a", "# A page", status=200, key="other-key")
    other = re.search(r"<code>([0-9a-f]{12})</code>", wiki.get(f"{made['url']}?history").text)
    assert other
    assert other[1] != key[1]


def test_titles_and_text_are_escaped(wiki, publish):
    publish("a", "# <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n## </ul><script>")
    publish("a", '"><script>alert(2)</script>', status=200, title="%3Cscript%3Ealert(3)%3C/script%3E")
    for address in ("", "?revision=1", "?history"):
        page = wiki.get(f"/Modhub/Wiki/a{address}").text
        assert "<script>" not in page
        assert "<img" not in page
    for words in ('"><script>alert(4)</script>', "alert(3)", "alert(2)"):
        results = wiki.get("/Modhub/Wiki", {"q": words})
        assert "<script>" not in results.text
        assert [hit.text for hit in results.html.select(".wiki-hits h2")] == ["<script>alert(3)</script>"] * (
            "4" not in words
        )
    ET.fromstring(wiki.get("/Modhub/wiki.atom").body)


def test_old_revisions_stay_readable_and_are_listed(wiki, publish):
    publish("a", "# First\n\nold words")
    publish("a", "# Second\n\nnew words", status=200)
    old = wiki.get("/Modhub/Wiki/a?revision=1")
    assert "old words" in old.text
    assert re.findall(r"\d", old.html.select_one(".wiki-old").text) == ["1", "2"]
    assert '<meta name="robots" content="noindex">' in old.text
    assert wiki.get("/Modhub/Wiki/a?revision=2").html.select_one(".wiki-old") is None
    for number in ("0", "3", "x", "", "%D9%A1", "9" * 18, "9" * 40):
        wiki.get(f"/Modhub/Wiki/a?revision={number}", status=404)
    history = wiki.get("/Modhub/Wiki/a?history")
    assert re.findall(r'<a href="/Modhub/Wiki/a\?revision=(\d)">', history.text) == ["2", "1"]
    assert len(history.html.select("tbody time")) == 2
    wiki.get("/Modhub/Wiki/never?history", status=404)
    german = wiki.get("/Modhub/Wiki/a", headers={"Accept-Language": "de"}).text
    assert "Das Wiki durchsuchen" in german
    assert "Verlauf" in german


def test_links_between_files_lead_to_pages(wiki, publish):
    publish("guide/setup", "# Setup")
    publish("other/index", "# Other")
    publish("index", "# Home\n\n[setup](guide/setup.md#x)")
    answer = wiki.get("/Modhub/Wiki/guide/setup.md", status=302)
    assert answer.headers["Location"] == "/Modhub/Wiki/guide/setup"
    assert wiki.get("/Modhub/Wiki/other", status=302).headers["Location"] == "/Modhub/Wiki/other/index"
    assert wiki.get("/Modhub/Wiki/index.md", status=302).headers["Location"] == "/Modhub/Wiki"
    wiki.get("/Modhub/Wiki/guide", status=404)
    publish("guide/setup.md", "# By its very name")
    assert "By its very name" in wiki.get("/Modhub/Wiki/guide/setup.md").text


def search_paths(wiki, q):
    page = wiki.get("/Modhub/Wiki", {"q": q}).text
    return re.findall(r'<h2><a href="/Modhub/Wiki/([^"]*)"', page)


@pytest.mark.postgres
def test_search_folds_and_wants_every_word(wiki, publish):
    # C-WIKI-8
    publish("b/cafe", "# Kaffee\n\nÜber die **Groß**en Cafés & mehr\n\n```python\nname_with_underscore = 100\n```\n")
    publish("a/other", "# Andere\n\nSo 100% anders\n")
    publish("zero", "# Grossen\n")
    assert search_paths(wiki, "großen") == ["zero", "b/cafe"]
    assert search_paths(wiki, "GROSSEN CAFES") == ["b/cafe"]
    assert search_paths(wiki, "uber") == ["b/cafe"]
    assert search_paths(wiki, "100%") == ["a/other"]
    assert search_paths(wiki, "h_u") == ["b/cafe"]
    assert search_paths(wiki, "b/caf") == ["b/cafe"]
    # A page of a title alone has no line that says more.
    assert wiki.get("/Modhub/Wiki?q=zero").html.select(".wiki-hits li > p:not(.small)") == []
    assert search_paths(wiki, "100") == ["a/other", "b/cafe"]
    assert search_paths(wiki, "100 nowhere") == []
    assert search_paths(wiki, "\\") == search_paths(wiki, "%%%") == search_paths(wiki, "'") == []
    line = wiki.get("/Modhub/Wiki?q=caf%C3%89s").text
    assert "Über die Großen Cafés &amp; mehr" in line
    publish("b/cafe", "# Neu\n", status=200)
    assert search_paths(wiki, "großen") == ["zero"]
    wiki.delete("/Modhub/api/wiki/zero", headers={"X-Api-Key": "wiki-key"})
    assert search_paths(wiki, "großen") == []
    assert wiki.count_rows(PageSearchText) == 2


def test_search_takes_what_is_sent(wiki, publish):
    publish("long", "# Long\n\n" + "x" * 500 + " needle " + "y" * 500)
    for q in ("\x00", "a" * 5000, "\u0301" * 10_000, "a " * 200, "\\%"):
        assert wiki.get("/Modhub/Wiki", {"q": q}).status_int == 200
    page = wiki.get("/Modhub/Wiki?q=needle").text
    line = re.search(r'<p dir="auto">(….*needle.*…)</p>', page)
    assert line
    assert len(line[1]) < 200


def test_hits_are_counted_and_cut(wiki, publish):
    for at in range(30):
        publish(f"p{at:02}", "# Page\n\nword")
    page = wiki.get("/Modhub/Wiki?q=word")
    assert search_paths(wiki, "word") == [f"p{at:02}" for at in range(25)]
    assert page.html.select_one(".wiki-found").text.startswith("30 ")
    assert messages_on(page) == ["more_pages"]


def test_the_feed_tells_the_changes(wiki, publish):
    empty = wiki.get("/Modhub/wiki.atom")
    assert empty.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert ET.fromstring(empty.body).findall(f"{ATOM}entry") == []
    publish("a", "# One & <two>\ufffe")
    publish("b", "# Three")
    publish("a", "# Four", status=200)
    answer = wiki.get("/Modhub/wiki.atom")
    feed = ET.fromstring(answer.body)
    entries = feed.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == ["Four", "Three", "One & <two>"]
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert ids[0] == "http://127.0.0.1:6543/Modhub/Wiki/a?revision=2"
    assert len(set(ids)) == 3
    assert feed.findtext(f"{ATOM}updated") == entries[0].findtext(f"{ATOM}updated")
    wiki.get("/Modhub/wiki.atom", headers={"If-None-Match": answer.headers["ETag"]}, status=304)


def test_the_tree_is_made_of_paths():
    paths = ["zebra", "index", "guide/b", "guide/a/deep", "Guide", "guide", "apple"]
    pages = [PageDocument(path, path.upper(), f"/Modhub/Wiki/{path}", 1, "") for path in paths]
    nodes = page_tree(pages)
    assert [node.title for node in nodes] == ["INDEX", "APPLE", "GUIDE", "GUIDE", "ZEBRA"]
    assert nodes[0].url == "/Modhub/Wiki"
    guide = nodes[3]
    assert [(node.title, node.url) for node in guide.nodes] == [("a", None), ("GUIDE/B", "/Modhub/Wiki/guide/b")]


def test_the_sitemap_names_every_page_once(wiki, publish):
    def named():
        root = ET.fromstring(wiki.get("/sitemap.xml?of=wiki").body)
        urls = [[element.text or "" for element in url] for url in root]
        return {url[0].removeprefix("http://127.0.0.1:6543"): (*url[1:], None)[0] for url in urls}

    assert "/Modhub/Wiki</loc>" in wiki.get("/sitemap.xml").text
    assert named() == {"/Modhub/Wiki": None}
    made = publish("guide/a", "# A page")
    assert named() == {"/Modhub/Wiki": None, "/Modhub/Wiki/guide/a": made["updatedAt"]}
    index = publish("index", "# Welcome")
    assert named() == {"/Modhub/Wiki": index["updatedAt"], "/Modhub/Wiki/guide/a": made["updatedAt"]}


def test_no_page_asks_more_when_there_are_more_pages(wiki, publish):
    publish("index", "# Welcome")
    publish("guide/a", "# A page")
    pages = {"": 2, "/guide/a": 2, "?q=page": 3, "/guide/a?history": 2, "/guide/a?revision=1": 2}
    statement_counts = {f"Wiki{address}": count for address, count in pages.items()} | {"wiki.atom": 1, "wiki.json": 1}
    statement_counts |= {"api/wiki": 1, "api/wiki/guide/a": 1}
    for many in (False, True):
        if many:
            for number in range(8):
                publish(f"guide/page-{number}", "# A page")
                publish("guide/a", f"# A page\n\n{number}", status=200)
        for address, expected in statement_counts.items():
            with wiki.counted() as statements:
                wiki.get(f"/Modhub/{address}")
            assert len(statements) == expected, (address, many)


def test_the_fingerprint_is_of_key_and_secret(start):
    authors = []
    for secret in (TEST_SECRET, TEST_SECRET, "another secret of more than 32 characters"):
        site = start("modhub_wiki", ApiPrivateKeys="wiki-key Modhub:wiki", modhub__secret=secret)
        site.put("/Modhub/api/wiki/a", b"# A", headers={"X-Api-Key": "wiki-key"}, status=201)
        authors.append(WikiReader(site.databases.raw_queries).recent()[0].author)
    assert authors[0] == authors[1] != authors[2]
