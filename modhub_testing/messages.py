"""Check that a package's translations are complete: compare the texts used with its catalogues."""

from pathlib import Path
from typing import Any, Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_keywords
from babel.messages.pofile import read_po

KEYWORDS: Final = ("N_", "_", "gettext", "ngettext:1,2", "invalid:1", "conflict:2", "ApiError:3")
"""The calls whose texts are translated, as for ``pybabel extract --keywords``; keep the Makefile in step."""
_METHODS: Final = [("**.py", "python"), ("**.jinja2", "jinja2")]
_OPTIONS: Final = {"**.jinja2": {"silent": "false"}}


def used_messages(package: str | Path) -> Catalog:
    """Extract the texts of the templates and the code of a package."""
    used = Catalog()
    keywords: Any = parse_keywords(KEYWORDS)
    for file, line, text, _comments, context in extract_from_dir(package, _METHODS, _OPTIONS, keywords):
        used.add(text, locations=[(file, line)], context=context)
    return used


def read_catalog(package: str | Path, language: str) -> Catalog:
    """Read the package's catalogue of a language."""
    with (Path(package) / "locale" / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


def translated_texts(package: str | Path, language: str) -> dict[str, tuple[str, ...]]:
    """Return the translations by English text; one per plural form of the language."""
    return {_english(message): _forms(message.string) for message in read_catalog(package, language) if message.id}


def catalog_faults(package: str | Path, language: str) -> list[str]:
    """Return a sentence for each text that is untranslated, no longer used, or has different placeholders."""
    used, catalog = used_messages(package), read_catalog(package, language)
    faults = [f"{message.id!r} is missing" for message in used if message.id and message.id not in catalog]
    for message in catalog:
        if not message.id:
            continue
        if message.id not in used:
            faults.append(f"{message.id!r} is no longer used")
        if message.fuzzy or not all(_forms(message.string)):
            faults.append(f"{message.id!r} is not translated")
        faults += [f"{message.id!r}: {problem}" for problem in message.check(catalog)]
    return faults


def _english(message: Any) -> str:
    text: str = message.id if isinstance(message.id, str) else message.id[0]
    return text


def _forms(string: Any) -> tuple[str, ...]:
    return (string,) if isinstance(string, str) else tuple(string)
