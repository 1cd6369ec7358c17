"""The limits of length and depth of cleaned HTML (C-TXT-3, C-TXT-8; T-A4): nothing is left open where it is cut."""

import re
from collections.abc import Mapping

from modhub.content import limits, text

TAG = re.compile(r'<(/?)([a-z][a-z0-9-]*)((?: [^ ="<>]+="[^"]*")*)>')
"""A tag as nh3 writes it: quoted values with every < and > in them escaped."""
_ATTRIBUTE = re.compile(r' ([^ ="<>]+)="[^"]*"')
_ENTITY_CUT = re.compile(r"&[#0-9A-Za-z]*\Z")
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}

# NFC composes ">" and this mark to another character, which would break the tag before it.
_SOLIDUS = "\u0338"


class Truncator:
    """Rewrites nh3's output tag by tag: within length and depth, without elements that lack a required attribute.

    ``limit`` is in code points; ``required`` maps an element to the attribute without which it is dropped. The input is
    well formed, so a closing tag always belongs to the innermost open element. Used once.
    """

    def __init__(self, limit: int, required: Mapping[str, str]) -> None:
        self._remaining = limit
        self._required = required
        self._output: list[str] = []
        # The names of the open elements, "" for dropped ones.
        self._open: list[str] = []
        self._depth = 0
        self._full = False

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
        name = tag[2]
        is_void = name in _VOID
        required = self._required.get(name)
        is_dropped = required is not None and required not in _ATTRIBUTE.findall(tag[3])
        is_dropped = is_dropped or (not is_void and self._depth >= limits.HTML_DEPTH)
        if not is_dropped:
            cost = len(tag[0]) + (0 if is_void else len(name) + 3)
            if cost > self._remaining:
                self._full = True
                return
            self._remaining -= cost
            self._output.append(tag[0])
        if not is_void:
            self._open.append("" if is_dropped else name)
            self._depth += not is_dropped

    def _close(self) -> None:
        name = self._open.pop()
        if name:
            self._depth -= 1
            self._output.append(f"</{name}>")

    def _text(self, source: str) -> None:
        chunk = text.normal("NFC", text.scrub(source))
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
