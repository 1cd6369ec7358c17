"""The feature API: a small feature is enabled by one ini line, and removed again."""

import sys
import types

import pytest
from markupsafe import Markup
from pyramid.exceptions import ConfigurationConflictError

import modhub
from modhub.base.identity import CredentialKind
from modhub.base.settings import StartRefused
from modhub.plugins.resources import IApi, IMod
from modhub_testing.mods import published_mod

pytestmark = pytest.mark.slow

ACCOUNTS = "modhub_testing.accounts"
POLISH_FEATURE = """
def includeme(config):
    config.include("modhub")
    config.add_feature("modhub_polish", "Polish")
"""
POLISH = r"""
msgid ""
msgstr ""
"Language: pl\n"
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\n"

msgid "Search"
msgstr "Szukaj"

msgid "%(num)s mod"
msgid_plural "%(num)s mods"
msgstr[0] "%(num)s mod"
msgstr[1] "%(num)s mody"
msgstr[2] "%(num)s modów"
"""


def site_url(start):
    """The address of a fresh database with the core's schema."""
    return str(start().registry.settings["sqlalchemy.url"])


def test_it_brings_a_language_with_three_plural_forms(start, tmp_path, monkeypatch):
    catalogue = tmp_path / "modhub_polish" / "locale" / "pl" / "LC_MESSAGES" / "messages.po"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_text(POLISH, "utf-8")
    (tmp_path / "modhub_polish" / "__init__.py").write_text(POLISH_FEATURE, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "modhub_polish", raising=False)
    polish = {"Accept-Language": "pl, en;q=0.5"}
    site = start(f"{ACCOUNTS} modhub_polish", url=site_url(start))
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


def test_what_a_panel_gives_is_text_unless_it_is_markup(start, monkeypatch):
    places = ("navigation", "notice", "mod", "footer")

    def declare(config):
        for place in places:
            config.add_panel(place, "text", lambda *_: "<script>alert(1)</script>")
            config.add_panel(place, "markup", lambda *_: Markup("<i>slanted</i>"))
            config.add_panel(place, "nothing", lambda *_: None)

    feature_module(monkeypatch, "modhub_shouting", declare)
    site = start(f"{ACCOUNTS} modhub_shouting", url=site_url(start))
    shown = site.get(f"/Modhub/{published_mod(site)['id']}").text
    assert "<script>alert(1)" not in shown
    assert shown.count("&lt;script&gt;alert(1)&lt;/script&gt;") == shown.count("<i>slanted</i>") == len(places)
    assert ">None<" not in shown


COLUMN = {"mod_id": None, "value": None}
UNUSABLE = {
    "a panel at a place that no page has": (
        lambda config: config.add_panel("mods", "reports", lambda *_: None),
        "no page has a place mods for the panel reports; places are navigation, ",
    ),
    "migrations without a folder": (
        lambda config: config.add_feature("modhub_odd", "Odd", migrations="odd_"),
        "modhub_odd declares migrations, but has no folder of that name",
    ),
    "a long kind of changes": (
        lambda config: config.add_feature("modhub_odd", "Odd", change_kinds=("a kind that is too long",)),
        "the kind of changes a kind that is too long has more than",
    ),
    "a column as a parameter of lists": (
        lambda config: config.add_mod_column("page", **COLUMN),
        "a column of mods cannot be called page",
    ),
    "a column with a capital": (
        lambda config: config.add_mod_column("Tag", **COLUMN),
        "a column of mods cannot be called Tag",
    ),
    "a row without an order": (
        lambda config: config.add_mod_column("age", row="Oldest", **COLUMN),
        "the column age has a row of the front, but no order",
    ),
    "a filter without labels": (
        lambda config: config.add_mod_column("age", filter=("Age", "All"), **COLUMN),
        "the column age needs both",
    ),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_a_feature_cannot_declare_is_a_sentence(good, monkeypatch, case):
    declare, sentence = UNUSABLE[case]
    feature_module(monkeypatch, "modhub_odd", declare)
    assert sentence in refused(good, "modhub_odd")


CLAIMS = {
    "child": lambda config: config.add_child(IMod, "same", lambda *_: None),
    "feature": lambda config: config.add_feature("same", "Same"),
    "credential": lambda config: config.add_credential(CredentialKind.ACCOUNT, IApi, object()),
    "core's table prefix": lambda config: config.add_feature("modhub", "Same", migrations="core_"),
    "blob store": lambda config: config.add_blob_store("same", lambda *_, **__: None),
    "body limit": lambda config: config.add_body_limit("POST", "/api/same", 5),
    "view": lambda config: config.add_view(
        lambda *_: None, context=IMod, name="same", is_api=True, request_method="GET"
    ),
}


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_two_features_that_claim_one_name_conflict(claim, monkeypatch, good):
    names = ["claiming_one"] if claim.startswith("core's") else ["claiming_one", "claiming_two"]
    for name in names:
        feature_module(monkeypatch, name, CLAIMS[claim])
    with pytest.raises(ConfigurationConflictError) as conflict:
        modhub.configure({**good, "pyramid.includes": " ".join(names)})
    assert "test_core_feature" in str(conflict.value)


def feature_module(monkeypatch, name, declare):
    def includeme(config):
        config.include("modhub")
        declare(config)

    module = types.ModuleType(name)
    module.includeme = includeme
    monkeypatch.setitem(sys.modules, name, module)


def refused(settings, includes):
    with pytest.raises(StartRefused) as refusal:
        modhub.configure({**settings, "pyramid.includes": includes})
    return str(refusal.value)


def test_an_unknown_feature_is_a_sentence(good):
    message = refused(good, "json.decoder")
    assert message.startswith("pyramid.includes names json.decoder, which is not a feature: ")
    assert "\n" not in message


def test_a_service_that_nobody_registers_is_named(start):
    with pytest.raises(LookupError, match="no package registers a service of the kind Markup"):
        start().find_service(Markup)
