"""Translations: German is complete and not stale; readers get the language they ask for."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import modhub
from modhub.ui.i18n import Catalogs
from modhub.ui.template_helpers import format_age
from modhub_testing.mods import published_mod

HERE = Path(modhub.__file__).parent


def test_the_reader_chooses(site):
    assert site.get("/Modhub").html.html["lang"] == "en"
    for header, language in (
        ("", "en"),
        ("de-AT,de;q=0.9", "de"),
        ("fr, de;q=0.5, en;q=0.4", "de"),
        ("en-GB, de;q=0.5", "en"),
        ("de;q=0, en;q=0.1", "en"),
        ("xx", "en"),
        ("\x00de;;;q=9" * 100, "en"),
    ):
        page = site.get("/Modhub", headers={"Accept-Language": header})
        assert page.html.html["lang"] == language, header
    page = site.get(published_mod(site)["url"], headers={"Accept-Language": "de"})
    assert ("Herunterladen" in page, "gerade eben" in page) == (True, True)
    assert site.get("/Modhub/0", status=404, headers={"Accept-Language": "de"}).html.h1.text == "Seite nicht gefunden"


POLISH = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\n"

msgid "%(num)s file"
msgid_plural "%(num)s files"
msgstr[0] "%(num)s plik"
msgstr[1] "%(num)s pliki"
msgstr[2] "%(num)s plików"

msgid "Search"
msgstr "Szu"
"kaj"

msgid "Untranslated"
msgstr ""

#, fuzzy
msgid "Guessed"
msgstr "Zgadnięte"
"""


def written(folder, language, source):
    path = folder / language / "LC_MESSAGES" / "messages.po"
    path.parent.mkdir(parents=True)
    path.write_text(source, "utf-8")
    # What a compiler left here long ago is no matter.
    path.with_suffix(".mo").write_bytes(b"stale")
    return folder


def test_a_language_may_have_three_plural_forms(tmp_path):
    languages = Catalogs()
    languages.load([str(written(tmp_path, "pl", POLISH))])
    polish = languages.choose("pl-PL, de;q=0.5")
    counted = [polish.ngettext("%(num)s file", "%(num)s files", number) for number in (1, 2, 5, 22, 112, 1000, 12345)]
    assert counted == ["1 plik", "2 pliki", "5 plików", "22 pliki", "112 plików", "1\xa0000 plików", "12\xa0345 plików"]
    assert [polish.gettext(text) for text in ("Search", "Untranslated", "Guessed", "Unknown", "")] == [
        *("Szukaj", "Untranslated", "Guessed", "Unknown", "")
    ]


def test_what_cannot_be_read_is_named(tmp_path):
    folder = written(tmp_path, "fr", 'msgid "x"\nnonsense')
    with pytest.raises(ValueError, match=r"fr/LC_MESSAGES/messages\.po: .* on 1"):
        Catalogs().load([str(folder)])


def test_a_folder_overrides_those_before_it_and_a_region_its_language(tmp_path):
    first = written(tmp_path / "1", "pt_BR", 'msgid "a"\nmsgstr "1"\n\nmsgid "b"\nmsgstr "1"\n')
    second = written(tmp_path / "2", "pt_BR", 'msgid "a"\nmsgstr "2"\n')
    languages = Catalogs()
    languages.load([str(first), str(second)])
    brazilian = languages.choose("pt-BR")
    assert (brazilian.language, brazilian.locale_name) == ("pt-BR", "pt_BR")
    assert (brazilian.gettext("a"), brazilian.gettext("b")) == ("2", "1")
    # Of a language that CLDR does not know numbers are written as in English.
    languages.load([str(written(tmp_path / "3", "xx", 'msgid "a"\nmsgstr "b"\n'))])
    assert languages.choose("xx").number(12345) == "12,345"


@pytest.mark.parametrize(
    ("seconds", "english", "german"),
    [
        (59, "just now", "gerade eben"),
        (60, "1 minute ago", "vor 1 Minute"),
        (86399, "23 hours ago", "vor 23 Stunden"),
        (29 * 86400, "29 days ago", "vor 29 Tagen"),
        (364 * 86400, "12 months ago", "vor 12 Monaten"),
        (2 * 365 * 86400, "2 years ago", "vor 2 Jahren"),
    ],
)
def test_an_age_is_shown_in_its_largest_unit(seconds, english, german):
    now = datetime(2026, 11, 21, tzinfo=UTC)
    languages = Catalogs()
    languages.load([str(HERE / "locale")])
    ages = [format_age(now - timedelta(seconds=seconds), now, languages.translations[name]) for name in ("en", "de")]
    assert ages == [english, german]
