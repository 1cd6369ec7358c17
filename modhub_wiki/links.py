"""Resolves links and images of a page: to other pages, to this service, to the web (C-WIKI-1, C-WIKI-8).

The result is an address that :data:`modhub_wiki.rendering.WIKI` allows, or None.
"""

import re
from typing import Final
from urllib.parse import unquote

from modhub.content.markup import web_link
from modhub_wiki.resources import parse_path
from modhub_wiki.response_schemas import page_url

ROOT: Final = "/Modhub/Wiki"
_REST: Final = r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]"
_FRAGMENT: Final = re.compile(rf"#(?:{_REST}|\?)*")
_OWN: Final = re.compile(rf"/(?!/){_REST}*(?:\?(?:{_REST}|\?)*)?(?:{_FRAGMENT.pattern})?")
_IMAGE: Final = re.compile(r"/Modhub/(?:file|game-icon)/[1-9][0-9]{0,17}", re.ASCII)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def allowed_link(value: str) -> str | None:
    """``value`` if a page may link to it: a fragment, an address of this service, the web, an email address."""
    if _FRAGMENT.fullmatch(value) or _OWN.fullmatch(value):
        return value
    return web_link(value)


def allowed_image(value: str) -> str | None:
    """``value`` if it is an image of this service; others are not loaded."""
    return value if _IMAGE.fullmatch(value) else None


def resolve(href: str, page: str) -> str | None:
    """The target of a link on the page with the path ``page``; None if it is not allowed.

    Relative links are resolved against the page's folder, as in a browser; ``..`` stops at the root of the wiki.
    """
    if _SCHEME.match(href) or href.startswith(("/", "#")):
        return allowed_link(href)
    before, hash_sign, fragment = href.partition("#")
    segments = page.split("/")[:-1]
    for segment in unquote(before.partition("?")[0]).split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in {"", "."}:
            segments.append(segment)
    target = "/".join(segments)
    if not target:
        address = ROOT
    elif parse_path(target):
        address = page_url(target)
    else:
        return None
    return allowed_link(address + hash_sign + fragment)
