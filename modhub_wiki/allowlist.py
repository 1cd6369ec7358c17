"""What the HTML of a page may hold: the owners' allowlist, and what our own renderer adds to it."""

import re
from collections.abc import Callable
from typing import Final

from modhub.markup import OWNERS, Allowlist, phrase
from modhub_wiki.links import allowed_link, allowed_picture

AttributeCheck = Callable[[str], str | None]
HEADING_TAGS: Final = tuple(f"h{level}" for level in range(1, 7))


def _only(pattern: str) -> AttributeCheck:
    expression = re.compile(pattern, re.ASCII)
    return lambda value: value if expression.fullmatch(value) else None


def _name(value: str) -> str | None:
    return value if value and all(char == "-" or char.isalnum() for char in value) else None


_CELL: Final = {"class": _only("left|center|right")}

WIKI: Final = Allowlist(
    tags=OWNERS.tags | {*HEADING_TAGS, "div"},
    attributes={
        **{heading: {"id": _name} for heading in HEADING_TAGS},
        "a": {
            "href": allowed_link,
            "title": phrase,
            "class": _only("anchor"),
            "aria-hidden": _only("true"),
            "tabindex": _only("-1"),
        },
        "img": {"src": allowed_picture, "alt": phrase, "title": phrase, "loading": _only("lazy")},
        "ol": {"start": _only("[0-9]{1,9}")},
        "th": _CELL,
        "td": _CELL,
        "div": {"class": _only("scroll"), "tabindex": _only("0")},
        "pre": {"class": _only("code"), "tabindex": _only("0")},
        "span": {"class": _only("hl-[a-z]")},
    },
    needed={"a": "href", "img": "src"},
    rel="noopener",
    trusted=True,
)
