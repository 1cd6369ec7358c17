"""Renders Markdown to HTML with one ``h1``, heading ids and a table of contents, and to plain text for search.

CommonMark with tables and fenced code (C-WIKI-8), rendered once, on publication. Front matter and comments are left
out. Raw HTML is escaped, and the output still passes the core's HTML cleaner. Time is bounded: a page that exceeds
:mod:`modhub_wiki.limits` is shown as plain text.
"""

import re
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any, Final
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from modhub.content import limits as core_limits
from modhub.content import text
from modhub.content.limits import TITLE
from modhub.content.markdown_effort import EFFORT, Effort, TooMuchWork, WorkLimits, meter_parser
from modhub.content.markup import OWNERS, Allowlist, clean, phrase
from modhub.content.outline import Outline
from modhub_wiki import limits
from modhub_wiki.highlighting import Highlighter
from modhub_wiki.links import allowed_image, allowed_link, resolve
from modhub_wiki.response_schemas import TocEntry

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


AS_TEXT: Final = "This page is too complex to be laid out, so it is shown as plain text."
# As Pandoc has it: a rule, which is the same line, is followed by an empty one.
_FRONT_MATTER: Final = re.compile(r"(?ms)\A---[ \t]*\n(?![ \t]*$)(?P<fields>.*?)^---[ \t]*(?:\n|\Z)")
_TITLE: Final = re.compile(r"""(?m)^title:[ \t]+(["']?)(?![|>][+-]?[ \t]*$)(.+?)\1[ \t]*$""")
_CODE_OR_COMMENT: Final = re.compile(
    r"""(?mxs)
    (?P<code>
    ^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*$ .*? (?:^[ \t>]*(?P=fence)[`~]*[ \t]*$ | \Z)
    | (?<!`)(?P<ticks>`{1,2})(?!`) [^\n]*? (?<!`)(?P=ticks)(?!`)
    )
    | ^[ \t]*<!--.*?-->[ \t]*\n
    | <!--.*?-->
    """
)
_COMMENT_END: Final = "-->"
_LANGUAGE: Final = re.compile(r"\s*([^\s,{]+)")
_LONGEST_HTML: Final = 16 * core_limits.MB
_HIGHLIGHTER: Final = "highlighter"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered page. ``plain`` is its text without markup, line by line."""

    title: str
    html: str
    plain: str
    contents: list[TocEntry] = field(default_factory=list)


def render(source: str, path: str, title: str | None = None) -> Rendered:
    """Render the page ``path``.

    Its title is ``title``, else that of the front matter, else the first heading, else the last segment of the path.
    """
    fields, source = _split_front_matter(source)
    named = _TITLE.search(fields)
    title = text.line(title or "", core_limits.TITLE) or text.line(named[2] if named else "", core_limits.TITLE)
    source = _without_comments(source)
    try:
        if source.count("\n") > limits.MAX_WIKI_LINES:
            raise TooMuchWork
        work = WorkLimits(limits.WORK, limits.BLOCK_WORK, limits.EMPHASIS_WORK, limits.MARK_WORK, limits.HEADINGS)
        tokens = _parser().parse(source, {EFFORT: Effort(work)})
    except TooMuchWork:
        return _as_text(source, path, title)
    plain = "\n".join(_plain_lines(tokens))
    title = title or first_heading(tokens) or _last_segment(path)
    tokens = set_title(tokens, title)
    contents = name_headings(tokens)
    for token in tokens:
        _adjust_token(token, path)
    parser = _parser()
    html = parser.renderer.render(tokens, parser.options, {_HIGHLIGHTER: Highlighter()})
    return Rendered(title, clean(html, _LONGEST_HTML, allow=WIKI), plain, contents)


def _split_front_matter(source: str) -> tuple[str, str]:
    match = _FRONT_MATTER.match(source)
    return (match["fields"], source[match.end() :]) if match else ("", source)


def _without_comments(source: str) -> str:
    # Behind the line of the last end of a comment there is none: no search is in vain, however many begin.
    commented, end, rest = source.rpartition(_COMMENT_END)
    line, newline, others = rest.partition("\n")
    if not line.strip():
        end, rest = end + newline, others
    return _CODE_OR_COMMENT.sub(lambda match: match["code"] or "", commented + end) + rest


def _last_segment(path: str) -> str:
    return text.line(path.rpartition("/")[2], core_limits.TITLE)


def _as_text(source: str, path: str, title: str) -> Rendered:
    title = title or _find_heading(source[: limits.BEGINNING]) or _last_segment(path)
    block = f'<pre class="code" tabindex="0"><code>{escape(source)}</code></pre>'
    return Rendered(title, f"<h1>{escape(title)}</h1>\n<p>{AS_TEXT}</p>\n{block}", source)


def _find_heading(beginning: str) -> str:
    """The first heading of a text that is not rendered. Only headings are parsed inline, to save work."""
    parser = MarkdownIt("commonmark", {"html": False})
    blocks = parser.disable("inline").parse(beginning)
    parser.enable("inline")
    headings = [inline.content for token, inline in pairwise(blocks) if token.type == "heading_open"]
    for heading in filter(None, headings[: limits.TITLES]):
        title = text.line(plain_text(parser.parseInline(heading[: 4 * core_limits.TITLE])[0]), core_limits.TITLE)
        if title:
            return title
    return ""


def _parser() -> MarkdownIt:
    parser = meter_parser(MarkdownIt("commonmark", {"html": False}).enable("table"))
    parser.add_render_rule("fence", _render_code)
    parser.add_render_rule("code_block", _render_code)
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return parser


def _plain_lines(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield plain_text(token)
        elif token.content:
            yield token.content


def _adjust_token(token: Token, path: str) -> None:
    """Resolve links, allow only our own images, turn inline alignment styles into classes."""
    if token.type == "inline":
        token.children = list(_resolve_links(token.children or (), path))
    elif token.type in {"th_open", "td_open"} and "style" in token.attrs:
        token.attrs = {"class": str(token.attrs["style"]).rpartition(":")[2]}


def _resolve_links(children: Sequence[Token], path: str) -> Iterator[Token]:
    in_link = False
    for child in children:
        if child.type == "link_open":
            in_link = True
            _set_target(child, str(child.attrs["href"]), path)
        in_link = in_link and child.type != "link_close"
        if child.type == "image" and allowed_image(str(child.attrs["src"])) is None:
            yield from _image_link(child, path, in_link)
        else:
            if child.type == "image":
                child.attrs["loading"] = "lazy"
            yield child


def _set_target(link: Token, href: str, path: str) -> None:
    target = resolve(href, path)
    # The cleaner removes a link without an address and keeps its text.
    link.attrs = {**link.attrs, "href": target} if target else {}


def _image_link(image: Token, path: str, in_link: bool) -> Iterator[Token]:
    """An image from another site, replaced with a link to it."""
    source = str(image.attrs["src"])
    name = Token("text", "", 0, content=image.content or source)
    if in_link:
        yield name
        return
    opening = Token("link_open", "a", 1)
    _set_target(opening, source, path)
    yield from (opening, name, Token("link_close", "a", -1))


def _render_code(_renderer: Any, tokens: Sequence[Token], at: int, _options: Any, env: MutableMapping[str, Any]) -> str:
    code = tokens[at].content
    language = _LANGUAGE.match(tokens[at].info)
    html = env[_HIGHLIGHTER](code, language[1]) if language else escape(code, quote=False)
    return f'<pre class="code" tabindex="0"><code>{html}</code></pre>\n'
