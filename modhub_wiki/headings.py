"""Headings of a page: text, ids, the single title, the table of contents (C-WIKI-8, C-WIKI-9)."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from markdown_it.token import Token

from modhub.content import text
from modhub.content.limits import TITLE
from modhub.content.outline import Outline
from modhub_wiki.response_schemas import TocEntry

_NAMELESS: Final = "section"
_LONGEST: Final = 200


def plain_text(inline: Token) -> str:
    """The text of an inline token without markup; images count as their alternative text."""
    return "".join(_texts(inline.children or ()))


def _texts(children: Sequence[Token]) -> list[str]:
    breaks = {"softbreak": " ", "hardbreak": " "}
    return [breaks.get(child.type, child.content) for child in children]


def slug(heading: str) -> str:
    """The id of a heading: lower case, letters and digits kept, other runs become one hyphen, none at the ends."""
    small = text.normal("NFC", text.normal("NFC", heading).lower())
    words = "".join(char if char.isalnum() else " " for char in small).split()
    return "-".join(words)[:_LONGEST].rstrip("-") or _NAMELESS


class HeadingIds:
    """The ids of one page. Repeated ones are numbered: ``setup``, ``setup-2``, ``setup-3``."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def assign(self, base: str) -> str:
        """``base``, or the first free ``base-N``."""
        heading_id, number = base, self._next.get(base, 1)
        while heading_id in self._next:
            number += 1
            heading_id = f"{base}-{number}"
        self._next[base] = number
        self._next.setdefault(heading_id, 1)
        return heading_id


def first_heading(tokens: Sequence[Token]) -> str:
    """The text of the first non-empty heading; ``""`` if there is none."""
    headings = (text.line(plain_text(tokens[at + 1]), TITLE) for at, token in _headings(tokens))
    return next(filter(None, headings), "")


def _headings(tokens: Sequence[Token]) -> list[tuple[int, Token]]:
    return [(at, token) for at, token in enumerate(tokens) if token.type == "heading_open"]


def set_title(tokens: list[Token], title: str) -> list[Token]:
    """The page with ``title`` as its only ``h1``.

    If the text begins with that heading, it becomes the title; otherwise the title is inserted first. All other
    headings are moved below it, without gaps between levels.
    """
    begins = bool(tokens) and tokens[0].type == "heading_open" and tokens[0].tag == "h1"
    if begins and text.line(plain_text(tokens[1]), TITLE) == title:
        heading, rest = tokens[:3], tokens[3:]
    else:
        heading, rest = _title_tokens(title), tokens
    outline = Outline(below=1)
    for at, token in _headings(rest):
        # A heading is three tokens: opening, text, closing.
        token.tag = rest[at + 2].tag = f"h{outline.level(int(token.tag[1:]))}"
    return [*heading, *rest]


def _title_tokens(title: str) -> list[Token]:
    inline = Token("inline", "", 0, content=title, children=[Token("text", "", 0, content=title)])
    # Not a heading token: it gets no id, so that it takes none from a heading of the text.
    return [Token("title_open", "h1", 1, block=True), inline, Token("title_close", "h1", -1, block=True)]


def name_headings(tokens: Sequence[Token]) -> list[TocEntry]:
    """Add an id and an anchor to every heading. Returns the table of contents, without the title."""
    ids = HeadingIds()
    contents = []
    for at, token in _headings(tokens):
        inline = tokens[at + 1]
        caption = text.line(plain_text(inline), TITLE)
        heading_id = ids.assign(slug(caption))
        token.attrSet("id", heading_id)
        # For the pointer only: keyboard users have the table of contents.
        anchor = f'<a class="anchor" href="#{quote(heading_id)}" aria-hidden="true" tabindex="-1">#</a>'
        assert inline.children is not None
        inline.children.append(Token("html_inline", "", 0, content=anchor))
        if at > 0:
            contents.append(TocEntry(int(token.tag[1:]), heading_id, caption or heading_id))
    return contents
