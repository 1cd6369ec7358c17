"""The feature API: a small feature is enabled by one ini line, and removed again."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from pyramid.exceptions import ConfigurationConflictError

import modhub
from modhub.base.identity import CredentialKind
from modhub.base.service_registry import find_service
from modhub.base.settings import Setting, StartRefused, text
from modhub.db import Databases
from modhub.plugins.commands import AdminCommand
from modhub.plugins.resources import IApi, IMod
from modhub_testing import TEST_SECRET, Site, Start
from modhub_testing.mods import mod_address, new_mod, published_mod

pytestmark = pytest.mark.slow

ACCOUNTS = "modhub_testing.accounts"
FEATURE = "modhub_ratings"
BOTH = f"{ACCOUNTS} {FEATURE}"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The feature can be imported, as after ``pip install``."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "plugin"))


def site_url(start: Start) -> str:
    """The address of a fresh database with the core's schema."""
    return str(start().registry.settings["sqlalchemy.url"])


def test_it_has_calls_of_an_author_and_cards_in_its_own_order(installed: None, start: Start) -> None:
    site = start(BOTH)
    mods = [published_mod(site) for _ in range(3)]
    site.as_account(7).post_json(mod_address(mods[0], "remarks"), {"text": "own"}, status=201)
    assert site.as_account(7).get("/api/modhub/authors/7/remarks").json == {"remarks": ["own"]}
    refused = [site.as_account(8).get(f"/api/modhub/authors/{of}/remarks", status=401) for of in (7, 9, "x")]
    assert len({answer.body for answer in refused}) == 1
    new_mod(site)
    page = site.get("/Modhub/by/7").html
    shown = [card["href"] for card in page.select("#oldest .card a[href]") if card["href"].count("/") == 2]
    assert list(dict.fromkeys(shown)) == [f"/Modhub/{mod['id']}" for mod in mods]


def test_it_brings_a_language_with_three_plural_forms(installed: None, start: Start) -> None:
    polish = {"Accept-Language": "pl, en;q=0.5"}
    site = start(BOTH)
    counted = []
    for _ in range(5):
        published_mod(site)
        page = site.get("/Modhub?sort=new", headers=polish).html
        counted.append(page.find(id="results").text)
    assert counted == ["1 mod", "2 mody", "3 mody", "4 mody", "5 modów"]
    assert (page.html["lang"], page.select_one("form.finder button").text.strip()) == ("pl", "Szukaj")
    # What it does not translate is English.
    assert "Recently updated" in page.text
    without = start(ACCOUNTS, url=str(site.registry.settings["sqlalchemy.url"]))
    page = without.get("/Modhub?sort=new", headers=polish).html
    assert (page.html["lang"], page.find(id="results").text) == ("en", "5 mods")


def test_what_belongs_to_one_account_is_closed_to_everybody_else(installed: None, start: Start) -> None:
    site = start(BOTH)
    mod = published_mod(site)
    url = mod_address(mod, "remarks")
    remark = site.as_account(7).post_json(url, {"text": "mine"}, status=201).json["id"]
    other = mod_address(published_mod(site), "remarks", remark)
    refused_addresses = [f"{url}/{remark}", f"{url}/{remark + 1}", f"{url}/x", other]
    strangers = [site.as_account(8).delete(address, status=401) for address in refused_addresses]
    anonymous = [site.delete(address, status=401) for address in refused_addresses]
    assert {answer.body for answer in strangers + anonymous} == {strangers[0].body}
    assert {without_request_id(answer) for answer in strangers + anonymous} == {without_request_id(strangers[0])}
    assert {answer.status_int for answer in map(owner_of(site), refused_addresses[1:])} == {401}
    assert site.get(url).json == {"remarks": ["mine"]}
    site.as_account(7).delete(f"{url}/{remark}", status=200)
    assert site.get(url).json == {"remarks": []}


def without_request_id(answer: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in answer.headers.items() if name != "X-Request-Id"))


def owner_of(site: Site) -> Any:
    return lambda address: site.as_account(7).delete(address, expect_errors=True)


def test_what_a_panel_gives_is_text_unless_it_is_markup(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    places = ("navigation", "notice", "mod", "footer")

    def includeme(config: Any) -> None:
        config.include("modhub")
        for place in places:
            config.add_panel(place, "text", lambda *_: "<script>alert(1)</script>")
            config.add_panel(place, "markup", lambda *_: Markup("<i>slanted</i>"))
            config.add_panel(place, "nothing", lambda *_: None)

    feature_module(monkeypatch, "modhub_shouting", includeme)
    site = start(f"{ACCOUNTS} modhub_shouting", url=site_url(start))
    shown = site.get(f"/Modhub/{published_mod(site)['id']}").text
    assert "<script>alert(1)" not in shown
    assert shown.count("&lt;script&gt;alert(1)&lt;/script&gt;") == shown.count("<i>slanted</i>") == len(places)
    assert ">None<" not in shown


def test_a_panel_at_a_place_that_no_page_has_is_a_sentence(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def includeme(config: Any) -> None:
        config.include("modhub")
        config.add_panel("mods", "reports", lambda *_: None)

    feature_module(monkeypatch, "modhub_misplaced", includeme)
    with pytest.raises(StartRefused, match="no page has a place mods for the panel reports; places are navigation, "):
        start("modhub_misplaced")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"migrations": "odd_"}, "modhub_odd declares migrations, but has no folder of that name"),
        ({"change_kinds": ("a kind that is too long",)}, "the kind of changes a kind that is too long has more than"),
    ],
)
def test_what_a_feature_cannot_declare_is_a_sentence(
    start: Start, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], sentence: str
) -> None:
    def includeme(config: Any) -> None:
        config.include("modhub")
        config.add_feature("modhub_odd", "Odd", **arguments)

    feature_module(monkeypatch, "modhub_odd", includeme)
    with pytest.raises(StartRefused, match=sentence):
        start("modhub_odd")


