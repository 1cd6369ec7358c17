"""Installing a mod from its page: what it takes is said at the button, and how, in three steps."""

import uuid

import pytest

from modhub.base.settings import StartRefused, url_scheme
from modhub_testing.mods import OWNER, insert_mods, new_mod, published_mod, upload_asset
from modhub_testing.pages import messages_on, new_visitor

pytestmark = pytest.mark.slow

ABSENT = "01234567-89ab-cdef-0123-456789abcdef"
OTHER_ABSENT = "11234567-89ab-cdef-0123-456789abcdef"


def chain_of(site, length):
    """The ids of mods each of which requires the next."""
    guids = [str(uuid.uuid4()) for _ in range(length)]
    needed = [*([guid] for guid in guids[1:]), []]
    return insert_mods(site, [{"guid": guid, "requires": each} for guid, each in zip(guids, needed, strict=True)])


def test_the_button_says_what_else_a_mod_takes(site):
    kit = published_mod(site, title="Kit")
    upload_asset(site, kit, "code", b"x" * 3000, version="2")
    bars = published_mod(site, title="Bars", requires=[kit["guid"]])
    upload_asset(site, bars, "code", b"x" * 2000, version="2")
    race = published_mod(site, title="Race", requires=[bars["guid"], ABSENT], conflictsWith=[kit["guid"], OTHER_ABSENT])
    page = site.get(race["url"])
    beside = [line.text.replace("\u00a0", " ") for line in page.html.select(".download-help a[href='#install']")]
    assert beside == ["Needs 2 mods (4.9 KB)", "1 required mod is not on this site", "Conflicts with 2 mods"]
    assert page.html.find(id="install")
    buttons = [button["href"] for button in page.html.select(".chain li a.button")]
    assert buttons == [f"/api/modhub/{mod['id']}/download" for mod in (kit, bars)]
    page = site.get(bars["url"])
    (needs, archive, how) = page.html.select(".download-help li")
    assert (words(needs), needs.a["href"]) == ("Needs Kit", kit["url"])
    assert (archive.text, how.a["href"]) == ("both as one zip", f"{bars['url']}/install")
    # Nothing is said that is not so.
    page = site.get(kit["url"])
    assert [words(item) for item in page.html.select(".download-help li")] == ["How to install"]
    assert page.html.find(id="install") is None


def test_a_long_chain_is_listed_in_part(site):
    # T-D20
    ids = chain_of(site, 130)
    for at, hidden in ((29, 0), (0, 29)):
        page = site.get(f"/Modhub/{ids[at]}")
        rows = page.html.select(".chain li")
        assert len(rows) == 101 + (hidden > 0)
        assert ("chain_is_longer" in messages_on(page)) == (hidden > 0)
        beside = page.html.select_one(".download-help a[href='#install']").text
        assert beside.startswith(f"Needs {100 + hidden} mods")
    assert rows[-2].text == "29 more"
    assert rows[-1]["value"] == "130"


def test_a_mod_opens_in_the_app(start):
    # C-PAGE-23
    site = start("modhub_testing.accounts")
    mod, draft = published_mod(site), new_mod(site)
    upload_asset(site, draft, "code", version="1")
    link = site.get(mod["url"]).html.select_one(".mod-side a[href*='://install/']")
    assert (link["href"], link.text) == (f"modhub://install/{mod['guid']}", "Open in the app")
    preview = new_visitor(site, OWNER).get(f"/Modhub/mine/{draft['id']}/preview")
    assert "://install/" not in preview.text
    site = start("modhub_testing.accounts", modhub__install_scheme="Overlay+1")
    mod = published_mod(site)
    assert f'"overlay+1://install/{mod["guid"]}"' in site.get(mod["url"]).text
    site = start("modhub_testing.accounts", modhub__install_scheme="")
    assert "://install/" not in site.get(published_mod(site)["url"]).text


def test_a_page_says_how_to_install(start):
    # C-PAGE-23
    site = start("modhub_testing.accounts modhub_builds", modhub__base_url="https://mods.example.org")
    mod = published_mod(site, title="<b>Bars</b>")
    beside = site.get(mod["url"]).html.select(".download-help a")
    address = f"{mod['url']}/install"
    assert beside[0]["data-help"] == address
    page = site.get(address).html
    links = [link["href"] for link in page.select("main a")]
    expected = [mod["url"], "/Modhub/App", f"modhub://install/{mod['guid']}", f"/api/modhub/{mod['id']}/download"]
    assert links == expected
    command = f"modhub-get --url https://mods.example.org install {mod['guid']} --into mods"
    assert page.find("code").text == command


def words(element):
    return " ".join(element.text.split())


def test_the_page_fits_what_the_mod_takes(site):
    # C-PAGE-23
    kit = published_mod(site, title="Kit")
    race = published_mod(site, title="Race", requires=[kit["guid"]])
    lacks = published_mod(site, title="Lacks", requires=[kit["guid"], ABSENT])
    long = chain_of(site, 220)[0]

    def by_hand(address):
        page = site.get(f"{address}/install").html
        return [link["href"] for link in page.select("main a") if "://" not in link["href"]][1:]

    assert by_hand(kit["url"]) == [f"/api/modhub/{kit['id']}/download"]
    assert by_hand(race["url"]) == [f"/Modhub/{race['id']}/everything.zip"]
    assert by_hand(lacks["url"]) == [f"{lacks['url']}#install", f"{lacks['url']}#install"]
    assert by_hand(f"/Modhub/{long}") == []


def test_a_scheme_is_an_apps_own(start):
    # C-PAGE-23
    for scheme in ("HTTPS", "data", "modhub:", "módhub"):
        with pytest.raises(ValueError, match="must be the scheme of an app's links"):
            url_scheme(scheme)
    with pytest.raises(StartRefused, match=r"modhub\.install_scheme must be"):
        start("", modhub__install_scheme="javascript")
