"""The languages of the pages, by Pyramid's i18n and Babel.

English stands in the templates and in code, and is complete by itself. A package adds its translations with Pyramid's
``config.add_translation_dirs("modhub_reports:locale")``: a folder with ``{language}/LC_MESSAGES/messages.po``. They are
compiled in memory at the start, so that there is no ``.mo`` that could be older. All catalogues of a language are one;
a text that it lacks is shown in English. The language of a page is chosen by ``Accept-Language``.
``docs/translating.md`` tells how to add a language.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache
from gettext import NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_timedelta
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po
from babel.numbers import format_decimal, get_decimal_symbol, get_group_symbol
from pyramid.config import Configurator
from pyramid.i18n import Localizer
from pyramid.i18n import Translations as Catalog
from pyramid.interfaces import ILocalizer, ITranslationDirectories
from webob.acceptparse import create_accept_language_header

from modhub.service_registry import find_service

ENGLISH: Final = "en"
_BRITISH: Final = Locale("en", "GB")
"""How English pages write dates: the day first."""
KEPT: Final = 4096
"""Formatted values of a kind that are remembered: Babel takes as long for one as a template for a line."""


class Translations(Localizer):
    """One language: its texts, and how it writes numbers and dates (CLDR). Pyramid's ``request.localizer`` is one."""

    def __init__(self, locale_name: str, catalog: Catalog | None = None) -> None:
        super().__init__(locale_name, _empty_catalog() if catalog is None else catalog)
        self.language = locale_name.replace("_", "-")
        """The language's tag, as in the attribute ``lang``."""
        self.locale = _locale(locale_name)
        self.decimal_symbol = get_decimal_symbol(self.locale)
        self.group_symbol = get_group_symbol(self.locale)
        self._texts: Any = NullTranslations() if catalog is None else catalog
        self._long_number = lru_cache(KEPT)(lambda number: format_decimal(number, locale=self.locale))
        self._date = lru_cache(KEPT)(lambda day: format_date(day, "long", locale=self.locale))
        self._ago = lru_cache(KEPT)(self._format_ago)

    def gettext(self, text: str, **values: object) -> str:
        """``text`` in this language, ``%(name)s`` filled from ``values``."""
        translated: str = self._texts.gettext(text)
        return translated % values if values else translated

    def ngettext(self, one: str, many: str, number: int, **values: object) -> str:
        """The form that the language has for ``number``; ``%(num)s`` is the number as the language writes it."""
        translated: str = self._texts.ngettext(one, many, number)
        return translated % {"num": self.number(number), **values}

    def number(self, number: int) -> str:
        """A whole number, grouped as the language does."""
        # Below a thousand no language groups.
        return str(number) if 0 <= number < 1000 else self._long_number(number)

    def date(self, day: date) -> str:
        """A day in words: ``21 November 2026``."""
        return self._date(day)

    def ago(self, unit: str, count: int) -> str:
        """``3 days ago``; the unit is ``year``, ``month``, ``day``, ``hour`` or ``minute``."""
        return self._ago(unit, count)

    def _format_ago(self, unit: Any, count: int) -> str:
        # By its smallest unit alone, else "36 hours" would be rounded to "2 days".
        past = timedelta(seconds=-count * UNITS[unit])
        return format_timedelta(past, unit, threshold=float("inf"), add_direction=True, locale=self.locale)


UNITS: Final = {"year": 365 * 86400, "month": 30 * 86400, "day": 86400, "hour": 3600, "minute": 60}
"""Seconds of each unit of an age, the largest first."""


def _locale(name: str) -> Locale:
    """How to write numbers and dates; as in English where CLDR does not know the language."""
    if name == ENGLISH:
        return _BRITISH
    try:
        return Locale.parse(name)
    except (UnknownLocaleError, ValueError):
        return _BRITISH


class Catalogs:
    """The languages of an application; English is always there."""

    def __init__(self) -> None:
        self.known: dict[str, Translations] = {ENGLISH: Translations(ENGLISH)}
        """By the language's tag."""

    def load(self, folders: Iterable[str]) -> None:
        """Read ``{language}/LC_MESSAGES/*.po`` of all folders; a later folder overrides an earlier one."""
        catalogs: dict[str, Catalog] = {}
        for path in (path for folder in folders for path in sorted(Path(folder).glob("*/LC_MESSAGES/*.po"))):
            name = path.parts[-3]
            try:
                compiled = compile_po(path.read_bytes(), name)
            except PoFileError as problem:
                raise ValueError(f"{path}: {problem}") from None
            catalogs.setdefault(name, _empty_catalog()).add(compiled)
        for name, catalog in catalogs.items():
            translations = Translations(name, catalog)
            self.known[translations.language] = translations

    def choose(self, accept_language: str | None) -> Translations:
        """The best of what the reader takes (RFC 9110, 12.5.4; RFC 4647 lookup), else English."""
        if not accept_language or len(self.known) == 1:
            return self.known[ENGLISH]
        accepted: Any = create_accept_language_header(accept_language[:500])
        if not hasattr(accepted, "lookup") or not getattr(accepted, "parsed", None):
            return self.known[ENGLISH]
        return self.known[accepted.lookup(list(self.known), default=ENGLISH)]


def _empty_catalog() -> Catalog:
    catalog = Catalog()
    # As Pyramid's make_localizer does it.
    catalog._catalog = {}
    return catalog


@lru_cache(maxsize=64)
def compile_po(source: bytes, locale_name: str) -> Catalog:
    """What ``pybabel compile`` would write, in memory. Raises :class:`babel.messages.pofile.PoFileError`.

    What has been read is remembered: a process of tests makes thousands of applications.
    """
    compiled = BytesIO()
    write_mo(compiled, read_po(BytesIO(source), locale=locale_name, abort_invalid=True))
    compiled.seek(0)
    catalog = Catalog(compiled)
    # The header is no translation of the empty text.
    catalog._catalog.pop("", None)
    return catalog


def negotiate_locale_name(request: Any) -> str:
    """Pyramid's ``request.locale_name``."""
    accepted = request.environ.get("HTTP_ACCEPT_LANGUAGE")
    name: str = find_service(request.registry, Catalogs).choose(accepted).locale_name
    return name


def _load_catalogs(registry: Any) -> None:
    catalogs = find_service(registry, Catalogs)
    catalogs.load(registry.queryUtility(ITranslationDirectories, default=()))
    # Pyramid would make its own of the .mo files in these folders.
    for translations in catalogs.known.values():
        registry.registerUtility(translations, ILocalizer, name=translations.locale_name)


def includeme(config: Configurator) -> None:
    """The languages, when all folders of translations are known."""
    config.add_service(Catalogs, Catalogs())
    config.set_locale_negotiator(negotiate_locale_name)
    config.action("modhub languages", lambda: _load_catalogs(config.registry), order=1_000)
