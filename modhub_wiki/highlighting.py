"""Syntax highlighting of fenced code: pygments tokens mapped to eight CSS classes, no inline style."""

import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby
from threading import Lock
from time import thread_time
from typing import Final

from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType

from modhub_wiki import limits

_LISTED: Final = (
    "bash batch c c# c++ cmake console cpp csharp css dart diff docker dockerfile glsl go hlsl html http ini "
    "java javascript js json json5 kotlin lua make nginx php powershell properties py python ruby rust sh shell "
    "sql swift toml ts typescript xml yaml"
)
LANGUAGES: Final = frozenset(_LISTED.split())
"""Languages that are highlighted; others stay plain. A short list, so that each can be tested."""

_SLOW: Final = re.compile(rf"[^\n]{{{limits.CODE_LINE + 1}}}|\s{{{limits.CODE_SPACES + 1}}}")

_one_at_a_time = Lock()
"""A lexer makes its tables at its first use, also in the middle of another language, in places that threads share."""

_CLASSES: Final = (
    (Token.Comment, "c"),
    (Token.Keyword, "k"),
    (Token.Literal.String, "s"),
    (Token.Literal.Number, "m"),
    (Token.Operator.Word, "k"),
    (Token.Name.Function, "n"),
    (Token.Name.Class, "n"),
    (Token.Name.Tag, "k"),
    (Token.Name.Attribute, "n"),
    (Token.Name.Builtin, "b"),
    (Token.Name.Decorator, "b"),
    (Token.Generic.Inserted, "i"),
    (Token.Generic.Deleted, "d"),
    (Token.Generic.Heading, "n"),
    (Token.Generic.Subheading, "n"),
    (Token.Generic.Prompt, "c"),
)


class Highlighter:
    """Highlights the code of one page, up to a number of characters and seconds of processor time.

    The time limit is for unusual code: some lexers take minutes for a long run of one character, a little per token.
    Where a single token could take minutes (long lines, long white space), code is not highlighted at all.
    """

    def __init__(self) -> None:
        self._characters = limits.MAX_CODE_BLOCK
        self._seconds = limits.CODE_SECONDS

    def __call__(self, code: str, language: str) -> str:
        """``code`` as HTML with unchanged text."""
        exhausted = len(code) > self._characters or self._seconds <= 0
        if exhausted or language.lower() not in LANGUAGES or _SLOW.search(code):
            return escape(code, quote=False)
        self._characters -= len(code)
        with _one_at_a_time:
            lexer = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
            tokens = list(self._in_time(lexer.get_tokens(code)))
        done = sum(len(value) for _, value in tokens)
        runs = groupby(tokens, lambda token: _class(token[0]))
        html = "".join(_span(name, "".join(value for _, value in run)) for name, run in runs)
        return html + escape(code[done:], quote=False)

    def _in_time(self, tokens: Iterable[tuple[_TokenType, str]]) -> Iterator[tuple[_TokenType, str]]:
        began = thread_time()
        for token in tokens:
            yield token
            if thread_time() - began > self._seconds:
                break
        self._seconds -= thread_time() - began


def _class(kind: _TokenType) -> str:
    return next((name for category, name in _CLASSES if kind in category), "")


def _span(name: str, text: str) -> str:
    html = escape(text, quote=False)
    return f'<span class="hl-{name}">{html}</span>' if name else html
