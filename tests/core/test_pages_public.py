"""The public pages: what they show, what they never show, and how many statements they run."""

import re
from datetime import timedelta

import pytest

from modhub.catalogue.pages.reader import PageReader
from modhub.ui.template_helpers import PageHelpers
from modhub_testing.mods import OWNER, published_mod, upload_asset
from modhub_testing.pages import messages_on
from tests.owning import curate_game, vote

pytestmark = pytest.mark.slow

ABSENT = "01234567-89ab-cdef-0123-456789abcdef"
HOSTILE_NAME = '" onerror="alert(1)"><img src=x onerror=alert(1)>.png'
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def test_a_published_mod_is_shown_with_all_that_belongs_to_it(site):
    # C-PAGE-1
    base, other = published_mod(site, title="Base"), "11234567-89ab-cdef-0123-456789abcdef"
    needs = {"requires": [base["guid"], ABSENT], "conflictsWith": [other]}
    mod = published_mod(site, title="Tower", version="1.5", **needs)
    page = site.get(mod["url"], status=200)
    assert page.html.h1.text == "Tower"
    assert page.html.find("a", class_="download")["href"] == f"/api/modhub/{mod['id']}/download"
    assert page.html.select_one(".chain li a")["href"] == base["url"]
    assert "this mod" in page.html.select(".chain li")[-1].text
    assert ABSENT in page.html.select_one(".mod-main .note.warn").text
    assert other in page.text
    assert "added automatically" in page.html.select_one(".notes").text
    assert "1.5" in page.html.select_one(".facts-list").text


@pytest.mark.postgres
def test_hostile_text_is_shown_as_text(site):
    mod = published_mod(site, title=HOSTILE, games=[HOSTILE], description=HOSTILE)
    upload_asset(site, mod, "images", b"x", content_type="image/png", name=HOSTILE_NAME)
    for address in ("/Modhub", mod["url"]):
        page = site.get(address, {"q": "script", "game": HOSTILE} if address == "/Modhub" else None)
        assert {script["src"].partition("-")[0] for script in page.html.find_all("script")} == {"/static/modhub"}
        assert not page.html.find_all(onerror=True)
    assert HOSTILE + "zz" in site.get("/Modhub", {"q": HOSTILE + "zz"}).html.select_one(".empty").text


def test_a_list_says_how_many_there_are_and_leads_on(site):
    # C-PAGE-1
    for number in range(5):
        published_mod(site, title=f"Mod {number}", games=["Portal"] if number else ["Quake"])
    page = site.get("/Modhub?game=portal&size=2&page=2")
    assert page.html.find(id="results").text == "4 mods"
    assert [card.h3.text for card in page.html.select(".card")] == ["Mod 2", "Mod 1"]
    assert page.html.find("a", rel="prev")["href"] == "/Modhub?game=portal&size=2#results"
    assert page.html.find("a", rel="next") is None
    behind = site.get("/Modhub?page=9")
    assert messages_on(behind) == ["no_such_page"]


def test_a_card_says_what_one_wants_to_know(site):
    mod = published_mod(site, title="Card Game", description="<p>One</p><p>two</p>", requires=[ABSENT])
    card = site.get("/Modhub?sort=new").html.select_one(".card")
    assert [link["href"] for link in card.select("a")] == [mod["url"], f"/Modhub/by/{OWNER}"]
    assert card.select_one(".summary").text == "One. two"
    assert card.select_one(".tile").text == "CG"
    # The day is in the title; an icon says nothing to a reader.
    assert re.fullmatch(r"[0-9]{1,2} [A-Z][a-z]+ 20[0-9]{2}, [0-9:]{5} UTC", card.time["title"])
    assert all(icon["aria-hidden"] == "true" for icon in card.select("svg"))
    # A share of few votes would say more than they do.
    for account in range(20, 29):
        vote(site, mod, account)
    assert facts(site) == ["updated just now"]
    vote(site, mod, 29, -1)
    assert facts(site) == ["90% liked it (10 votes)", "updated just now"]
    page = site.get(mod["url"]).html
    assert page.select_one(".facts-list div:last-child dd").text.split() == ["90%", "liked", "it", "(10", "votes)"]
    assert page.find(itemprop="aggregateRating").find(itemprop="ratingValue")["content"] == "90"


