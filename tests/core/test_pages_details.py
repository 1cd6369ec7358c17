"""What authors type into a mod's details: mods by title or address, games with commas, text as a description."""

import pytest

from modhub.catalogue.pages.cards import CuratedGames
from modhub.catalogue.pages.typed_details import split_games
from modhub_testing.mods import new_mod, published_mod
from modhub_testing.pages import form_at, make_mod_by_form, workshop_form
from tests.owning import curate_game, own_mods, save_details

pytestmark = pytest.mark.slow

ELSEWHERE = "https://elsewhere.example/Modhub/1"
"""Another site has other mods by the same numbers."""


def own(site, mod):
    (mine,) = (entry for entry in own_mods(site) if entry["id"] == mod["id"])
    return mine


@pytest.mark.postgres
def test_mods_are_named_by_title_address_or_guid(site, author):
    # C-PAGE-16
    kit = published_mod(site, owner=8, title="Overlay Kit")
    bars = published_mod(site, owner=8, title="Bars, big and bold")
    timer = published_mod(site, owner=8, title="Split Timer")
    draft, another = new_mod(site, title="My draft"), new_mod(site, title="My draft 2")
    mod = new_mod(site, title="Ghost Racer")
    own_host = site.registry.settings["modhub.base_url"]
    lines = [" overlay KIT ", f"{own_host}/Modhub/{bars['id']}?q=1", timer["guid"], f"/Modhub/mine/{draft['id']}"]
    save_details(site, mod, requires="\n".join(lines), conflictsWith="my DRAFT 2")
    assert own(site, mod)["requires"] == [kit["guid"], bars["guid"], timer["guid"], draft["guid"]]
    assert own(site, mod)["conflictsWith"] == [another["guid"]]
    page = author.get(f"/Modhub/mine/{mod['id']}")
    assert page.html.find(id="requires").text.strip().split("\n")[0] == f"Overlay Kit – {kit['guid']}"
    before = own(site, mod)
    save_details(site, mod)
    assert own(site, mod) == before


def test_what_is_unknown_or_ambiguous_is_said_beside_the_field(site, author):
    # C-PAGE-16
    for _ in range(2):
        published_mod(site, owner=8, title="Twice")
    mod, hidden = new_mod(site, title="Mine"), new_mod(site, owner=8, title="A secret draft")
    errors = {}
    for entry in ("Twice", "A secret draft", "Never heard of", f"/Modhub/{hidden['id']}", "/Modhub/999999", ELSEWHERE):
        page = save_details(site, mod, 400, requires=entry).html
        errors[entry] = page.find(id="requires-error").text.replace(entry, "…")
        assert page.find(id="requires").text.strip() == entry
    assert errors.pop("Twice").startswith("Several mods")
    assert len(set(errors.values())) == 1
    # A stranger's draft is like any GUID.
    save_details(site, mod, requires=hidden["guid"])
    assert "secret" not in author.get(f"/Modhub/mine/{mod['id']}").text


def test_a_curated_game_is_known_by_the_name_that_pages_show(site, author):
    # C-PAGE-16: the list beside the field shows that name
    curate_game(site, "moss and iron", "Moss, Stone & Iron")
    curate_game(site, "Iron", "Portal")
    curate_game(site, "Portal", "Portal (2007)")
    page = make_mod_by_form(author, games="MOSS, Stone & Iron\nPortal")
    mod = {"id": int(page.request.path.rpartition("/")[2])}
    assert own(site, mod)["games"] == ["moss and iron", "Portal"]


@pytest.mark.parametrize(
    ("lines", "games"),
    [
        (["Warhammer 40,000: Dawn, Doom,"], ["Warhammer 40,000: Dawn", "Doom"]),
        (["Cats, Dogs"], ["Cats, Dogs"]),
        (["Hello, Neighbor", "Doom,", "Cats, Dogs"], ["Hello, Neighbor", "Doom", "Cats, Dogs"]),
        ([","], []),
    ],
)
def test_only_a_single_line_is_split_at_commas(lines, games):
    # C-PAGE-16
    assert split_games(lines, ["cats, dogs"], CuratedGames(())) == games


def test_a_preview_shows_what_visitors_will_see_and_saves_nothing(site, author):
    # C-PAGE-16
    mod = new_mod(site, title="Calm")
    here = f"/Modhub/mine/{mod['id']}"
    form = workshop_form(author, here)
    form["title"] = "Another title"
    form["description"] = '<h2>Hello</h2><marquee>you</marquee><script>alert(1)</script><p onclick="x">there</p>'
    page = form.submit("preview", value="yes", status=200)
    shown = page.html.select_one(".preview .prose")
    assert "".join(shown.text.split()) == "Helloyouthere"
    assert not shown.find_all(["script", "marquee"])
    assert [code.text for code in page.html.select(".preview .note code")] == ["marquee", "script", "onclick"]
    assert form_at(page, here)["title"].value == "Another title"
    assert own(site, mod)["title"] == "Calm"


def test_a_name_with_a_comma_that_the_mod_has_stays(site):
    # C-PAGE-16
    mod = new_mod(site, games=["Me, Myself"])
    save_details(site, mod, title="Another")
    assert own(site, mod)["games"] == ["Me, Myself"]
