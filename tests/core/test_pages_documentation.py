"""The API reference at ``/Modhub/doc``: complete, marked up for every reader, and free."""

import re
import shlex
from itertools import pairwise
from urllib.parse import urlsplit

import pytest
from bleach._vendor import html5lib

from modhub_testing.described import DescribedApi

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("dialect", ["sqlite"])]

PAGE = "/Modhub/doc"
FEATURES = (
    "modhub_auth modhub_builds modhub_downloads modhub_following "
    "modhub_moderation modhub_profiles modhub_sync modhub_tags modhub_wiki"
)
TOKEN = ["-H", "Authorization: Bearer $TOKEN"]
ALONE = [
    pytest.param(name, marks=pytest.mark.long)
    for name in FEATURES.split()
    if name not in {"modhub_moderation", "modhub_following"}
]


def started(start, tmp_path, includes, **settings):
    """The page asks the database nothing: this one is empty."""
    return start(f"{includes} modhub_testing.nothing_kept", url=f"sqlite:///{tmp_path}/empty.sqlite", **settings)


@pytest.mark.parametrize("includes", ["", "modhub_testing.accounts", *ALONE, FEATURES])
def test_it_leads_nowhere_else(start, tmp_path, includes):
    site = started(start, tmp_path, includes)
    page = site.get(PAGE).html
    ids = [element["id"] for element in page.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in page.select('.reference a[href^="#"], .contents a')} <= set(ids)
    has_accounts = "accounts" in includes or "modhub_auth" in includes
    assert (page.select_one(".note.warn") is None) is has_accounts


def test_every_page_leads_to_it_and_it_costs_nothing(site, monkeypatch):
    first = site.get(PAGE)
    monkeypatch.setattr("modhub.ui.documentation.render", None)
    assert site.get(PAGE).text == first.text
    for address, status in (("/Modhub", 200), ("/Modhub/999", 404)):
        page = site.get(address, status=status).html
        assert page.select_one(f'.site-foot a[href="{PAGE}"]').text == "API"
        # RFC 8631
        assert page.find("link", rel="service-doc")["href"] == PAGE


def test_it_is_marked_up_for_every_reader(start, tmp_path):
    site = started(start, tmp_path, FEATURES)
    answer = site.get(PAGE)
    page = answer.html
    parser = html5lib.HTMLParser()
    parser.parse(answer.text)
    assert parser.errors == []
    headings = [int(heading.name[1]) for heading in page.select("main h1, main h2, main h3, main h4")]
    assert [after for before, after in pairwise(headings) if after - before > 1] == []
    # The contents lead to every section and call.
    listed = {link["href"][1:] for link in page.select(".contents a")}
    assert listed == {each["id"] for each in page.select(".reference h2, .reference h3:has(.call)")}
    # What is wide scrolls by itself, and a keyboard reaches it.
    regions = page.select(".reference pre:not(details pre), .reference .scroll")
    labels = [region["aria-label"] for region in regions]
    assert len(labels) == len(set(labels)), sorted(label for label in labels if labels.count(label) > 1)
    assert {(region["tabindex"], region["role"]) for region in regions} == {("0", "region")}
    for table in page.select(".reference table"):
        assert table.caption.text
        assert {cell["scope"] for cell in table.find_all("th")} == {"col", "row"}
    # Titles are in the reader's language, and the text says that it is English.
    german = site.get(PAGE, headers={"Accept-Language": "de"}).html
    assert german.html["lang"] == "de"
    assert {section["lang"] for section in german.select(".reference")} == {"en"}
    assert {heading["lang"] for heading in german.select(".reference h2")} == {"de"}
    assert "auf Englisch" in german.main.text


def test_it_has_every_call_with_a_line_for_a_shell(start, tmp_path):
    # C-API-7
    site = started(start, tmp_path, FEATURES, modhub__base_url="https://mods.example.org")
    page = site.get(PAGE, headers={"Host": "evil.example"})
    assert "evil.example" not in page.text
    sent = {}
    for heading in page.html.select("h3:has(code.call)"):
        words = shlex.split(heading.find_next("pre", class_="request").text.replace("\\\n", ""))
        split = urlsplit(words[-1])
        assert (words[0], split.scheme, split.netloc) == ("curl", "https", "mods.example.org")
        has_body = {"-d", "--data-binary"} & set(words)
        method = words[words.index("-X") + 1] if "-X" in words else ("POST" if has_body else "GET")
        assert re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", heading.text), f"{method} {split.path}"), words
        sent[heading["id"]] = words[2:]
    assert sent.keys() == {served.operation.id.replace("_", "-") for served in DescribedApi(site.registry).served}
    of_json = ["-H", "Content-Type: application/json", "-d", '{"value":1}']
    assert sent["vote"] == ["-X", "PUT", *TOKEN, *of_json, "https://mods.example.org/api/modhub/12/vote"]
