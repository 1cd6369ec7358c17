"""``ui``: what a template needs besides its own values."""

import secrets
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from markupsafe import Markup, escape
from pyramid.csrf import get_csrf_token

from modhub.declarations import Declarations
from modhub.http.headers import NONCE
from modhub.interfaces import ISite
from modhub.request import Request
from modhub.security.identity import CredentialKind
from modhub.service_registry import find_service
from modhub.ui.formatting import Formatter, format_age, parse_timestamp
from modhub.ui.fragment_cache import FragmentCache
from modhub.ui.i18n import Translations
from modhub.ui.static_files import StaticFiles


class PageHelpers(Formatter):
    """The tools of one page. ``broken``: the service is in trouble, so that nothing may ask the database."""

    def __init__(self, request: Request, *, broken: bool = False) -> None:
        super().__init__(translations_for(request))
        self.request = request
        self.registry = request.registry
        self.broken = broken

    @property
    def lang(self) -> str:
        """The page's language."""
        return self.messages.language

    @cached_property
    def nonce(self) -> str:
        """The page's own nonce; whatever script has it may run."""
        value: str = self.request.environ.setdefault(NONCE, secrets.token_urlsafe(16))
        return value

    @cached_property
    def now(self) -> datetime:
        """The time at which the page is read."""
        return datetime.now(UTC)

    def ago(self, moment: datetime) -> str:
        """See :func:`modhub.ui.formatting.format_age`."""
        return format_age(moment, self.now, self.messages)

    def time(self, stamp: str | datetime) -> Markup:
        """``<time>`` with how long ago it was."""
        moment = parse_timestamp(stamp) if isinstance(stamp, str) else stamp
        return self.moment(moment, self.ago(moment))

    def static(self, asset: str) -> str:
        """The hashed address of a shipped file, ``package:file``."""
        return find_service(self.registry, StaticFiles).address(asset)

    def cached_fragment(self, template: str, **values: Any) -> Markup:
        """A piece of the page in its language, drawn once and kept; see :mod:`modhub.ui.fragment_cache`."""
        return find_service(self.registry, FragmentCache)(template, self.messages, **values)

    def render_fragment(self, template: str, **values: Any) -> Markup:
        """A piece of the page that is drawn for this once: hardly anybody else sees it with these values."""
        return find_service(self.registry, FragmentCache).render(template, self.messages, **values)

    def absolute(self, path: str) -> str:
        """The address of ``path`` for readers elsewhere: from the setting, never from the request's host."""
        return str(self.registry.settings["modhub.base_url"]) + path

    @cached_property
    def path(self) -> str:
        """The path of the page, for marking the current entry of the navigation."""
        raw: str = self.request.environ.get("PATH_INFO", "")
        return raw.encode("latin-1", "replace").decode("utf-8", "replace")

    def aria_current(self, path: str) -> Markup:
        """``aria-current`` when ``path`` is this page."""
        return Markup(' aria-current="page"') if self.path.rstrip("/") == path else Markup("")

    def aria_current_section(self, path: str) -> Markup:
        """``aria-current`` when ``path`` is this page, or one that this page lies below."""
        return Markup(' aria-current="true"') if self.path.startswith(f"{path}/") else self.aria_current(path)

    @property
    def has_accounts(self) -> bool:
        """Whether a feature gives accounts to the pages."""
        return (CredentialKind.ACCOUNT, ISite) in find_service(self.registry, Declarations).credentials

    @cached_property
    def account(self) -> int | None:
        """The signed-in account."""
        if self.broken or not self.has_accounts:
            return None
        return self.request.identify(CredentialKind.ACCOUNT).account_id

    @cached_property
    def csrf_token(self) -> str:
        """What a form's hidden field ``csrf_token`` holds; asking for it may set a cookie."""
        return str(get_csrf_token(self.request))

    def panels(self, place: str) -> list[Markup]:
        """What the features show at ``place``. Text is escaped; markup is what a panel gives as ``Markup``."""
        if self.broken:
            return []
        declared = find_service(self.registry, Declarations).panels
        here = sorted((panel for panel in declared if panel.place == place), key=lambda panel: panel.order)
        context = getattr(self.request, "context", None)
        shown = (panel.render(context, self.request) for panel in here)
        return [escape(text) for text in shown if text is not None]


def translations_for(request: Request) -> Translations:
    """The language of the reader."""
    translations: Translations = request.localizer
    return translations


def nav_link(request: Request, path: str, text: str) -> Markup:
    """An entry for the place ``navigation``, marked when it is the page that is open; ``text`` is translated."""
    tools = PageHelpers(request)
    shown = escape(tools.messages.gettext(text))
    # Not by Markup.format, which costs as much as a statement of the database.
    return Markup(f'<a href="{escape(path)}"{tools.aria_current_section(path)}>{shown}</a>')  # noqa: S704 - escaped


def add_renderer_globals(event: Any) -> None:
    """Give every template its tools. A page for somebody signed in is nobody else's: it is never stored."""
    if not str(event.get("renderer_name") or "").endswith(".jinja2"):
        return
    request = event["request"]
    refusal = event.rendering_val.get("refusal") if isinstance(event.rendering_val, dict) else None
    # Before traversal (a refusal at the door) and in trouble nothing may depend on the tree or the database.
    broken = not hasattr(request, "context") or (refusal is not None and refusal.status >= 500)
    tools = PageHelpers(request, broken=broken)
    event["ui"] = tools
    event["_"] = tools.messages.gettext
    event["ngettext"] = tools.messages.ngettext
    if tools.account is not None:
        request.response.headers["Cache-Control"] = "no-store"
