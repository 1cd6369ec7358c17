"""The languages of the pages: one catalogue for all strings, keyed by the English text (gettext's ``.po`` files).

English stands in the templates and is complete by itself. ``config.add_messages("modhub_reports:messages")`` adds a
folder with one ``{language}.po`` for each language; the language of a page is chosen by ``Accept-Language``. A text
that a language lacks is shown in English.
"""

import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pyramid.config import Configurator
from pyramid.path import AssetResolver
from webob.acceptparse import create_accept_language_header

from modhub.service_registry import find_service

ENGLISH: Final = "en"
_LINE = re.compile(r'\A(msgid|msgid_plural|msgstr|msgstr\[(?P<form>[01])\])? *(?P<text>".*")\Z')


class Translations:
    """The strings of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.texts: dict[str, tuple[str, ...]] = {}

    def gettext(self, text: str, **values: object) -> str:
        """``text`` in this language, ``%(name)s`` filled from ``values``."""
        found = self.texts.get(text, (text,))[0]
        return found % values if values else found

    def ngettext(self, one: str, many: str, number: int, **values: object) -> str:
        """``one`` or ``many``, as ``number`` asks; ``%(num)s`` is the number with its thousands parted."""
        forms = self.texts.get(one, ())
        if len(forms) < 2:
            forms = (one, many)
        return forms[number != 1] % {"num": self.number(number), **values}

    def number(self, number: int) -> str:
        """A whole number, its thousands parted as the language does."""
        return f"{number:,}".replace(",", self.gettext(","))


class Catalogs:
    """The catalogues of an application; English is always there."""

    def __init__(self) -> None:
        self.known: dict[str, Translations] = {ENGLISH: Translations(ENGLISH)}

    def add(self, folder: Path) -> None:
        """Read every ``{language}.po`` of a folder."""
        for path in sorted(folder.glob("*.po")):
            messages = self.known.setdefault(path.stem, Translations(path.stem))
            messages.texts.update(read_po(path.read_text("utf-8")))

    def choose(self, accept_language: str | None) -> Translations:
        """The best of what the reader takes (RFC 9110, 12.5.4; RFC 4647 lookup), else English."""
        if not accept_language or len(self.known) == 1:
            return self.known[ENGLISH]
        accepted: Any = create_accept_language_header(accept_language[:500])
        if not hasattr(accepted, "lookup") or not getattr(accepted, "parsed", None):
            return self.known[ENGLISH]
        return self.known[accepted.lookup(list(self.known), default=ENGLISH)]


@lru_cache(maxsize=64)
def read_po(source: str) -> Mapping[str, tuple[str, ...]]:
    """The translated texts of a ``.po`` file by their English text: one form, or two where number matters.

    Languages with two forms (one, other) are what this reader knows; ValueError names the line that it cannot read.
    What has been read is remembered: a process of tests makes thousands of applications.
    """
    found: dict[str, tuple[str, ...]] = {}
    for entry in re.split(r"\n\s*\n", source):
        parts = dict(_parts(entry))
        translated = tuple(parts[key] for key in ("msgstr", "msgstr[0]", "msgstr[1]") if parts.get(key))
        if parts.get("msgid") and translated:
            found[parts["msgid"]] = translated
    return found


def _parts(entry: str) -> Iterator[tuple[str, str]]:
    key, text = "", ""
    for line in entry.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.match(line.strip())
        if match is None:
            raise ValueError(f"a line of a .po file cannot be read: {line!r}")
        if match[1]:
            if key:
                yield key, text
            key, text = match[1], ""
        text += literal_eval(match["text"])
    if key:
        yield key, text


def add_translations(config: Configurator, folder: str) -> None:
    """Add the translations in ``folder``, an asset such as ``modhub_reports:messages``."""
    path = Path(AssetResolver().resolve(folder).abspath())
    config.action(("modhub messages", folder), lambda: find_service(config.registry, Catalogs).add(path))


def includeme(config: Configurator) -> None:
    """The directive."""
    config.add_service(Catalogs, Catalogs())
    config.add_directive("add_messages", add_translations)
