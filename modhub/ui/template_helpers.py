"""``ui``: helpers for templates."""

import secrets
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from markupsafe import Markup, escape
from pyramid.csrf import get_csrf_token
from pyramid_jinja2 import IJinja2Environment

from modhub.base.identity import CredentialKind
from modhub.base.service_registry import find_service
from modhub.content.limits import KB, MB
from modhub.plugins.declarations import Declarations
from modhub.plugins.resources import ISite
from modhub.ui.i18n import UNITS, Catalogs, Translations
from modhub.ui.preferences import chosen_theme
from modhub.ui.share_images import ShareImage, site_image
from modhub.ui.site_settings import site_links
from modhub.ui.static_files import StaticFiles
from modhub.web.headers import HAS_TOKEN, NONCE
from modhub.web.request import Request


class PageHelpers:
    """The helpers of one page. ``without_database``: an error page that must not use the database."""

    def __init__(self, request: Request, *, without_database: bool = False) -> None:
        self.messages = translations_for(request)
        self.request = request
        self.registry = request.registry
        self.without_database = without_database

    @property
    def lang(self) -> str:
        """The language tag of the page."""
        return self.messages.language

    @cached_property
    def theme(self) -> str:
        """``light`` or ``dark`` if the visitor has chosen one, else empty."""
        return chosen_theme(self.request)

    @property
    def site_name(self) -> str:
        """The operator's name for the site."""
        return str(self.registry.settings["modhub.site_name"])

    @property
    def site_links(self) -> list[tuple[str, str]]:
        """The path and the msgid of each of the operator's pages."""
        return site_links(self.registry.settings)

    @property
    def site_image(self) -> ShareImage:
        """The picture of links to pages that have none of their own."""
        return site_image(self.registry)

    def site_file(self, asset: str) -> str:
        """The path of a file that the operator may have set; empty without one."""
        return self.static(asset) if find_service(self.registry, StaticFiles).has(asset) else ""

    @property
    def languages(self) -> list[Translations]:
        """The languages of the pages."""
        return list(find_service(self.registry, Catalogs).translations.values())

    @cached_property
    def nonce(self) -> str:
        """The CSP nonce of the page; scripts with it may run."""
        value: str = self.request.environ.setdefault(NONCE, secrets.token_urlsafe(16))
        return value

    @cached_property
    def now(self) -> datetime:
        """The time of the request."""
        return datetime.now(UTC)

    def size(self, count: int) -> str:
        """Format a number of bytes; 1 KB is 1024 bytes (C-TXT-7)."""
        if count < KB:
            return self.messages.ngettext("%(num)s byte", "%(num)s bytes", count)
        number, unit = (count / MB, "MB") if count >= MB else (count / KB, "KB")
        digits = f"{number:.1f}" if number < 10 else f"{number:.0f}"
        return f"{digits.removesuffix('.0')}\u00a0{unit}".replace(".", self.messages.decimal_symbol)

    def moment(self, stamp: str | datetime, text: str) -> Markup:
        """``<time>`` that shows ``text``; the exact time is in ``title`` and ``datetime``."""
        exact = _exact(stamp)
        title = f"{self.messages.date(exact.date())}, {exact.hour:02}:{exact.minute:02} UTC"
        return _time_tag(exact, f' title="{escape(title)}"', text)

    def day(self, stamp: str | datetime) -> Markup:
        """``<time>`` that shows the day."""
        exact = _exact(stamp)
        return _time_tag(exact, "", self.messages.date(exact.date()))

    def month(self, stamp: str | datetime) -> Markup:
        """``<time>`` that shows the month."""
        exact = _exact(stamp)
        return _time_tag(exact, "", self.messages.month(exact.date()))

    def percent(self, part: int, whole: int) -> str:
        """Format ``part`` of ``whole`` in whole percent, rounded down: 100 % is all of it."""
        return self.messages.percent(part * 100 // whole)

    def number(self, number: int) -> str:
        """Return a number with the separators of the language."""
        return self.messages.number(number)

    def sentence(self, text: str, **values: str) -> Markup:
        """Fill user-written values into a translated sentence, each isolated by ``dir="auto"``."""
        isolated = {name: f'<span dir="auto">{escape(value)}</span>' for name, value in values.items()}
        return Markup(str(escape(text)) % isolated)  # noqa: S704 - escaped

    def ago(self, stamp: str | datetime) -> str:
        """Return how long ago the moment was, in words (:func:`format_age`)."""
        return format_age(_exact(stamp), self.now, self.messages)

    def time(self, stamp: str | datetime) -> Markup:
        """``<time>`` that shows how long ago it was."""
        return self.moment(stamp, self.ago(stamp))

    def static(self, asset: str) -> str:
        """Return the hashed path of a static file, ``package:file``."""
        return find_service(self.registry, StaticFiles).address(asset, self.theme)

    def render(self, template: str, **values: Any) -> Markup:
        """Render a part of a page, whose template has these values and what every page has."""
        found = self.registry.getUtility(IJinja2Environment, name=".jinja2").get_template(template)
        values |= {"ui": self, "_": self.messages.gettext, "ngettext": self.messages.ngettext}
        return Markup(found.render(values))  # noqa: S704 - our templates escape

    def absolute(self, path: str) -> str:
        """Return the absolute URL of ``path``, from the setting and never from the request's host."""
        return str(self.registry.settings["modhub.base_url"]) + path

    @cached_property
    def path(self) -> str:
        """The decoded path of the page, for marking the current entry of the navigation."""
        raw: str = self.request.environ.get("PATH_INFO", "")
        return raw.encode("latin-1", "replace").decode("utf-8", "replace")

    def aria_current(self, path: str) -> Markup:
        """``aria-current`` if ``path`` is this page."""
        return Markup(' aria-current="page"') if self.path.rstrip("/") == path else Markup("")

    def aria_current_section(self, path: str) -> Markup:
        """``aria-current`` if ``path`` is this page or an ancestor of it."""
        return Markup(' aria-current="true"') if self.path.startswith(f"{path}/") else self.aria_current(path)

    @property
    def has_accounts(self) -> bool:
        """Whether a feature provides accounts for pages."""
        return (CredentialKind.ACCOUNT, ISite) in find_service(self.registry, Declarations).credentials

    @cached_property
    def account(self) -> int | None:
        """The id of the signed-in account, or None."""
        if self.without_database or not self.has_accounts:
            return None
        return self.request.identify(CredentialKind.ACCOUNT).account_id

    @cached_property
    def csrf_token(self) -> str:
        """The value of the hidden field ``csrf_token``; reading it may set a cookie."""
        self.request.environ[HAS_TOKEN] = True
        return str(get_csrf_token(self.request))

    def panels(self, place: str, **values: Any) -> list[Markup]:
        """Render the panels of the features at ``place``. Plain strings are escaped, ``Markup`` is not."""
        if self.without_database:
            return []
        declared = [panel for panel in find_service(self.registry, Declarations).panels if panel.place == place]
        panels = sorted(declared, key=lambda panel: panel.order)
        context = getattr(self.request, "context", None)
        rendered = (panel.render(context, self.request, **values) for panel in panels)
        return [escape(text) for text in rendered if text is not None]


def translations_for(request: Request) -> Translations:
    """Return the translations for the request's language."""
    translations: Translations = request.localizer
    return translations


def nav_link(request: Request, path: str, text: str, number: str = "", words: str = "") -> Markup:
    """Return an entry for the place ``navigation``, marked if it is the current page; ``text`` is a msgid.

    ``number`` follows the text, and ``words`` are read out in its place.
    """
    tools = PageHelpers(request)
    label = escape(tools.messages.gettext(text))
    if number:
        mark = Markup(' <span class="unread-count" aria-hidden="true">{}</span><span class="hidden">{}</span>')
        label += mark.format(number, words)
    # Markup.format takes as long as a database statement.
    return Markup(f'<a href="{escape(path)}"{tools.aria_current_section(path)}>{label}</a>')  # noqa: S704 - escaped


def add_renderer_globals(event: Any) -> None:
    """Add ``ui``, ``_`` and ``ngettext`` to templates. Pages of signed-in users are not cached (``no-store``)."""
    if not str(event.get("renderer_name") or "").endswith(".jinja2"):
        return
    request = event["request"]
    error = event.rendering_val.get("refusal") if isinstance(event.rendering_val, dict) else None
    # Errors before traversal (in the tweens) and server errors must not depend on the tree or the database.
    without_database = not hasattr(request, "context") or (error is not None and error.status >= 500)
    tools = PageHelpers(request, without_database=without_database)
    event["ui"] = tools
    event["_"] = tools.messages.gettext
    event["ngettext"] = tools.messages.ngettext
    if tools.account is not None:
        request.response.headers["Cache-Control"] = "no-store"


def format_age(moment: datetime, now: datetime, messages: Translations) -> str:
    """How long ago, in the largest unit; "just now" for a time in the future (clocks differ)."""
    seconds = int((now - moment).total_seconds())
    for unit, length in UNITS.items():
        if seconds >= length:
            return messages.ago(unit, seconds // length)
    return messages.gettext("just now")


def _exact(stamp: str | datetime) -> datetime:
    return (datetime.fromisoformat(stamp) if isinstance(stamp, str) else stamp).astimezone(UTC)


def _time_tag(exact: datetime, attributes: str, text: str) -> Markup:
    # Markup.format and strftime take as long as a database statement.
    stamp = exact.replace(tzinfo=None).isoformat(timespec="seconds")
    return Markup(f'<time datetime="{stamp}Z"{attributes}>{escape(text)}</time>')  # noqa: S704 - escaped
