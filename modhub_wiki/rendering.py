"""From Markdown to what is shown: HTML with one ``h1``, named headings, a table of contents, and the words for search.

CommonMark with tables and fenced code (C-WIKI-8), done once, when a page is published. Raw HTML is text, and what
the renderer makes passes the cleaner of the core all the same. The time is bounded: a page that would take more
work than :mod:`modhub_wiki.limits` allows is shown as plain text, as it was sent.
"""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from modhub import limits as core_limits
from modhub import text
from modhub.markup import clean
from modhub_wiki import limits
from modhub_wiki.allowlist import WIKI
from modhub_wiki.effort import EFFORT, Effort, TooMuchWork, measured
from modhub_wiki.headings import TocEntry, first_heading, flat, name_headings, one_title
from modhub_wiki.highlighting import Highlighter
from modhub_wiki.links import allowed_picture, resolve

AS_TEXT: Final = "This page is too complex to be laid out, so it is shown as plain text."
_LANGUAGE: Final = re.compile(r"\s*([^\s,{]+)")
_LONGEST_HTML: Final = 16 * core_limits.MB
_COLOURS: Final = "colours"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as it is shown. ``plain`` is its text without marks, line by line."""

    title: str
    html: str
    plain: str
    contents: list[TocEntry] = field(default_factory=list)


def render(source: str, path: str, title: str | None = None) -> Rendered:
    """The page ``path`` with the Markdown ``source``; ``title`` wins over its first heading and that over its path."""
    given = text.line(title or "", core_limits.TITLE)
    try:
        if source.count("\n") > limits.MAX_WIKI_LINES:
            raise TooMuchWork
        tokens = _parser().parse(source, {EFFORT: Effort()})
    except TooMuchWork:
        return _as_text(source, path, given)
    plain = "\n".join(_words(tokens))
    given = given or first_heading(tokens) or _last_segment(path)
    tokens = one_title(tokens, given)
    contents = name_headings(tokens)
    for token in tokens:
        _prepare(token, path)
    parser = _parser()
    html = parser.renderer.render(tokens, parser.options, {_COLOURS: Highlighter()})
    return Rendered(given, clean(html, _LONGEST_HTML, allow=WIKI), plain, contents)


def _last_segment(path: str) -> str:
    return text.line(path.rpartition("/")[2], core_limits.TITLE)


def _as_text(source: str, path: str, title: str) -> Rendered:
    title = title or _heading_of(source[: limits.BEGINNING]) or _last_segment(path)
    shown = f'<pre class="code" tabindex="0"><code>{escape(source)}</code></pre>'
    return Rendered(title, f"<h1>{escape(title)}</h1>\n<p>{AS_TEXT}</p>\n{shown}", source)


def _heading_of(beginning: str) -> str:
    """The first heading of a text that is not rendered; what stands in other lines costs nothing."""
    parser = MarkdownIt("commonmark", {"html": False})
    blocks = parser.disable("inline").parse(beginning)
    parser.enable("inline")
    headings = [inline.content for token, inline in pairwise(blocks) if token.type == "heading_open"]
    for heading in filter(None, headings[: limits.TITLES]):
        shown = text.line(flat(parser.parseInline(heading[: 4 * core_limits.TITLE])[0]), core_limits.TITLE)
        if shown:
            return shown
    return ""


def _parser() -> MarkdownIt:
    parser = measured(MarkdownIt("commonmark", {"html": False}).enable("table"))
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return parser


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield flat(token)
        elif token.content:
            yield token.content


def _prepare(token: Token, path: str) -> None:
    """Links that lead where they should, pictures of our own alone, alignment without inline style."""
    if token.type == "inline":
        token.children = list(_linked(token.children or (), path))
    elif token.type in {"th_open", "td_open"} and "style" in token.attrs:
        token.attrs = {"class": str(token.attrs["style"]).rpartition(":")[2]}


def _linked(children: Sequence[Token], path: str) -> Iterator[Token]:
    inside = False
    for child in children:
        if child.type == "link_open":
            inside = True
            _lead(child, str(child.attrs["href"]), path)
        inside = inside and child.type != "link_close"
        if child.type == "image" and allowed_picture(str(child.attrs["src"])) is None:
            yield from _named_picture(child, path, inside)
        else:
            if child.type == "image":
                child.attrs["loading"] = "lazy"
            yield child


def _lead(link: Token, href: str, path: str) -> None:
    target = resolve(href, path)
    # Without an address the cleaner takes the link away and leaves its text.
    link.attrs = {**link.attrs, "href": target} if target else {}


def _named_picture(image: Token, path: str, inside: bool) -> Iterator[Token]:
    """A picture from elsewhere: its name, which leads to it, instead of it."""
    source = str(image.attrs["src"])
    name = Token("text", "", 0, content=image.content or source)
    if inside:
        yield name
        return
    opening = Token("link_open", "a", 1)
    _lead(opening, source, path)
    yield from (opening, name, Token("link_close", "a", -1))


def _fence(_renderer: Any, tokens: Sequence[Token], at: int, _options: Any, env: MutableMapping[str, Any]) -> str:
    code = tokens[at].content
    language = _LANGUAGE.match(tokens[at].info)
    shown = env[_COLOURS](code, language[1]) if language else escape(code, quote=False)
    return f'<pre class="code" tabindex="0"><code>{shown}</code></pre>\n'
