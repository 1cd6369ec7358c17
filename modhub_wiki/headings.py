"""Headings of a page: their text, their ids, its one title, its table of contents (C-WIKI-9, C-WIKI-8)."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from markdown_it.token import Token
from msgspec import Struct

from modhub import text
from modhub.limits import TITLE
from modhub.outline import Outline

_NAMELESS: Final = "section"
_LONGEST: Final = 200


class TocEntry(Struct):
    """A line of the table of contents."""

    level: int
    id: str
    text: str


def flat(inline: Token) -> str:
    """The text of an inline token without its marks; the alternative text of pictures."""
    return "".join(_pieces(inline.children or ()))


def _pieces(children: Sequence[Token]) -> list[str]:
    breaks = {"softbreak": " ", "hardbreak": " "}
    return [breaks.get(child.type, child.content) for child in children]


def slug(heading: str) -> str:
    """The id of a heading: lower case, letters and digits kept, runs of anything else one hyphen, none at the ends."""
    small = text.normal("NFC", text.normal("NFC", heading).lower())
    words = "".join(char if char.isalnum() else " " for char in small).split()
    return "-".join(words)[:_LONGEST].rstrip("-") or _NAMELESS


class Names:
    """Ids of one page: a doubled one is numbered, ``setup``, ``setup-2``, ``setup-3``."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def give(self, wanted: str) -> str:
        """``wanted``, or its first free number."""
        found, number = wanted, self._next.get(wanted, 1)
        while found in self._next:
            number += 1
            found = f"{wanted}-{number}"
        self._next[wanted] = number
        self._next.setdefault(found, 1)
        return found


def first_heading(tokens: Sequence[Token]) -> str:
    """The text of the first heading that has one; ``""`` when there is none."""
    headings = (text.line(flat(tokens[at + 1]), TITLE) for at, token in _headings(tokens))
    return next(filter(None, headings), "")


def _headings(tokens: Sequence[Token]) -> list[tuple[int, Token]]:
    return [(at, token) for at, token in enumerate(tokens) if token.type == "heading_open"]


def one_title(tokens: list[Token], title: str) -> list[Token]:
    """The page with ``title`` as its one ``h1``.

    When the text begins with that very heading it is the title; else the title is put before the text. The headings of
    the text come below it, without gaps.
    """
    begins = bool(tokens) and tokens[0].type == "heading_open" and tokens[0].tag == "h1"
    if begins and text.line(flat(tokens[1]), TITLE) == title:
        top, rest = tokens[:3], tokens[3:]
    else:
        top, rest = _title(title), tokens
    outline = Outline(below=1)
    for at, token in _headings(rest):
        # A heading is three tokens: its beginning, its text, its end.
        token.tag = rest[at + 2].tag = f"h{outline.level(int(token.tag[1:]))}"
    return [*top, *rest]


def _title(title: str) -> list[Token]:
    inline = Token("inline", "", 0, content=title, children=[Token("text", "", 0, content=title)])
    # Not a heading of the text: it gets no id, so that it takes none from one that is.
    return [Token("title_open", "h1", 1, block=True), inline, Token("title_close", "h1", -1, block=True)]


def name_headings(tokens: Sequence[Token]) -> list[TocEntry]:
    """Give every heading its id and its anchor; the table of contents, in which the title is left out."""
    names = Names()
    contents = []
    for at, token in _headings(tokens):
        inline = tokens[at + 1]
        shown = text.line(flat(inline), TITLE)
        name = names.give(slug(shown))
        token.attrSet("id", name)
        # For the pointer only: with the keyboard the table of contents leads to the same place.
        anchor = f'<a class="anchor" href="#{quote(name)}" aria-hidden="true" tabindex="-1">#</a>'
        assert inline.children is not None
        inline.children.append(Token("html_inline", "", 0, content=anchor))
        if at > 0:
            contents.append(TocEntry(int(token.tag[1:]), name, shown or name))
    return contents
