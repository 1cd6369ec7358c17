"""How the operator names and shows the site, and the pages with the operator's own texts."""

from dataclasses import dataclass
from typing import Any, Final

from pyramid.config import Configurator

from modhub.base.errors import not_found
from modhub.base.service_registry import find_service
from modhub.base.settings import DEFAULT_SITE_NAME, Setting
from modhub.content import text
from modhub.content.limits import KB
from modhub.content.operator_texts import OperatorText, operator_text, read_small_file
from modhub.content.text import N_
from modhub.plugins.declarations import SitemapEntries
from modhub.plugins.resources import ISite
from modhub.ui.accent import accent_sheet, colour
from modhub.ui.static_files import StaticFiles
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import OPEN, page

MAX_SITE_NAME: Final = 40
MAX_MARK: Final = 256 * KB
MARK_ASSET: Final = "modhub:site-mark"
FRONT_ASSET: Final = "modhub:site-front"
ACCENT_ASSET: Final = "modhub:site-accent"
_BEGINNINGS: Final = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff",
    ".webp": b"RIFF",
    ".svg": b"<",
}
CONTACT: Final = "contact"
SITE_PAGES: Final = {
    CONTACT: N_("Contact"),
    "imprint": N_("Imprint"),
    "privacy": N_("Privacy"),
    "terms": N_("Terms of use"),
}
"""The operator's pages: the last part of the address and of the setting's name, and the text of the link."""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image of the operator."""

    suffix: str
    content: bytes


def site_name(value: str) -> str:
    """The kind of the name: a line of 1 to 40 characters."""
    line = text.line(value, MAX_SITE_NAME + 1)
    if not line or len(line) > MAX_SITE_NAME:
        raise ValueError(f"must have 1 to {MAX_SITE_NAME} characters, not {value!r}")
    return line


def image_file(value: str) -> ImageFile | None:
    """The kind of an image: a PNG, JPEG, WebP or SVG file by its absolute path; None without one."""
    if not value:
        return None
    content = read_small_file(value, MAX_MARK)
    for suffix, beginning in _BEGINNINGS.items():
        if content.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(beginning) and (suffix != ".svg" or b"<svg" in content):
            return ImageFile(suffix, content)
    raise ValueError(f"names {value!r}, which is not a PNG, JPEG, WebP or SVG image")


SITE: Final = (
    Setting("modhub.site_name", site_name, DEFAULT_SITE_NAME, "the name of the site on pages, in emails and in feeds"),
    Setting("modhub.site_mark", image_file, "", "image file beside the name: PNG, JPEG, WebP or SVG, at most 256 KB"),
    Setting("modhub.accent", colour, "", "colour of links and buttons, such as #0a5c62; adjusted until it is readable"),
    Setting("modhub.welcome", operator_text, "", "Markdown file above the search, for visitors; empty: one sentence"),
    Setting("modhub.front_picture", image_file, "", "image file of the front and the app's page; it is cut to fit"),
    Setting("modhub.front_text", operator_text, "", "Markdown file on top of the front; empty: the welcome line"),
    *(
        Setting(f"modhub.{name}", operator_text, "", f"Markdown file of the page /Modhub/{name}; empty: no such page")
        for name in SITE_PAGES
    ),
)


def site_links(settings: Any) -> list[tuple[str, str]]:
    """The path and the msgid of each page that has a text."""
    return [(f"/Modhub/{name}", title) for name, title in SITE_PAGES.items() if settings[f"modhub.{name}"]]


def contact_about(registry: Any, mod_id: int) -> str:
    """The path of the page that says how to write to the operator about a mod; empty without such a page."""
    return f"/Modhub/{CONTACT}?mod={mod_id}" if registry.settings[f"modhub.{CONTACT}"] else ""


def site_in_sitemap(registry: Any, part: int) -> SitemapEntries:
    """The pages that have a text."""
    return [(path, None) for path, _ in site_links(registry.settings)] if part == 0 else []


def site_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/contact``, ``/imprint``, ``/privacy`` and ``/terms``; 404 without a text.

    ``/Modhub/contact?mod=12`` has the address of the mod above the text, whether or not there is such a mod.
    """
    name = request.view_name
    page_text: OperatorText | None = request.registry.settings[f"modhub.{name}"]
    if page_text is None:
        raise not_found()
    mod_id = parse_id(query(request, "mod") or "") if name == CONTACT else None
    return {"found": page_text, "title": SITE_PAGES[name], "path": f"/Modhub/{name}", "mod_id": mod_id}


for _name in SITE_PAGES:
    site_page = page(
        context=ISite,
        name=_name,
        request_method="GET",
        permission=OPEN,
        renderer="modhub:templates/site_page.jinja2",
    )(site_page)


def _add_files(config: Configurator) -> None:
    files, settings = find_service(config.registry, StaticFiles), config.registry.settings
    for asset, setting in ((MARK_ASSET, "modhub.site_mark"), (FRONT_ASSET, "modhub.front_picture")):
        image: ImageFile | None = settings[setting]
        if image is not None:
            files.add_content(asset, image.suffix, image.content)
    if settings["modhub.accent"]:
        files.add_content(ACCENT_ASSET, ".css", accent_sheet(settings["modhub.accent"]))


def includeme(config: Configurator) -> None:
    """Register the files and the pages."""
    config.action("modhub site files", lambda: _add_files(config))
    if config.registry.settings[f"modhub.{CONTACT}"]:
        config.add_robots_rule(f"/Modhub/{CONTACT}?")  # as many addresses as mods, all of one page
    config.add_sitemap("site", site_in_sitemap, lambda registry: 1 if site_links(registry.settings) else 0)
    config.scan(__name__)
