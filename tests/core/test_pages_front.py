"""The front: ``/Modhub`` without a query has rows; with one it is the list."""

import io

import pytest
from PIL import Image

from modhub.base.settings import StartRefused
from modhub.blobs.store import BlobStore
from modhub.catalogue.pictures.maker import PictureMaker
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import hide_mod, insert_mods, new_mod, publish_test_mod, published_mod, upload_asset
from modhub_testing.pages import new_visitor
from tests.core.test_pictures_decoding import encoded
from tests.owning import curate_game, delete_mod, vote

PICTURE = b"\x89PNG\r\n\x1a\n a picture"


def row(page, name):
    """The titles of a row of the front, None if there is no such row."""
    heading = page.html.find(id=f"row-{name}")
    return heading and [link.text for link in heading.find_parent("section").select(".card h3 a")]


def rows(page):
    return [heading["id"].removeprefix("row-") for heading in page.html.select("main .row h2")]


@pytest.fixture
def mods(site):
    """Seven mods; the first two have a second version."""
    made = [published_mod(site, title=f"Mod {number}", games=["Portal"]) for number in range(7)]
    for mod in made[:2]:
        upload_asset(site, mod, "code", version="2", name="a.zip")
    for mod, account in ((made[3], 8), (made[3], 9), (made[5], 8)):
        vote(site, mod, account)
    return made


@pytest.mark.postgres
def test_the_front_has_rows_and_leads_to_the_list(site, mods):
    # C-PAGE-1, C-FRONT-7
    draft = new_mod(site, title="Long a draft", games=["Portal"])
    for number in range(7, 12):
        published_mod(site, title=f"Mod {number}")
    upload_asset(site, draft, "code", version="1")
    publish_test_mod(site, draft)
    page = site.get("/Modhub")
    assert rows(page) == ["top", "new"]
    assert row(page, "top") == ["Mod 3", "Mod 5", "Long a draft", "Mod 11", "Mod 10"]
    # Without those of the row above, the last published first.
    assert row(page, "new") == ["Mod 9", "Mod 8", "Mod 7", "Mod 6", "Mod 4"]
    assert page.html.select_one(".row > .all")["href"] == "/Modhub?sort=top"
    link = page.html.select_one(".all-mods a")
    assert (link.text, link["href"]) == ("All 13 mods", "/Modhub?sort=new")
    assert site.get(link["href"]).html.select_one(".card h3 a").text == "Long a draft"


def test_a_query_is_the_list_alone(site, mods):
    # C-PAGE-1
    for query in ("q=mod", "game=portal", "sort=new", "page=1", "tag=x", "q="):
        page = site.get(f"/Modhub?{query}")
        assert rows(page) == [], query
        assert not page.html.select(".front-head, .game-tiles"), query
    assert rows(site.get("/Modhub/")) == rows(site.get("/Modhub")) == ["top", "new"]


@pytest.mark.parametrize("count", [0, 5, 6])
def test_few_mods_are_one_row(site, count):
    # C-PAGE-1
    insert_mods(site, [{"title": f"Mod {number}"} for number in range(count)])
    page = site.get("/Modhub")
    assert rows(page) == {0: [], 6: ["top", "new"]}.get(count, ["top"])
    assert len(page.html.select(".card")) == count
    assert len(page.html.select(".leading")) == (count >= 5)
    assert bool(page.html.select(".empty")) == (count == 0)


@pytest.mark.postgres
def test_nothing_is_on_the_front_that_not_everybody_sees(site, mods):
    # C-PRO-2
    curate_game(site, "Portal")
    draft, hidden, deleted = new_mod(site, title="Canary", games=["Portal"]), mods[3], mods[5]
    upload_asset(site, draft, "code", version="1")
    upload_asset(site, draft, "images", b"x", content_type="image/png", name="canary.png")
    changed = upload_asset(site, hidden, "images", b"x", content_type="image/png", name="hidden.png")
    shot = changed["assets"][-1]["url"]
    before = site.get("/Modhub")
    assert "Canary" not in before.text
    assert before.html.select_one(".game-tiles img")["src"] == shot
    hide_mod(site, hidden)
    delete_mod(site, deleted)
    after = site.get("/Modhub")
    for mod in (hidden, deleted, draft):
        assert mod["title"] not in after.text
        assert f'"/Modhub/{mod["id"]}"' not in after.text
    assert shot not in after.text
    assert after.html.select_one(".game-tiles a").text.split() == ["Portal", "5", "mods"]


def test_games_are_tiles_and_the_rest_is_behind_them(site, tmp_path):
    icon = tmp_path / "portal.svg"
    icon.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    curate_game(site, "Portal", "Portal <i>", icon)
    curate_game(site, "Empty")
    for number in range(13):
        curate_game(site, f"Game {number:02}")
        published_mod(site, games=[f"game {number:02}", *(["PORTAL"] if number < 3 else [])])
    section = site.get("/Modhub").html.find(id="row-games").find_parent("nav")
    links = section.select(".game-tiles a")
    assert [" ".join(link.text.split()) for link in links[:2]] == ["Portal <i> 3 mods", "Game 00 1 mod"]
    assert (len(links), links[0]["href"]) == (12, "/Modhub?game=Portal")
    assert links[0].img["src"].startswith("/Modhub/game-icon/")
    # Each of them is reached, also those without a mod.
    assert len(section.select("details a")) == 15


