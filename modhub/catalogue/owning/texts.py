"""Descriptions and changelog entries as owners write them: text, Markdown or HTML. HTML is stored, with its source.

The source, with the format that was chosen, is a row with the SHA-256 of the HTML: if the API has changed
that, the source is not shown. HTML has no row, because it is its own source. "Recognized by itself" is kept as chosen,
so that a text that later gets a tag is HTML. Markdown may contain HTML: everything passes the allowlist afterwards. A
text that takes too much work is stored as plain paragraphs.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from html import escape, unescape
from html.parser import HTMLParser
from typing import Any, Final

from markdown_it import MarkdownIt
from sqlalchemy.orm import Session

from modhub.catalogue.bodies import MAX_GAMES_EXAMINED, CleanedMod, CleanedNote, NoteChange
from modhub.catalogue.documents import RemovedDocument
from modhub.catalogue.models import DescriptionSource, NoteSource
from modhub.content import limits, text
from modhub.content.folding import fold_game
from modhub.content.markdown_effort import EFFORT, Effort, TooMuchWork, WorkLimits, meter_parser
from modhub.content.markdown_tables import fill_tables
from modhub.content.markup import BLOCKS, OWNERS, RENAMED, WITH_CONTENT, clean

# Ordinary text of the longest description takes 14,000 units, one of nothing but marks 90,000.
_LIMITS: Final = WorkLimits(work=120_000, block_work=80_000, emphasis_work=80_000, mark_work=80_000, headings=400)
_LOWEST: Final = 4
"""The level of the lowest heading on the allowlist; the highest is 2."""

fill_tables(MarkdownIt("commonmark"))  # each text has a parser of its own; the tables of addresses are of all


def render_markdown(source: str) -> str | None:
    """Return HTML that has to be cleaned; None for a text that takes too much work."""
    parser = meter_parser(MarkdownIt("commonmark", {"html": True}).enable("table"))
    try:
        tokens = parser.parse(source, {EFFORT: Effort(_LIMITS)})
    except TooMuchWork:
        return None
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 1, _LOWEST)}"
        elif token.type in {"fence", "th_open", "td_open"}:
            # Classes of languages and styles of columns, which the allowlist would remove and the preview would list.
            token.info, token.attrs = "", {}
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html


_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n\s*")
_TAG: Final = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)(?:\s[^<>]*)?/?>")
_KNOWN_TAGS: Final = OWNERS.tags | WITH_CONTENT | RENAMED.keys() | BLOCKS
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


_GROWTH = 8
"""Maximum growth of a text by escaping."""
_NORMAL = 4
"""Maximum growth of a text by normalisation."""


def clean_unlimited_line(submitted: str) -> str:
    """Clean a single line without a limit."""
    return text.line(submitted, _NORMAL * len(submitted))


def is_line_truncated(submitted: str, stored: str | None) -> bool:
    """Whether a single line was truncated."""
    return clean_unlimited_line(submitted) != (stored or "")


def is_html_truncated(submitted: str, stored: str, limit: int) -> bool:
    """Whether an HTML text was truncated, before or after escaping ``&`` and ``<``."""
    cleaned_text = text.block(submitted, _NORMAL * len(submitted))
    if len(cleaned_text) > limit:
        return True
    return len(cleaned_text) * _GROWTH > limit and clean(cleaned_text, limit * _GROWTH) != stored


def are_games_truncated(submitted: list[str]) -> bool:
    """Whether a game's name was truncated, or games were dropped."""
    different = dict.fromkeys(submitted)
    if len(different) > MAX_GAMES_EXAMINED:
        return True
    names = [clean_unlimited_line(game) for game in different]
    folded = {fold_game(name) for name in names if name}
    return len(folded) > limits.GAMES or any(len(name) > limits.GAME for name in names)


def truncated_details(submitted: Mapping[str, Any], cleaned: CleanedMod) -> list[str]:
    """Return the names of the fields of ``submitted`` that cleaning truncated."""
    truncated = {
        "title": "title" in submitted and is_line_truncated(submitted["title"], cleaned.title),
        "description": "description" in submitted
        and is_html_truncated(submitted["description"], cleaned.description or "", limits.DESCRIPTION),
        "games": are_games_truncated(submitted.get("games", [])),
    }
    return [name for name, is_lost in truncated.items() if is_lost]


def truncated_note_fields(submitted: NoteChange, cleaned: CleanedNote, written: WrittenText | None) -> list[str]:
    """Return the names of the fields of a changelog entry that cleaning truncated; ``written``: what it is made of."""
    is_cut = written is not None and written.is_cut
    truncated = {
        "title": isinstance(submitted.title, str) and is_line_truncated(submitted.title, cleaned.title or None),
        "text": is_cut
        or (isinstance(submitted.text, str) and is_html_truncated(submitted.text, cleaned.text or "", limits.NOTE)),
    }
    return [name for name, is_lost in truncated.items() if is_lost]


_PARTLY_REMOVED: Final = {"img", "a", "h2", "h3", "h4"}
"""Images of other sites, and what is empty without them, are removed, while others stay."""


class _Markup(HTMLParser):
    """Counts tags, and collects the attributes of each."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: dict[tuple[str, str], None] = {}
        self.feed(source[: 2 * limits.DESCRIPTION])
        self.close()

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        """Note a start tag, by the name under which it is kept."""
        tag = RENAMED.get(tag, tag)
        self.tags[tag] += 1
        self.attributes |= {(tag, name): None for name, _ in attrs}


def find_removed_markup(submitted: str, cleaned: str) -> RemovedDocument:
    """Compare what was submitted with what is left of it. Attributes of removed tags are not listed.

    Names are in the order in which they first occur.
    """
    before, after = _Markup(submitted), _Markup(cleaned)
    tags = [
        tag
        for tag, count in before.tags.items()
        if not after.tags[tag] or (tag in _PARTLY_REMOVED and after.tags[tag] < count)
    ]
    lost = [name for tag, name in before.attributes if after.tags[tag] and (tag, name) not in after.attributes]
    return RemovedDocument(tags, list(dict.fromkeys(lost)))


def preview_text(submitted: str, limit: int) -> dict[str, Any]:
    """Return the values for the preview of HTML: what would be stored, and what cleaning removed."""
    cleaned = clean(submitted, limit)
    return {"shown": cleaned, "removed": find_removed_markup(submitted, cleaned)}
