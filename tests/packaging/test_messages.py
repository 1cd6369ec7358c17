"""Every catalogue has exactly the texts of templates and code, all translated."""

import re
from pathlib import Path

import pytest

from modhub_testing.messages import catalog_faults, translated_texts, used_messages

ROOT = Path(__file__).parents[2]
PARTS = sorted(path.parent for path in ROOT.glob("modhub*/pyproject.toml") if path.parent.name != "modhub_testing")
CATALOGS = [(part, path.parts[-3]) for part in PARTS for path in part.glob("locale/*/LC_MESSAGES/messages.po")]


@pytest.mark.parametrize(("part", "language"), CATALOGS, ids=lambda value: getattr(value, "name", value))
def test_a_catalogue_is_complete_and_nothing_in_it_is_stale(part, language):
    assert catalog_faults(part, language) == [], "run `make messages` and translate what it added"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_part_that_says_something_has_its_german(part):
    assert not used_messages(part) or (part, "de") in CATALOGS


def test_a_text_of_several_parts_means_the_same_in_all_of_them():
    meanings = {}
    for part, language in CATALOGS:
        if language == "de":
            for text, translated in translated_texts(part, language).items():
                meanings.setdefault(text, set()).add(translated)
    assert {text: several for text, several in meanings.items() if len(several) > 1} == {}


def test_a_mod_is_feminine_in_german():
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
