"""Rewrites cleaned HTML: within length and depth, nothing left open where it is cut, no words glued together.

(C-TXT-1, C-TXT-8, C-TXT-12; T-A3)
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from modhub.content import limits, text

TAG = re.compile(r'<(/?)([a-z][a-z0-9-]*)((?: [^ ="<>]+="[^"]*")*)>')
"""A tag as nh3 writes it: quoted values with every < and > in them escaped."""
INLINE = {
    *("a", "b", "code", "del", "em", "i", "img", "ins", "kbd", "s", "samp", "small", "span", "strong", "sub", "sup"),
    "u",
}
BLOCK_EDGE = "\f"
"""Stands in a text where the tag of a block was removed; otherwise it is a control character, which vanishes."""
_ATTRIBUTE = re.compile(r' ([^ ="<>]+)="([^"]*)"')
_ENTITY_CUT = re.compile(r"&[#0-9A-Za-z]*\Z")
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_GRAPHIC = re.compile(r"[!-~]")
_NEVER_EMPTY = {"a", "h1", "h2", "h3", "h4", "h5", "h6"}
_LINE_BREAK = "<br>"

# NFC composes ">" and this mark to another character, which would break the tag before it.
_SOLIDUS = "\u0338"


class _Element(NamedTuple):
    """An open element, and what was there when it began: parts of the output, what is visible, a line with text."""

    name: str
    is_dropped: bool
    place: int
    shown: int
    in_line: bool


class HtmlRewriter:
    """Rewrites nh3's output tag by tag: within length and depth, without elements that lack a required attribute.

    A removed block leaves a line break where it parted two texts, a removed image its alternative text. Links and
    headings without content go. ``limit`` is in code points; ``required`` maps an element to the attribute without
    which it is dropped. The input is well formed, so a closing tag always belongs to the innermost open element. Used
    once.
    """

    def __init__(self, limit: int, required: Mapping[str, str]) -> None:
        self._remaining = limit
        self._required = required
        self._output: list[str] = []
        self._open: list[_Element] = []
        self._depth = 0
        self._full = False
        # What parts the next visible thing from the one before it in the same line; how many there were.
        self._gap = ""
        self._in_line = False
        self._is_parted = False
        self._shown = 0

    def fit(self, source: str) -> str:
        """The rewritten text, without outer white space."""
        start = 0
        for tag in TAG.finditer(source):
            self._text(source[start : tag.start()])
            start = tag.end()
            if tag[1]:
                self._close()
            else:
                self._start(tag)
            if self._full:
                break
        else:
            self._text(source[start:])
        while self._open:
            self._close()
        return "".join(self._output).strip()

    def _start(self, tag: re.Match[str]) -> None:
        name, attributes = tag[2], dict(_ATTRIBUTE.findall(tag[3]))
        is_void, is_inline = name in _VOID, name in INLINE
        is_dropped = name in self._required and self._required[name] not in attributes
        if is_dropped and name == "img":
            self._image_text(attributes.get("alt", ""))
            return
        if is_inline and not is_dropped:
            self._part("<")
        in_line = self._in_line
        is_dropped = is_dropped or (not is_void and self._depth >= limits.HTML_DEPTH)
        if not is_inline:
            self._end_line(_LINE_BREAK if is_dropped else "", in_line=is_dropped and in_line)
        if not is_dropped and not self._put(tag[0], 0 if is_void else len(name) + 3):
            return
        if name == "img":
            self._show()
        if not is_void:
            self._open.append(_Element(name, is_dropped, len(self._output) - 1, self._shown, in_line))
            self._depth += not is_dropped

    def _close(self) -> None:
        name, is_dropped, place, shown, in_line = self._open.pop()
        if is_dropped:
            self._gap = self._gap if name in INLINE else _LINE_BREAK
            return
        self._depth -= 1
        if name in _NEVER_EMPTY and shown == self._shown:
            self._remaining += len(self._output[place]) + len(name) + 3
            self._output[place] = ""
            self._end_line(self._gap or " " if name == "a" else _LINE_BREAK, in_line=in_line)
            return
        self._output.append(f"</{name}>")
        if name not in INLINE:
            self._end_line("", in_line=False)

    def _text(self, source: str) -> None:
        for index, part in enumerate(source.split(BLOCK_EDGE)):
            self._gap = _LINE_BREAK if index else self._gap
            if part:
                self._line(part)

    def _image_text(self, alternative: str) -> None:
        self._gap = self._gap or " "
        self._line(alternative.replace("&quot;", '"'))
        self._gap = self._gap or " "

    def _line(self, source: str) -> None:
        chunk = text.normal("NFC", text.scrub(source))
        if _is_visible(chunk):
            self._part(chunk)
            self._show()
        if self._full:
            return
        last_output = self._output[-1] if self._output else ""
        if last_output.endswith(">"):
            chunk = chunk.replace(_SOLIDUS, "")
        if last_output == "<pre>":
            # A parser drops one newline after it each time.
            chunk = chunk.lstrip("\n")
        if len(chunk) > self._remaining:
            chunk = _ENTITY_CUT.sub("", chunk[: self._remaining])
            self._full = True
        self._remaining -= len(chunk)
        if chunk:
            self._output.append(chunk)
            self._is_parted = chunk[-1].isspace()

    def _put(self, markup: str, reserved: int = 0) -> bool:
        """Append it if there is room for it, and for what is ``reserved``."""
        self._full = self._full or len(markup) + reserved > self._remaining
        if not self._full:
            self._remaining -= len(markup) + reserved
            self._output.append(markup)
        return not self._full

    def _part(self, following: str) -> None:
        """Write what parts ``following`` from the text before it."""
        gap, self._gap = self._gap, ""
        if gap == _LINE_BREAK or not (self._is_parted or following[0].isspace()):
            self._is_parted = bool(gap) and self._in_line and self._put(gap)

    def _show(self) -> None:
        self._in_line = True
        self._shown += 1

    def _end_line(self, gap: str, *, in_line: bool) -> None:
        self._gap, self._in_line = gap, in_line


def _is_visible(chunk: str) -> bool:
    chunk = chunk.replace("&nbsp;", " ")
    return bool(_GRAPHIC.search(chunk) or text.line(chunk, len(chunk)))
