"""Where links and images of a page lead: between pages, to the service's own addresses, elsewhere (C-WIKI-1, C-WIKI-8).

Whatever an address says, what comes of it here is one that :data:`modhub_wiki.allowlist.WIKI` keeps, or None.
"""

import re
from typing import Final
from urllib.parse import unquote

from modhub.markup import web_link
from modhub_wiki.resources import parse_path
from modhub_wiki.response_schemas import page_url

ROOT: Final = "/Modhub/Wiki"
_REST: Final = r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]"
_FRAGMENT: Final = re.compile(rf"#(?:{_REST}|\?)*")
_OWN: Final = re.compile(rf"/(?!/){_REST}*(?:\?(?:{_REST}|\?)*)?(?:{_FRAGMENT.pattern})?")
_PICTURE: Final = re.compile(r"/Modhub/(?:file|game-icon)/[1-9][0-9]{0,17}", re.ASCII)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def allowed_link(value: str) -> str | None:
    """``value`` when it is a link that a page may hold: a fragment, an address of this service, the web, mail."""
    if _FRAGMENT.fullmatch(value) or _OWN.fullmatch(value):
        return value
    return web_link(value)


def allowed_picture(value: str) -> str | None:
    """``value`` when it is a picture of this service; others are not loaded."""
    return value if _PICTURE.fullmatch(value) else None


def resolve(href: str, page: str) -> str | None:
    """The address that a link of the page with the path ``page`` leads to; None when it leads nowhere.

    A relative link names a page from the folder of this one, as a browser would resolve it; ``..`` ends at the wiki.
    """
    if _SCHEME.match(href) or href.startswith(("/", "#")):
        return allowed_link(href)
    before, mark, fragment = href.partition("#")
    segments = page.split("/")[:-1]
    for part in unquote(before.partition("?")[0]).split("/"):
        if part == "..":
            del segments[-1:]
        elif part not in {"", "."}:
            segments.append(part)
    target = "/".join(segments)
    if not target:
        address = ROOT
    elif parse_path(target):
        address = page_url(target)
    else:
        return None
    return allowed_link(address + mark + fragment)
