"""Renders Markdown to HTML with one ``h1``, heading ids and a table of contents, and to plain text for search.

CommonMark with tables and fenced code (C-WIKI-8), rendered once, on publication. Front matter and comments are left
out. Raw HTML is escaped, and the output still passes the core's HTML cleaner. Time is bounded: a page that exceeds
:mod:`modhub_wiki.limits` is shown as plain text.
"""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from modhub.content import limits as core_limits
from modhub.content import text
from modhub.content.markdown_effort import EFFORT, Effort, TooMuchWork, WorkLimits, meter_parser
from modhub.content.markup import clean
from modhub_wiki import limits
from modhub_wiki.allowlist import WIKI
from modhub_wiki.headings import first_heading, name_headings, plain_text, set_title
from modhub_wiki.highlighting import Highlighter
from modhub_wiki.links import allowed_image, resolve
from modhub_wiki.response_schemas import TocEntry

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
