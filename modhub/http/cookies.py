"""The ``Cookie`` header (RFC 6265, 4.2). Not by WebOb, whose pattern takes minutes over a long run without ``=``."""

import re
from typing import Final

MAX_COOKIE_BYTES: Final = 4096
"""Bytes of a pair that browsers keep at all (RFC 6265, 6.1); a longer one is nobody's."""
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def parse_cookies(header: str) -> dict[str, str]:
    """The cookies by name, each value as it came but for one pair of quotes around it.

    Of two with one name the last counts. ``header`` is as WSGI gives it. What is no pair or no UTF-8 is passed over: a
    cookie of anybody on the same host must not break every page (C-ERR-8).
    """
    found = {}
    for pair in header.split(";"):
        name, equals, value = pair.strip(" \t").partition("=")
        if not equals or len(pair) > MAX_COOKIE_BYTES or not _NAME.fullmatch(name):
            continue
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        try:
            found[name] = value.encode("latin-1").decode("utf-8")
        except UnicodeError:
            continue
    return found
