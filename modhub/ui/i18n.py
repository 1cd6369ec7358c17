"""The languages of the pages, by Pyramid's i18n and Babel.

The templates and the code are in English. A feature ships ``locale``: a folder with
``{language}/LC_MESSAGES/messages.po``. They are compiled in memory at startup, so that no ``.mo`` file can be out of
date. All catalogues of a language are merged; missing texts are shown in English. The language of a page is the
visitor's choice (:mod:`modhub.ui.preferences`), else by ``Accept-Language``; for the API only that header counts.
``docs/contributing.md`` explains how to add a language.
"""

from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache
from gettext import NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_skeleton, format_timedelta
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po
from babel.numbers import format_decimal, format_percent, get_decimal_symbol, get_group_symbol
from pyramid.config import Configurator
from pyramid.i18n import Localizer
from pyramid.i18n import Translations as Catalog
from pyramid.interfaces import ILocalizer, ITranslationDirectories
from webob.acceptparse import create_accept_language_header

from modhub.base.service_registry import find_service
from modhub.web.own_cookies import own_cookie

ENGLISH: Final = "en"
LANGUAGE_COOKIE: Final = "modhub-language"
"""The cookie with the language that a visitor chose."""
_BRITISH: Final = Locale("en", "GB")
"""The locale of dates on English pages: the day first."""
MAX_FORMATTED: Final = 4096
"""Formatted values of each kind that are cached: Babel takes as long for one as a template for a line."""


class Translations(Localizer):
    """One language: its texts and its formats of numbers and dates (CLDR). ``request.localizer`` is one."""

    def __init__(self, locale_name: str, catalog: Catalog | None = None) -> None:
        super().__init__(locale_name, _empty_catalog() if catalog is None else catalog)
        self.language = locale_name.replace("_", "-")
        """The language tag, as in the attribute ``lang``."""
        self.locale = _locale(locale_name)
        self.decimal_symbol = get_decimal_symbol(self.locale)
        self.group_symbol = get_group_symbol(self.locale)
        self._texts: Any = NullTranslations() if catalog is None else catalog
        self._long_number = lru_cache(MAX_FORMATTED)(lambda number: format_decimal(number, locale=self.locale))
        self.date = lru_cache(MAX_FORMATTED)(lambda day: format_date(day, "long", locale=self.locale))
        """Format a day: ``21 November 2026``."""
        self.month = lru_cache(MAX_FORMATTED)(lambda day: format_skeleton("yMMMM", day, locale=self.locale))
        """Format a month: ``November 2026``."""
        self.percent = lru_cache(MAX_FORMATTED)(lambda percent: format_percent(percent / 100, locale=self.locale))
        """Format a percentage: ``92%``."""
        self.ago = lru_cache(MAX_FORMATTED)(self._format_ago)
        """Format an age: ``3 days ago``. The unit is ``year``, ``month``, ``day``, ``hour`` or ``minute``."""

    def gettext(self, text: str, **values: object) -> str:
        """Translate ``text`` and fill ``%(name)s`` from ``values``."""
        translated: str = self._texts.gettext(text)
        return translated % values if values else translated

    def ngettext(self, singular: str, plural: str, number: int, **values: object) -> str:
        """Translate in the plural form for ``number``; ``%(num)s`` is the formatted number."""
        translated: str = self._texts.ngettext(singular, plural, number)
        return translated % {"num": self.number(number), **values}

    @property
    def own_name(self) -> str:
        """The name of the language in itself: ``Deutsch``."""
        name: str = self.locale.get_language_name() or self.language
        return name[:1].upper() + name[1:]

    def number(self, number: int) -> str:
        """Format a whole number with the group separator of the language."""
        # No language groups below a thousand.
        return str(number) if 0 <= number < 1000 else self._long_number(number)

    def _format_ago(self, unit: Any, count: int) -> str:
        # Babel would round "36 hours" to "2 days" without the threshold.
        past = timedelta(seconds=-count * UNITS[unit])
        return format_timedelta(past, unit, threshold=float("inf"), add_direction=True, locale=self.locale)


