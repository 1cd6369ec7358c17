"""Descriptions as owners write them: text, Markdown or HTML. HTML is stored, its source is kept beside it.

The source, with the format that was chosen, is a row with the SHA-256 of its description: if the API or older code has
changed the description, the source is not shown. HTML has no row, because it is its own source. "Recognized by itself"
is kept as chosen, so that a text that later gets a tag is HTML. Markdown may contain HTML: everything passes the
allowlist afterwards. A text that takes too much work is stored as plain paragraphs.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from html import escape
from typing import Final

from sqlalchemy.orm import Session

from modhub.catalogue.markdown import render_markdown
from modhub.catalogue.models import DescriptionSource
from modhub.content import limits, text

_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n\s*")
_HTML_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>")
_MARKDOWN_SIGN: Final = re.compile(
    r"""(?mx)
    ^\#{1,6}[ ]\S                                       # a heading
    | ^(?:[-*+]|\d{1,3}[.)])[ ]\S.*\n+(?:[-*+]|\d{1,3}[.)])[ ]\S   # a list of two or more
    | ^```                                              # a block of code
    | \*\*[^\s*][^*\n]*\*\*                              # strong
    | \[[^][\n]+\]\([^\s()]+\)                           # a link or an image
    """
)


class TextFormat(StrEnum):
    """The formats of a description."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class WrittenDescription:
    """A description as it was typed, cut to its limit, and as HTML that still has to be cleaned."""

    source: str
    chosen: str
    """The format that was chosen; empty if it was left to be recognized."""
    html: str | None
    """None if the source is HTML."""
    is_cut: bool


def write_description(submitted: str, chosen: str) -> WrittenDescription:
    """Convert what an owner typed. ``chosen`` is a :class:`TextFormat`; for anything else the text tells."""
    source = text.block(submitted, limits.DESCRIPTION)
    chosen = chosen if chosen in set(TextFormat) else ""
    match chosen or _guess_format(source):
        case TextFormat.TEXT:
            html = _paragraphs(source)
        case TextFormat.MARKDOWN:
            html = _render_markdown(source)
        case _:
            return WrittenDescription(submitted, chosen, None, is_cut=False)
    return WrittenDescription(source, chosen, html, is_cut=len(text.block(submitted, 4 * len(submitted))) > len(source))


def _guess_format(source: str) -> TextFormat:
    if _HTML_TAG.search(source):
        return TextFormat.HTML
    if _MARKDOWN_SIGN.search(source):
        return TextFormat.MARKDOWN
    return TextFormat.TEXT if "\n" in source else TextFormat.HTML


def _paragraphs(source: str) -> str:
    paragraphs = filter(None, map(str.strip, _PARAGRAPHS.split(source)))
    return "".join(f"<p>{escape(paragraph).replace(chr(10), '<br>')}</p>" for paragraph in paragraphs)


def _render_markdown(source: str) -> str:
    html = render_markdown(source)
    return _paragraphs(source) if html is None else html


def digest_of(description: str) -> str:
    """Return the digest by which a source knows its description."""
    return sha256(description.encode()).hexdigest()


def keep_source(session: Session, mod_id: int, description: str, written: WrittenDescription | None) -> None:
    """Replace the source of a description by what it was written from; HTML is its own source."""
    stored = session.get(DescriptionSource, mod_id)
    if written is None or written.html is None:
        if stored is not None:
            session.delete(stored)
        return
    if stored is None:
        stored = DescriptionSource(mod_id=mod_id)
        session.add(stored)
    stored.text_format, stored.source, stored.sha256 = written.chosen, written.source, digest_of(description)
