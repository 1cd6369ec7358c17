"""Every catalogue has exactly the texts of templates and code, all translated."""

import re
import tomllib
from pathlib import Path

import pytest

from modhub_testing.messages import KEYWORDS, catalog_faults, translated_texts, used_messages

ROOT = Path(__file__).parents[2]
PARTS = sorted(path.parent for path in ROOT.glob("modhub*/pyproject.toml") if path.parent.name != "modhub_testing")
CATALOGS = [(part, path.parts[-3]) for part in PARTS for path in part.glob("locale/*/LC_MESSAGES/messages.po")]
HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\nPlural-Forms: nplurals=2; plural=n != 1;\\n"\n'


@pytest.mark.parametrize(("part", "language"), CATALOGS, ids=lambda value: getattr(value, "name", value))
def test_a_catalogue_is_complete_and_nothing_in_it_is_stale(part: Path, language: str) -> None:
    assert catalog_faults(part, language) == [], "run `make messages` and translate what it added"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_part_that_says_something_has_its_german(part: Path) -> None:
    assert not used_messages(part) or (part, "de") in CATALOGS


def test_a_text_of_several_parts_means_the_same_in_all_of_them() -> None:
    meanings: dict[str, set[tuple[str, ...]]] = {}
    for part, language in CATALOGS:
        if language == "de":
            for text, translated in translated_texts(part, language).items():
                meanings.setdefault(text, set()).add(translated)
    assert {text: several for text, several in meanings.items() if len(several) > 1} == {}


def test_a_mod_is_feminine_in_german() -> None:
    # As the glossary has it: "die Mod". A masculine one is "der", "ein", "dieser" as a subject, or ends in -n and -m.
    masculine = re.compile(r"\b(?:[dk]?einen|d?einem|den|dem|diese[nm]|jede[nm]|Der|Dieser|[DK]?[Ee]in|Jeder) Mod\b")
    masculine_texts = [
        text
        for part, language in CATALOGS
        if language == "de"
        for texts in translated_texts(part, language).values()
        for text in texts
        if masculine.search(text)
    ]
    assert masculine_texts == []


def test_make_extracts_what_the_tests_look_for() -> None:
    mappings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["babel"]["mappings"]
    (python,) = (mapping for mapping in mappings if mapping["method"] == "python")
    assert tuple(python["keywords"]) == KEYWORDS


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        ('msgid "One"\nmsgstr "Eins"\n', ""),
        ("", "'One' is missing"),
        ('msgid "One"\nmsgstr ""\n', "'One' is not translated"),
        ('#, fuzzy\nmsgid "One"\nmsgstr "Eins"\n', "'One' is not translated"),
        ('msgid "One"\nmsgstr "Eins"\n\nmsgid "Old"\nmsgstr "Alt"\n', "'Old' is no longer used"),
    ],
)
def test_errors_of_a_catalogue_are_reported(tmp_path: Path, entries: str, fault: str) -> None:
    folder = tmp_path / "locale" / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (tmp_path / "page.jinja2").write_text('{{ _("One") }} {{ ngettext("%(num)s mod", "%(num)s mods", 2) }}')
    (tmp_path / "code.py").write_text(
        'raise invalid("In %(field)s.", field="x")\nTITLE = N_("A title")\nOTHER = "Other"\n'
    )
    plural = 'msgid "%(num)s mod"\nmsgid_plural "%(num)s mods"\nmsgstr[0] "%(num)s Mod"\nmsgstr[1] "%(num)s Mods"\n'
    rest = 'msgid "In %(field)s."\nmsgstr "In %(field)s."\n\nmsgid "A title"\nmsgstr "Ein Titel"\n'
    (folder / "messages.po").write_text("\n".join([HEADER, plural, rest, entries]), "utf-8")
    assert catalog_faults(tmp_path, "de") == ([fault] if fault else [])


@pytest.mark.parametrize("translated", ["In %(feld)s.", "In %s."])
def test_a_translation_has_the_values_of_its_text(tmp_path: Path, translated: str) -> None:
    folder = tmp_path / "locale" / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (tmp_path / "page.jinja2").write_text('{{ _("In %(field)s.", field=1) }}')
    entry = f'#, python-format\nmsgid "In %(field)s."\nmsgstr "{translated}"\n'
    (folder / "messages.po").write_text(f"{HEADER}\n{entry}", "utf-8")
    (fault,) = catalog_faults(str(tmp_path), "de")  # of a package: its __path__[0]
    assert fault.startswith("'In %(field)s.': ")