COLUMN: dict[str, Any] = {"mod_id": None, "value": None}
UNUSABLE = {
    "a parameter of lists": ({"name": "page"}, "a column of mods cannot be called page"),
    "a capital": ({"name": "Tag"}, "a column of mods cannot be called Tag"),
    "a row without an order": ({"name": "age", "row": "Oldest"}, "the column age has a row of the front, but no order"),
    "a filter without labels": ({"name": "age", "filter": ("Age", "All")}, "the column age needs both"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_column_is_a_sentence(start: Start, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    arguments, sentence = UNUSABLE[case]

    def includeme(config: Any) -> None:
        config.include("modhub")
        config.add_mod_column(**arguments, **COLUMN)

    feature_module(monkeypatch, "modhub_columns", includeme)
    with pytest.raises(StartRefused, match=sentence):
        start("modhub_columns")


CLAIMS: dict[str, Any] = {
    "child": lambda config: config.add_child(IMod, "same", lambda *_: None),
    "core's child": lambda config: config.add_child(IMod, "changelog", lambda *_: None),
    "feature": lambda config: config.add_feature("same", "Same"),
    "command": lambda config: config.add_command(AdminCommand("same", "", lambda _: None, lambda *_: 0)),
    "core's command": lambda config: config.add_command(AdminCommand("migrate", "", lambda _: None, lambda *_: 0)),
    "scope": lambda config: config.add_scope("Modhub:same", "same"),
    "credential": lambda config: config.add_credential(CredentialKind.ACCOUNT, IApi, object()),
    "core's credential": lambda config: config.add_credential(CredentialKind.MACHINE, IApi, object()),
    "panel": lambda config: config.add_panel("mod", "same", lambda *_: None),
    "mod column": lambda config: config.add_mod_column("same", **COLUMN),
    "check": lambda config: config.add_check("same", lambda *_: []),
    "core's check": lambda config: config.add_check("database", lambda *_: []),
    "core's table prefix": lambda config: config.add_feature("modhub", "Same", migrations="core_"),
    "blob store": lambda config: config.add_blob_store("same", lambda *_, **__: None),
    "core's blob store": lambda config: config.add_blob_store("FILE", lambda *_, **__: None),
    "setting": lambda config: config.add_feature("same", "Same", settings=[Setting("same.x", text, "", "x")]),
    "body limit": lambda config: config.add_body_limit("POST", "/api/same", 5),
    "view": lambda config: config.add_view(
        lambda *_: None, context=IMod, name="same", is_api=True, request_method="GET"
    ),
}


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_two_features_that_claim_one_name_conflict(
    claim: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dialect: str
) -> None:
    names = ["claiming_one"] if claim.startswith("core's") else ["claiming_one", "claiming_two"]
    for name in names:
        module = types.ModuleType(name)

        def include(config: Any) -> None:
            config.include("modhub")
            CLAIMS[claim](config)

        module.includeme = include  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
    settings = {"sqlalchemy.url": f"sqlite:///{tmp_path}/x.sqlite", "modhub.secret": TEST_SECRET}
    with pytest.raises(ConfigurationConflictError) as conflict:
        modhub.configure({**settings, "pyramid.includes": " ".join(names)})
    assert "test_core_feature" in str(conflict.value)


def feature_module(monkeypatch: pytest.MonkeyPatch, name: str, includeme: Any) -> None:
    module = types.ModuleType(name)
    module.includeme = includeme  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, name, module)


def refused(tmp_path: Path, includes: str) -> str:
    settings = {"sqlalchemy.url": f"sqlite:///{tmp_path}/x.sqlite", "modhub.secret": TEST_SECRET}
    with pytest.raises(StartRefused) as refusal:
        modhub.configure({**settings, "pyramid.includes": includes})
    return str(refusal.value)


def test_a_feature_named_twice_stops_the_start(installed: None, tmp_path: Path) -> None:
    message = refused(tmp_path, f"{FEATURE}\n{ACCOUNTS}\n{FEATURE}")
    assert message == f"pyramid.includes names {FEATURE} twice"


def test_a_feature_says_which_module_it_misses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "modhub_needy.py").write_text("import modhub_auth_of_another_house.parts\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    message = refused(tmp_path, "modhub_needy")
    assert message == "modhub_needy needs the Python module modhub_auth_of_another_house, which is not installed"


def test_an_unknown_feature_is_a_sentence(tmp_path: Path) -> None:
    message = refused(tmp_path, "json.decoder")
    assert message.startswith("pyramid.includes names json.decoder, which is not a feature: ")
    assert "\n" not in message


def test_a_feature_declares_which_other_it_needs(
    installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def includeme(config: Any) -> None:
        config.include("modhub")
        config.add_feature("modhub_needy", "Needy", requires=(FEATURE,))

    feature_module(monkeypatch, "modhub_needy", includeme)
    sentence = f"modhub_needy needs {FEATURE}: name it before modhub_needy in pyramid.includes"
    assert refused(tmp_path, "modhub_needy") == sentence
    assert refused(tmp_path, f"modhub_needy {FEATURE}") == sentence
    settings = {"sqlalchemy.url": f"sqlite:///{tmp_path}/x.sqlite", "modhub.secret": TEST_SECRET}
    config = modhub.configure({**settings, "pyramid.includes": f"{FEATURE} modhub_needy"})
    find_service(config.registry, Databases).dispose()