def facts(site):
    shown = site.get("/Modhub?sort=new").html.select(".card .facts li")
    return [fact.text.replace("\u00a0", " ") for fact in shown]


def test_ages_advance(site, monkeypatch):
    mod = published_mod(site)
    now = PageHelpers.now.func
    monkeypatch.setattr(PageHelpers, "now", property(lambda tools: now(tools) + timedelta(days=3)))
    for address in ("/Modhub", mod["url"]):
        page = site.get(address).text
        assert "3 days ago" in page
        assert "just now" not in page


def test_a_tile_has_the_icon_of_the_game_or_the_initials(site, tmp_path):
    icon = tmp_path / "portal.svg"
    icon.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    curate_game(site, "Portal", icon=icon)
    published_mod(site, title="— «lone» wolf", games=["Unknown", "portal"])
    published_mod(site, title="¡¡ únder the sea", games=["Unknown"])
    published_mod(site, title="— !")
    tiles = site.get("/Modhub?sort=new").html.select(".card .tile")
    assert [tile.text for tile in tiles] == ["", "ÚT", ""]
    assert [bool(tile.img) for tile in tiles] == [False, False, True]


def test_the_form_keeps_what_is_chosen(site):
    for number in range(3):
        curate_game(site, f"Game {number}")
    page = site.get("/Modhub?q=x&size=50&game=game+1")
    form = page.html.select_one(".finder")
    assert form.find(id="game").find("option", selected=True)["value"] == "Game 1"
    assert form.find("input", attrs={"name": "size"})["value"] == "50"
    # A game that is not in the list stays chosen.
    page = site.get("/Modhub?game=Another")
    assert page.html.find(id="game").find("option", selected=True)["value"] == "Another"


def test_pages_carry_a_policy_that_lets_nothing_in(site):
    # T-A2, T-H5
    page = site.get("/Modhub")
    policy = dict(part.strip().partition(" ")[::2] for part in page.headers["Content-Security-Policy"].split(";"))
    nonce = page.html.script["nonce"]
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == f"'nonce-{nonce}'"
    assert policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["object-src"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "Set-Cookie" not in page.headers
    assert page.headers["Vary"] == "Cookie, Accept-Language, Accept-Encoding"
    assert nonce != site.get("/Modhub").html.script["nonce"]
    assert page.html.select("[style]") == []


def test_static_files_are_cached_permanently_under_hashed_names(site):
    # T-H7
    address = site.get("/Modhub").html.find("link", rel="stylesheet")["href"]
    file = site.get(address, headers={"Cookie": "session=1"})
    assert file.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert file.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "Set-Cookie" not in file.headers
    assert file.headers["Vary"] == "Accept-Encoding"
    site.get(address.replace("style-", "style-0"), status=404)
    site.get("/static/../modhub/__init__.py", status=404)


def test_a_trouble_of_the_service_still_has_its_page(start, monkeypatch):
    # C-ERR-3
    site = start()
    monkeypatch.setattr(site.find_service(PageReader), "listing", None)
    page = site.get("/Modhub?page=1", status=500)
    assert messages_on(page) == ["internal_error"]
    assert "Traceback" not in page.text


def test_a_robot_finds_its_way(start):
    site = start(modhub__base_url="https://mods.example.org")
    robots = site.get("/robots.txt")
    assert robots.text == (
        "User-agent: *\nDisallow: /api/\nDisallow: /Modhub/api/\nDisallow: /Modhub/*/everything.zip\n"
        "Disallow: /Modhub/*/install\nDisallow: /Modhub/mine\n\n"
        "Sitemap: https://mods.example.org/sitemap.xml\n"
    )
    assert robots.content_type == "text/plain"
    assert site.get("/favicon.ico").content_type == "image/x-icon"
    mod = published_mod(site, OWNER, "Canonical")
    page = site.get(mod["url"], headers={"Host": "evil.example"})
    assert page.html.find("link", rel="canonical")["href"] == f"https://mods.example.org{mod['url']}"
    assert "evil" not in page.text
