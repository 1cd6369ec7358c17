"""Colours of fenced code: pygments tells what each piece is, we say it with eight classes and no inline style."""

from html import escape
from itertools import groupby
from typing import Final

from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType

_LISTED: Final = (
    "bash batch c c# c++ cmake console cpp csharp css dart diff docker dockerfile glsl go hlsl html http ini "
    "java javascript js json json5 kotlin lua make nginx php powershell properties py python ruby rust sh shell "
    "sql swift toml ts typescript xml yaml"
)
LANGUAGES: Final = frozenset(_LISTED.split())
"""What may stand behind a fence: others are shown without colours. A short list, so that each can be tried."""

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


def highlight(code: str, language: str) -> str:
    """``code`` as HTML; its text is ``code``, whatever the language makes of it."""
    if language.lower() not in LANGUAGES:
        return escape(code, quote=False)
    lexer = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    pieces = groupby(lexer.get_tokens(code), lambda token: _class(token[0]))
    return "".join(_piece(name, "".join(value for _, value in run)) for name, run in pieces)


def _class(kind: _TokenType) -> str:
    return next((name for known, name in _CLASSES if kind in known), "")


def _piece(name: str, text: str) -> str:
    shown = escape(text, quote=False)
    return f'<span class="hl-{name}">{shown}</span>' if name else shown
