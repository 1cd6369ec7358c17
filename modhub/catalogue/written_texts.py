"""Descriptions and changelog entries as owners write them: text, Markdown or HTML. HTML is stored, with its source.

The source, with the format that was chosen, is a row with the SHA-256 of the HTML: if the API has changed
that, the source is not shown. HTML has no row, because it is its own source. "Recognized by itself" is kept as chosen,
so that a text that later gets a tag is HTML. Markdown may contain HTML: everything passes the allowlist afterwards. A
text that takes too much work is stored as plain paragraphs.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from html import escape, unescape
from typing import Final

from sqlalchemy.orm import Session

from modhub.catalogue.markdown import render_markdown
from modhub.catalogue.models import DescriptionSource, NoteSource
from modhub.content import text
from modhub.content.markup import BLOCKS, OWNERS, RENAMED

_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n\s*")
_TAG: Final = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)(?:\s[^<>]*)?/?>")
_KNOWN_TAGS: Final = OWNERS.tags | OWNERS.dropped_with_content | RENAMED.keys() | BLOCKS
_CLOSED_BY_ITSELF: Final = {"br", "hr", "img", "p", "li", "dt", "dd", "tr", "td", "th", "option"}
_CODE: Final = re.compile(
    r"""(?mxs)
    ^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^`\n]*$ .*? (?:^[ ]{0,3}(?P=fence)[`~]*[ \t]*$ | \Z)
    | (?<!`)(?P<ticks>`{1,3})(?!`) [^\n]*? (?<!`)(?P=ticks)(?!`)
    """
)
_HTML_CODE: Final = re.compile(r"(?is)<(pre|code|script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)")
_MARKDOWN: Final = re.compile(
    r"""(?mx)
    ^[ ]{0,3}\#{1,6}[ \t]+\S                             # a heading
    | ^[ ]{0,3}\|?[ \t]*:?-{3,}:?[ \t]*\|                # the line below the head of a table
    | ^[ ]{0,3}\[[^][\n]+\]:[ \t]+\S                    # the address of a link
    | \[[^][\n]+\]\(<?[^\s()<>]+>?(?:\s+"[^"\n]*")?\)  # a link or an image
    """
)
_ITEM: Final = re.compile(r"(?m)^[ ]{0,3}(?:[-*+]|\d{1,3}[.)])[ \t]+\S")
_STRONG: Final = re.compile(r"\*\*[^\s*][^*\n]*\*\*")
_KEYS: Final = {DescriptionSource: "mod_id", NoteSource: "note_id"}


class TextFormat(StrEnum):
    """The formats in which owners write."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text as it was typed, cut to its limit, and as HTML that still has to be cleaned."""

    source: str
    chosen: str
    """The format that was chosen; empty if it was left to be recognized."""
    html: str | None
    """None if the source is HTML."""
    is_cut: bool

    @property
    def uncleaned(self) -> str:
        """The HTML, whatever it was written in; it still has to be cleaned."""
        return self.source if self.html is None else self.html


def write_text(submitted: str, chosen: str, limit: int) -> WrittenText:
    """Convert what an owner typed, at most ``limit`` characters of it.

    ``chosen`` is a :class:`TextFormat`; for anything else the text tells.
    """
    source = text.block(submitted, limit)
    chosen = chosen if chosen in set(TextFormat) else ""
    match chosen or _guess_format(source):
        case TextFormat.TEXT:
            html = _paragraphs(source)
        case TextFormat.MARKDOWN:
            html = _render_markdown(source)
        case _:
            return WrittenText(submitted, chosen, None, is_cut=False)
    return WrittenText(source, chosen, html, is_cut=len(text.block(submitted, 4 * len(submitted))) > len(source))


def _guess_format(source: str) -> TextFormat:
    """Markdown, which may contain HTML, is found first: by what else nobody writes, or by two signs against tags.

    What stands in code is neither sign nor tag; the code itself is a sign.
    """
    prose, signs = _CODE.subn("", source)
    has_tags = _has_known_tags(prose)
    if has_tags:
        prose = _TAG.sub("", _HTML_CODE.sub("", prose))
    signs += len(_STRONG.findall(prose))
    if _MARKDOWN.search(prose) or len(_ITEM.findall(prose)) > 1 or signs > has_tags:
        return TextFormat.MARKDOWN
    # A line with a bare & or < is text: as HTML its author would be shown &amp; or &lt; in the form.
    has_bare_sign = escape(source, quote=False) != source == unescape(source)
    is_text = not has_tags and ("\n" in source or has_bare_sign)
    return TextFormat.TEXT if is_text else TextFormat.HTML


def _has_known_tags(source: str) -> bool:
    """Whether a known tag is there that is closed, if it has to be: who may press <S> or <B> writes no HTML."""
    tags = {(is_end, name.lower()) for is_end, name in _TAG.findall(source)}
    known = {name for is_end, name in tags if not is_end and name in _KNOWN_TAGS}
    return any(name in _CLOSED_BY_ITSELF or ("/", name) in tags for name in known)


def _paragraphs(source: str) -> str:
    paragraphs = filter(None, map(str.strip, _PARAGRAPHS.split(source)))
    return "".join(f"<p>{escape(paragraph).replace(chr(10), '<br>')}</p>" for paragraph in paragraphs)


def _render_markdown(source: str) -> str:
    html = render_markdown(source)
    return _paragraphs(source) if html is None else html


def digest_of(html: str) -> str:
    """Return the digest by which a source knows what was made of it."""
    return sha256(html.encode()).hexdigest()


def keep_source(
    session: Session, model: type[DescriptionSource | NoteSource], key: int, html: str, written: WrittenText | None
) -> None:
    """Replace the source of a stored text by what it was written from; HTML is its own source.

    ``key`` is the id of the mod or of the entry.
    """
    stored = session.get(model, key)
    if written is None or written.html is None:
        if stored is not None:
            session.delete(stored)
        return
    values = {"text_format": written.chosen, "source": written.source, "sha256": digest_of(html)}
    if stored is None:
        session.add(model(**{_KEYS[model]: key}, **values))
        return
    for name, value in values.items():
        setattr(stored, name, value)


def written_source(stored: DescriptionSource | NoteSource | None, html: str) -> tuple[str, str]:
    """Return (source, chosen format) of a stored text; itself if it is HTML, or if it was changed by other means.

    The format of HTML without a tag is HTML where the text would tell another one: it is saved as it was.
    """
    if stored is None or stored.sha256 != digest_of(html):
        return html, "" if _guess_format(html) is TextFormat.HTML else TextFormat.HTML.value
    return stored.source, stored.text_format
