"""What a search on pages finds beside the list: descriptions and authors."""

import pytest

from modhub.db import now
from modhub_auth.models import Account
from modhub_testing.mods import hide_mod, insert_mods, published_mod

pytestmark = pytest.mark.postgres


def found(site, q, group="found-descriptions"):
    """The titles or names in a group."""
    return [link.text for link in site.get("/Modhub", {"q": q}).html.select(f"section[aria-labelledby={group}] li a")]


def test_descriptions_are_found_by_whole_words(site):
    # C-PAGE-65
    html = (
        '<h2>Größe &amp; Maße</h2><p>Some <strong>bold</strong> <a href="https://example.org/">Hotkeys</a>, wi-fi.</p>'
    )
    published_mod(site, title="Timer", description=html)
    published_mod(site, title="Other", description="<p>Some words</p>")
    for q in ("hotkeys", "HOTKEYS some", "hötkeys", "wi-fi", "größe", "Fi wi", "-hotkeys", '"hotkeys"'):
        assert found(site, q) == ["Timer"], q
    for q in ("hotkey", "strong", "href", "https", "amp", "h2", "hotkeys missing", "hotkeys OR missing", "%", "_", '"'):
        assert found(site, q) == [], q
    assert found(site, "some") == ["Other", "Timer"]
    (excerpt,) = site.get("/Modhub?q=hotkeys").html.select(".found p")
    assert excerpt.text == "Größe & Maße Some bold Hotkeys, wi-fi."
    assert excerpt.mark.text == "Hotkeys"


WRITTEN = ["½", "m²", "がんばる", "Йод", "ஔவை", "العَرَبِيَّة", "ﷺ"]


def test_words_are_found_as_they_are_written(site):
    # C-PAGE-65, C-ERR-8
    # ½ was a 500 on SQLite, where two words in one pair of quotes are an error; words of many scripts were not found.
    for number, word in enumerate(WRITTEN):
        published_mod(site, title=f"Timer {number}", description=f"<p>before {word} after</p>")
    for number, word in enumerate(WRITTEN):
        assert found(site, word) == [f"Timer {number}"], word
        assert found(site, f"missing {word}") == [], word


JOINED = [
    "装上以后可以看到生电机器的字幕。",
    "このMODはゲームの字幕をガードします",
    "메뉴의 자막을 한국어로 번역합니다",
    "แสดงคำบรรยายของม้า",
    "ສະແດງຄຳບັນຍາຍ",
    "បង្ហាញចំណងជើងរង",
    "HUD字幕",
    "𠮷野家𠮷",
]
PARTS = {
    "生电": [0],
    "字幕": [0, 1, 6],
    "幕字": [],
    "mod": [1],
    "ガード": [1],
    "カード": [],
    "한국어": [2],
    "คำบรรยาย": [3],
    "มา": [],
    "ຄຳບັນຍາຍ": [4],
    "ចំណងជើង": [5],
    "hud 字幕": [6],
    "字幕hud": [6],
    "家𠮷": [7],
}


def test_words_are_found_where_no_spaces_part_them(site):
    # C-PAGE-65
    for number, text in enumerate(JOINED):
        published_mod(site, title=f"Timer {number}", description=f"<p>{text}</p><p>" + "x" * 150 + f"{text}</p>")
    for part, numbers in PARTS.items():
        assert sorted(found(site, part)) == [f"Timer {number}" for number in numbers], part
    (marked,) = site.get("/Modhub", {"q": "번역"}).html.select(".found mark")
    assert marked.text == "번역"


def test_a_mod_that_the_title_finds_is_not_found_twice(site):
    # C-PAGE-65
    published_mod(site, title="Ghost racer", description="<p>A ghost for racers</p>")
    published_mod(site, title="Split timer", games=["Ghost Lane"], description="<p>A ghost</p>")
    published_mod(site, title="Minimap", description="<p>Shows a ghost</p>")
    assert found(site, "ghost") == ["Minimap"]
    # All of them have an address of their own.
    page = site.get("/Modhub/descriptions?q=ghost")
    assert [card.text.strip() for card in page.html.select(".card h3, .card h2")][:1] == ["Minimap"]
    assert page.html.find(id="results").text == "3 mods"