UNITS: Final = {"year": 365 * 86400, "month": 30 * 86400, "day": 86400, "hour": 3600, "minute": 60}
"""Seconds of each unit of an age, the largest first."""


def _locale(name: str) -> Locale:
    """Return the locale for numbers and dates; English if CLDR does not know the language."""
    if name == ENGLISH:
        return _BRITISH
    try:
        return Locale.parse(name)
    except (UnknownLocaleError, ValueError):
        return _BRITISH


class Catalogs:
    """The languages of an application, always including English."""

    def __init__(self) -> None:
        self.translations: dict[str, Translations] = {ENGLISH: Translations(ENGLISH)}
        """By language tag."""

    def load(self, folders: Iterable[str]) -> None:
        """Read ``{language}/LC_MESSAGES/*.po`` of all folders; a later folder overrides an earlier one."""
        catalogs: dict[str, Catalog] = {}
        for path in (path for folder in folders for path in sorted(Path(folder).glob("*/LC_MESSAGES/*.po"))):
            name = path.parts[-3]
            try:
                compiled = compile_po(path.read_bytes(), name)
            except PoFileError as error:
                raise ValueError(f"{path}: {error}") from None
            catalogs.setdefault(name, _empty_catalog()).add(compiled)
        for name, catalog in catalogs.items():
            translations = Translations(name, catalog)
            self.translations[translations.language] = translations

    def choose(self, accept_language: str | None) -> Translations:
        """Return the best match for ``Accept-Language`` (RFC 9110, 12.5.4; RFC 4647 lookup), else English."""
        if not accept_language or len(self.translations) == 1:
            return self.translations[ENGLISH]
        accepted: Any = create_accept_language_header(accept_language[:500])
        if not hasattr(accepted, "lookup") or not getattr(accepted, "parsed", None):
            return self.translations[ENGLISH]
        return self.translations[accepted.lookup(list(self.translations), default=ENGLISH)]


def _empty_catalog() -> Catalog:
    catalog = Catalog()
    # As Pyramid's make_localizer does.
    catalog._catalog = {}
    return catalog


@lru_cache(maxsize=64)
def compile_po(source: bytes, locale_name: str) -> Catalog:
    """Compile in memory, as ``pybabel compile`` does. Raises :class:`babel.messages.pofile.PoFileError`.

    Cached, because a test process creates thousands of applications.
    """
    compiled = BytesIO()
    write_mo(compiled, read_po(BytesIO(source), locale=locale_name, abort_invalid=True))
    compiled.seek(0)
    catalog = Catalog(compiled)
    # The header is not a translation of the empty text.
    catalog._catalog.pop("", None)
    return catalog


def negotiate_locale_name(request: Any) -> str:
    """Return the language of the response: Pyramid's ``request.locale_name``."""
    catalogs = find_service(request.registry, Catalogs)
    chosen = None if request.is_api else catalogs.translations.get(own_cookie(request, LANGUAGE_COOKIE))
    accepted = request.environ.get("HTTP_ACCEPT_LANGUAGE")
    name: str = (chosen or catalogs.choose(accepted)).locale_name
    return name


def _load_catalogs(registry: Any) -> None:
    catalogs = find_service(registry, Catalogs)
    catalogs.load(registry.queryUtility(ITranslationDirectories, default=()))
    # Else Pyramid would look for .mo files in these folders.
    for translations in catalogs.translations.values():
        registry.registerUtility(translations, ILocalizer, name=translations.locale_name)


def includeme(config: Configurator) -> None:
    """Load the languages, once all translation folders are known."""
    config.add_service(Catalogs, Catalogs())
    config.set_locale_negotiator(negotiate_locale_name)
    config.action("modhub languages", lambda: _load_catalogs(config.registry), order=1_000)
