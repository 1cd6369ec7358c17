"""The ``Cookie`` header (RFC 6265, 4.2). WebOb's parser is not used: it takes minutes over a long run without ``=``."""

import re
from typing import Final

MAX_COOKIE_BYTES: Final = 4096
"""The largest pair that browsers store (RFC 6265, 6.1); longer ones are ignored."""
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def parse_cookies(header: str) -> dict[str, str]:
    """The cookies by name; one pair of quotes around a value is removed.

    If a name occurs twice, the last one counts. ``header`` is as WSGI provides it. Malformed pairs and invalid UTF-8
    are skipped: a cookie set by somebody else on the same host must not break every page (C-ERR-8).
    """
    cookies = {}
    for pair in header.split(";"):
        name, equals, value = pair.strip(" \t").partition("=")
        if not equals or len(pair) > MAX_COOKIE_BYTES or not _NAME.fullmatch(name):
            continue
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        try:
            cookies[name] = value.encode("latin-1").decode("utf-8")
        except UnicodeError:
            continue
    return cookies