def test_groups_have_ten_entries_and_lead_to_all(site):
    # C-PAGE-65
    insert_mods(site, [{"title": f"Mod {number}", "description": "<p>hotkeys</p>"} for number in range(23)])
    page = site.get("/Modhub?q=hotkeys")
    assert len(page.html.select(".found li")) == 10
    everything = page.click("All mods with these words in their description")
    assert everything.request.path_qs == "/Modhub/descriptions?q=hotkeys"
    assert len(everything.html.select(".card")) == 20
    last = everything.click("Next")
    assert len(last.html.select(".card")) == 3
    assert 'name="robots" content="noindex"' in last.text
    assert "Enter what you are looking for" in site.get("/Modhub/descriptions")
    # With a game, on later pages and without words there are none.
    for query in ("q=hotkeys&game=Portal", "q=hotkeys&page=2", "sort=top", "q=!"):
        assert not site.get(f"/Modhub?{query}").html.select(".found")


@pytest.fixture
def people(start):
    """Accounts with names; those with a published mod are authors."""
    return start("modhub_auth")


def author(site, name, mods=1, **fields):
    with site.databases.write_session.begin() as session:
        account = Account(kind="Password", display_name=name, created_at=now())
        session.add(account)
        session.flush()
        number = int(account.id)
    insert_mods(site, [{"title": f"Of {name}", "owner": number, **fields} for _ in range(mods)])
    return number


def test_authors_are_found_by_name(people):
    # C-PAGE-65
    mira, jorg = author(people, "Mira Ångström", 3), author(people, "JÖRG mirage")
    author(people, "Nobody", 0)
    author(people, "Mira without mods", 0)
    section = people.get("/Modhub?q=mira").html.find("section", attrs={"aria-labelledby": "found-authors"})
    assert [(link["href"], link.text) for link in section.select("a")] == [
        (f"/Modhub/by/{jorg}", "JÖRG mirage"),
        (f"/Modhub/by/{mira}", "Mira Ångström"),
    ]
    assert [count.text for count in section.select(".soft")] == ["1 mod", "3 mods"]
    for q in ("angstrom mira", "mira a"):
        assert "Mira Ångström" in found(people, q, "found-authors")
    for q in ("nobody", "%", "mira jorg x"):
        assert found(people, q, "found-authors") == []
    # A new name is found at once; the last mod gone, so is the author.
    with people.databases.write_session.begin() as session:
        session.get_one(Account, jorg).display_name = "Georg"
    assert [found(people, q, "found-authors") for q in ("jorg", "georg")] == [[], ["Georg"]]
    for mod in people.get("/api/modhub?q=jorg").json["mods"]:
        hide_mod(people, mod)
    assert found(people, "georg", "found-authors") == []


def test_all_authors_of_a_name_have_an_address(people):
    # C-PAGE-65
    for number in range(10):
        author(people, f"Mira {number:02}")
    assert "All authors with this name" not in people.get("/Modhub?q=mira")
    for number in range(10, 23):
        author(people, f"Mira {number:02}")
    page = people.get("/Modhub?q=mira")
    assert len(page.html.select(".found-authors li")) == 10
    everything = page.click("All authors with this name")
    assert everything.request.path_qs == "/Modhub/authors?q=mira"
    assert [everything.html.find(id="results").text, len(everything.html.select(".found-authors li"))] == [
        "23 authors",
        20,
    ]
    assert [item.a.text for item in everything.click("Next").html.select(".found-authors li")] == [
        "Mira 20",
        "Mira 21",
        "Mira 22",
    ]
