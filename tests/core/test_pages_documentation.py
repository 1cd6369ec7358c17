"""The API reference at ``/Modhub/doc``: sections, cost, completeness."""

from pathlib import Path

import pytest
from bleach._vendor import html5lib
from markupsafe import Markup

from modhub.catalogue.pages.container import PageServices
from modhub.content import limits
from modhub.ui.documentation import read_sections
from modhub_testing import Site, Start
from modhub_testing.reference import calls, described, example_differences, for_programs

pytestmark = pytest.mark.slow

PAGE = "/Modhub/doc"
GERMAN = {"Accept-Language": "de"}


@pytest.mark.parametrize("accounts", ["", "modhub_testing.accounts"])
def test_every_call_of_the_core_is_described_and_no_other(start: Start, accounts: str) -> None:
    site = start(accounts)
    page = site.get(PAGE).html
    existing, documented = calls(site), described(page)
    assert len(for_programs(site, existing)) > 20
    assert for_programs(site, existing) - documented == set()
    assert documented - existing == set()
    assert (page.select_one(".note.warn") is None) is bool(accounts)


def test_a_call_that_is_not_described_is_found(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "plugin"))
    site = start("modhub_testing.accounts modhub_ratings")
    undescribed = for_programs(site, calls(site)) - described(site.get(PAGE).html)
    remarks, of_author = "/api/modhub/{}/remarks", "/api/modhub/authors/{}/remarks"
    assert undescribed == {("GET", remarks), ("POST", remarks), ("DELETE", f"{remarks}/{{}}"), ("GET", of_author)}


def test_every_page_leads_to_it_and_it_costs_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with site.counted() as statements:
        first = site.get(PAGE)
        monkeypatch.setattr("modhub.ui.documentation.render", None)
        assert site.get(PAGE).text == first.text
    assert statements == []
    assert first.headers["Cache-Control"] == "no-cache"
    assert "Set-Cookie" not in first.headers
    for address, status in (("/Modhub", 200), ("/Modhub/999", 404), (PAGE, 200)):
        page = site.get(address, status=status).html
        assert page.select_one(f'.site-foot a[href="{PAGE}"]').text == "API"
        # RFC 8631
        assert page.find("link", rel="service-doc")["href"] == PAGE
    monkeypatch.setattr(site.find_service(PageServices).pages, "listing", None)
    assert site.get("/Modhub?page=1", status=500).html.select_one(f'.site-foot a[href="{PAGE}"]')
    site.get(f"{PAGE}/more", status=404)
    assert PAGE not in site.get("/robots.txt").text


def test_it_is_marked_up_for_every_reader(site: Site) -> None:
    answer = site.get(PAGE)
    page = answer.html
    parser = html5lib.HTMLParser()
    parser.parse(answer.text)
    assert parser.errors == []
    # The contents lead to every part.
    ids = [element["id"] for element in page.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in page.select('a[href^="#"]')} <= set(ids)
    listed = {link["href"][1:] for link in page.select(".contents a")}
    assert listed == {heading["id"] for heading in page.select(".reference h2, .reference h3, .reference h4")}
    # What is wide scrolls by itself, and a keyboard reaches it.
    regions = page.select(".reference pre, .reference .scroll")
    assert len(regions) > 40
    labels = [region["aria-label"] for region in regions]
    assert len(labels) == len(set(labels)), sorted(label for label in labels if labels.count(label) > 1)
    assert {(region["tabindex"], region["role"]) for region in regions} == {("0", "region")}
    for table in page.select(".reference table"):
        assert table.caption.text
        assert {cell["scope"] for cell in table.find_all("th")} == {"col", "row"}
    # Headings are in the reader's language, and the text says that it is English.
    german = site.get(PAGE, headers=GERMAN).html
    assert german.html["lang"] == "de"
    assert {section["lang"] for section in german.select(".reference")} == {"en"}
    assert {heading["lang"] for heading in german.select(".reference h2, .reference h3")} == {"de"}
    assert (german.find(id="own-mods").text, page.find(id="own-mods").text) == ("Die eigenen Mods", "Your own mods")
    assert "auf Englisch" in german.main.text


def test_limits_and_addresses_are_those_of_this_service(start: Start) -> None:
    site = start(modhub__base_url="https://mods.example.org")
    page = site.get(PAGE, headers={"Host": "evil.example"})
    assert "evil.example" not in page.text
    requests = page.html.select("pre.request")
    assert all("https://mods.example.org/" in request.text for request in requests)
    of = {row.th.text: row.td.text for row in page.html.find(id="mod-limits").find_next("table").select("tbody tr")}
    assert of["Code file"] == f"64\u00a0MB ({limits.CODE:,} bytes)"
    assert of["Games of a mod"] == f"{limits.GAMES}, each of {limits.GAME} characters"


@pytest.mark.parametrize("markup", ["<p>x</p>", '<h3 id="a">A</h3>', '<h2 id="a">A</h2><h4 id="b">B</h4>'])
def test_a_section_without_order_is_refused(markup: str) -> None:
    with pytest.raises(ValueError, match="h2"):
        read_sections(Markup(markup))
    with pytest.raises(ValueError, match="h2"):
        read_sections(Markup('<h2 id="a">A</h2><h2 id="b">B</h2>'))


def test_an_example_that_tells_another_story_is_found() -> None:
    shown = {"a": 1, "b": [{"c": "x"}], "d": None}
    assert example_differences(shown, {"a": 2, "b": [{"c": "y"}, {"c": "z"}], "d": "x"}) == []
    assert example_differences(shown, {"a": "1", "b": [{"c": "y"}], "d": None}) == ["the answer.a is str, not int"]
    assert example_differences(shown, {"a": 1, "b": [{"e": "y"}], "d": 1})
    assert example_differences(shown, {"a": 1, "b": [], "d": 1}) == ["the answer.b is empty"]