def test_visitors_read_how_it_goes(start):
    site = start(f"{TEST_ACCOUNTS} modhub_builds")
    line = site.get("/Modhub").html.select_one(".front-head p")
    assert line.text == "Get the overlay app, choose a mod, open its file in the app."
    assert line.a["href"] == "/Modhub/App"
    assert not new_visitor(site, 8).get("/Modhub").html.select(".front-head p")


def test_the_operator_has_a_picture_and_a_text(start, tmp_path):
    picture, text = tmp_path / "front.png", tmp_path / "front.md"
    picture.write_bytes(PICTURE)
    text.write_text("# Deck <mods>\n\nFor *everybody*.\n\n<script>alert(1)</script>")
    site = start(TEST_ACCOUNTS, modhub__front_picture=str(picture), modhub__front_text=str(text))
    for page in (site.get("/Modhub"), new_visitor(site, 8).get("/Modhub")):
        head = page.html.select_one(".front-head")
        assert head.h1.text == "Deck <mods>"
        assert head.em.text == "everybody"
        assert not head.select("script")
        assert (head.img["alt"], site.get(head.img["src"]).body) == ("", PICTURE)
    assert not site.get("/Modhub?page=1").html.select(".front-head")
    with pytest.raises(StartRefused, match="front_picture"):
        start(TEST_ACCOUNTS, modhub__front_picture=str(text))


def test_a_tile_shows_what_is_so_now(site, mods):
    # C-PAGE-1
    curate_game(site, "Portal")
    picture = encoded(Image.new("RGB", (1600, 900), "teal"))
    upload_asset(site, mods[6], "images", picture, content_type="image/png")
    PictureMaker(site.databases, site.find_service(BlobStore)).make_next()
    page = site.get("/Modhub")
    assert page.html.select_one(".game-tiles img")["src"].startswith("/Modhub/picture/")


def test_pages_show_small_copies_of_an_icon(site, tmp_path):
    # C-READ-10
    icon = tmp_path / "portal.png"
    Image.effect_noise((256, 200), 90).save(icon)
    curate_game(site, "Portal", icon=icon)
    published_mod(site, games=["Portal"])
    original = site.get("/api/modhub/games").json["games"][0]["iconUrl"]
    assert site.get(original).body == icon.read_bytes()
    shown = site.get("/Modhub?game=portal").html.select(".game-icon")
    (small,) = {image["src"] for image in shown}
    assert small != original
    for image in shown:
        assert ("srcset" in image.attrs) == (int(image["width"]) > 32)
    (dense,) = {image["srcset"] for image in shown if "srcset" in image.attrs}
    for address, size in ((small, (64, 50)), (dense.removesuffix(" 2x"), (128, 100))):
        response = site.get(address)
        assert (response.headers["Content-Type"], len(response.body) < 6000) == ("image/webp", True)
        assert "immutable" in response.headers["Cache-Control"]
        assert Image.open(io.BytesIO(response.body)).size == size
    curate_game(site, "Portal", icon=icon)
    for address in (small, original):
        site.get(address, status=404)


@pytest.mark.parametrize(
    ("icon", "hue"),
    [
        ("<svg xmlns='http://www.w3.org/2000/svg'><path fill='#2b1b3d' stroke='#f2a65a'/></svg>", 5),
        ((20, 90, 220), 2),
        ((90, 90, 90), 0),
    ],
)
def test_a_game_has_the_tint_of_its_icon(site, tmp_path, icon, hue):
    path = tmp_path / "icon"
    if isinstance(icon, str):
        path.write_text(icon)
    else:
        # A spot of the colour on white and black, of which most pixels are.
        picture = Image.new("RGBA", (100, 100), (0, 0, 0, 0))
        picture.paste((0, 0, 0, 255), (0, 0, 50, 100))
        picture.paste((*icon, 255), (60, 20, 90, 80))
        picture.save(path, "PNG")
    curate_game(site, "Portal", icon=path)
    published_mod(site, games=["Portal"])
    page = site.get("/Modhub?game=portal")
    assert page.html.h1.text == "Mods for Portal"
    assert f"hue-{hue}" in page.html.body["class"]
    assert page.html.select_one(".tile")["class"] == ["tile", f"hue-{hue}"]


def test_a_mod_page_shows_related_mods_as_cards(site):
    base = published_mod(site, title="Base", games=["Portal"])
    published_mod(site, 9, "User", requires=[base["guid"]])
    published_mod(site, title="Sibling")
    hidden = published_mod(site, title="Gone", requires=[base["guid"]])
    hide_mod(site, hidden)
    page = site.get(base["url"]).html
    shown = {
        name: [card.h3.a.text for card in page.find(id=name).find_parent("section").select(".card")]
        for name in ("users", "others")
    }
    assert shown == {"users": ["User"], "others": ["Sibling"]}
