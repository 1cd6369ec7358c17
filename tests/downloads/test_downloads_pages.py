"""What a mod's page and the workshop show."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert

from modhub_downloads.models import ModDownloads
from modhub_testing.mods import hide_mod, new_mod, published_mod, upload_asset
from tests.people import write

from .conftest import count

pytestmark = pytest.mark.slow

DEFINITION = (
    "Downloads of the mod's file, counted once per visitor, version and day (UTC) when the file is sent from its "
    "beginning; a visitor is a network address, and no address is stored."
)
OWNER_COOKIE = {"Cookie": "account=7"}


def words(element):
    return " ".join(element.text.split())


def test_the_page_says_how_often(site):
    # C-DL-4
    mod = published_mod(site, version="1.4")
    # A number that says nothing is left out.
    assert "In all" not in site.get(mod["url"])
    write(site, insert(ModDownloads).values(mod_id=mod["id"], downloads=1204))
    assert said(site, mod, "en") == "1,204 downloads"
    assert said(site, mod, "de") == "1.204 Downloads"


def said(site, mod, language):
    page = site.get(mod["url"], headers={"Accept-Language": language}).html
    return words(page.select_one(".mod-box > .facts-list div:last-child dd"))


@pytest.mark.postgres
def test_an_author_has_the_downloads_of_all_their_mods(site):
    # C-OWN-11
    first, second, hidden, _uncounted = (published_mod(site) for _ in range(4))
    other = published_mod(site, owner=8)
    numbers = {first["id"]: 1200, second["id"]: 4, hidden["id"]: 50, other["id"]: 7, 10**6: 10**6}
    assert site.get("/Modhub/by/7").html.select(".totals") == []
    write(site, insert(ModDownloads).values([*numbers.items()]))
    hide_mod(site, hidden)
    with site.counted() as statements:
        page = site.get("/Modhub/by/7").html
    assert words(page.select_one(".totals")) == "1,204 downloads"
    # In the statement that counts the mods.
    assert sum("downloads_mod" in statement for statement in statements) == 1


def test_the_owner_sees_days_and_versions(site):
    # C-DL-4
    mod = published_mod(site, version="1")
    upload_asset(site, mod, "code", version="2", name="a.zip")
    count(site, mod["id"], (40, 7), (29, 2))
    count(site, mod["id"], (3, 6), (0, 3), version="2")
    page = site.get(f"/Modhub/mine/{mod['id']}?part=details", headers=OWNER_COOKIE).html
    section = page.select_one('[aria-labelledby="downloads"]')
    assert "18 downloads; 11 in the last 30 days." in words(section)
    assert DEFINITION in words(section)
    versions, days = section.select("table")
    cells = [[words(cell) for cell in row.select("th, td")] for row in versions.select("tbody tr")]
    assert cells == [["2", "9", "9"], ["1", "2", "9"]]
    rows = days.select("tbody tr")
    assert len(rows) == 30
    numbers = [int(row.td.text) for row in rows]
    assert (numbers[0], numbers[3], numbers[29], sum(numbers)) == (3, 6, 2, 11)
    first = datetime.now(UTC).date()
    stamps = [row.time["datetime"][:10] for row in rows]
    assert stamps == [str(first - timedelta(days=ago)) for ago in range(30)]
    assert [meter["value"] for meter in days.select("meter")] == ["3", "6", "2"]
    assert {meter["max"] for meter in days.select("meter")} == {"6"}
    assert site.get(f"/Modhub/mine/{mod['id']}", headers={"Cookie": "account=8"}, status="*").status_int != 200


@pytest.mark.parametrize("state", ["draft", "hidden"])
def test_what_not_everybody_sees_shows_no_counts(site, state):
    # C-OWN-11
    mod = new_mod(site) if state == "draft" else published_mod(site)
    count(site, mod["id"], (0, 5))
    if state == "hidden":
        hide_mod(site, mod)
    for address in (f"/Modhub/mine/{mod['id']}", f"/Modhub/mine/{mod['id']}/preview"):
        page = site.get(address, headers=OWNER_COOKIE).html
        assert page.select('.downloads, [aria-labelledby="downloads"]') == []
