"""What other sites show of a link to a page: Open Graph of browse, games, mods, authors, the app and the wiki."""

import io
import re

import pytest
from PIL import Image

from modhub_testing.mods import OWNER, hide_mod, new_mod, published_mod, upload_asset
from modhub_testing.pages import new_visitor
from tests.core.test_pictures import work_off
from tests.core.test_pictures_decoding import encoded
from tests.owning import curate_game, write_caption

BASE = "https://mods.example.org"
PNG = b"\x89PNG\r\n\x1a\n"
HOSTILE = 'A "quoted" <b>title</b> & more'


@pytest.fixture
def site(start):
    return start(modhub__base_url=BASE)


def tags_of(page):
    """Open Graph and Twitter tags by name; none of them is there twice."""
    metas = page.html.find_all("meta", attrs={"property": True}) + page.html.find_all("meta", {"name": "twitter:card"})
    named = [(str(meta.get("property") or meta["name"]), str(meta["content"])) for meta in metas]
    assert len(dict(named)) == len(named)
    return dict(named)


def add_picture(site, mod):
    picture = encoded(Image.new("RGB", (1600, 900), "teal"))
    image = upload_asset(site, mod, "images", picture, content_type="image/png")["assets"][-1]
    write_caption(site, mod, image, "A teal wall")
    work_off(site)


def test_a_mod_is_shared_with_its_large_picture(site):
    mod = published_mod(site, title=HOSTILE, description="<p>Draws &amp; <b>shows</b></p>")
    add_picture(site, mod)
    page = site.get(mod["url"])
    tags = tags_of(page)
    address = tags.pop("og:image")
    assert tags == {
        "og:type": "website",
        "og:site_name": "modhub",
        "og:title": HOSTILE,
        "og:description": "Draws & shows",
        "og:url": BASE + mod["url"],
        "og:image:type": "image/jpeg",
        "og:image:width": "1280",
        "og:image:height": "720",
        "og:image:alt": "A teal wall",
        "twitter:card": "summary_large_image",
    }
    shown = Image.open(io.BytesIO(site.get(address.removeprefix(BASE)).body))
    assert shown.size == (1280, 720)
    assert HOSTILE not in page.text
    # So is its author, by their newest mod.
    author = tags_of(site.get(f"/Modhub/by/{OWNER}"))
    assert author["og:image"] == address
    assert author["og:description"] == f"1 mod by Person {OWNER}: {HOSTILE}"


def test_without_a_picture_it_is_the_icon_of_the_game_then_the_mark(start, tmp_path):
    mark, icon = tmp_path / "mark.png", tmp_path / "portal.png"
    mark.write_bytes(PNG)
    Image.new("RGB", (64, 64)).save(icon)
    site = start("modhub_testing.accounts", modhub__base_url=BASE, modhub__site_mark=str(mark))
    with_game, without = published_mod(site, games=["Portal"]), published_mod(site, owner=8)
    curate_game(site, "Portal", icon=icon)
    icon_url = BASE + site.get("/api/modhub/games").json["games"][0]["iconUrl"]
    [mark_url] = set(re.findall(r'(/static/modhub-site-mark-[^"]+)"', site.get("/Modhub/doc").text))
    for path, image in (
        (with_game["url"], icon_url),
        ("/Modhub?game=portal", icon_url),
        ("/Modhub?game=Portal+2", BASE + mark_url),
        (without["url"], BASE + mark_url),
    ):
        tags = tags_of(site.get(path))
        assert tags["og:image"] == image, path
        assert tags["twitter:card"] == "summary", path
    browse = tags_of(site.get("/Modhub?game=portal&page=1"))
    assert (browse["og:title"], browse["og:url"]) == ("Mods for Portal", f"{BASE}/Modhub?game=portal")


def test_nothing_of_a_draft_or_a_hidden_mod_is_shared(site):
    # C-PRO-2
    hidden, draft = published_mod(site, title="Hidden", games=["Portal"]), new_mod(site, title="Draft")
    published_mod(site, title="Public")
    add_picture(site, hidden)
    add_picture(site, draft)
    hide_mod(site, hidden)
    author = tags_of(site.get(f"/Modhub/by/{OWNER}"))
    assert author["og:description"] == f"1 mod by Person {OWNER}: Public"
    assert "/Modhub/picture/" not in author["og:image"]
    assert tags_of(site.get(hidden["url"], status=404)) == {}
    assert tags_of(new_visitor(site, OWNER).get(f"/Modhub/mine/{draft['id']}/preview")) == {}
