"""Allowed HTML of wiki pages: the allowlist of mod descriptions, plus what our renderer produces."""

import re
from collections.abc import Callable
from typing import Final

from modhub.content.markup import OWNERS, Allowlist, phrase
from modhub_wiki.links import allowed_image, allowed_link

AttributeCheck = Callable[[str], str | None]
HEADING_TAGS: Final = tuple(f"h{level}" for level in range(1, 7))


def _matching(pattern: str) -> AttributeCheck:
    expression = re.compile(pattern, re.ASCII)
    return lambda value: value if expression.fullmatch(value) else None


def _heading_id(value: str) -> str | None:
    return value if value and all(char == "-" or char.isalnum() for char in value) else None


_CELL: Final = {"class": _matching("left|center|right")}

WIKI: Final = Allowlist(
    tags=OWNERS.tags | {*HEADING_TAGS, "div"},
    attributes={
        **{heading: {"id": _heading_id} for heading in HEADING_TAGS},
        "a": {
            "href": allowed_link,
            "title": phrase,
            "class": _matching("anchor"),
            "aria-hidden": _matching("true"),
            "tabindex": _matching("-1"),
        },
        "img": {"src": allowed_image, "alt": phrase, "title": phrase, "loading": _matching("lazy")},
        "ol": {"start": _matching("[0-9]{1,9}")},
        "th": _CELL,
        "td": _CELL,
        "div": {"class": _matching("scroll"), "tabindex": _matching("0")},
        "pre": {"class": _matching("code"), "tabindex": _matching("0")},
        "span": {"class": _matching("hl-[a-z]")},
    },
    required={"a": "href", "img": "src"},
    rel="noopener",
    trusted=True,
)
