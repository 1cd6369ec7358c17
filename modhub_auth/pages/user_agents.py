"""Labels of browsers in the list of sessions."""

import re
from typing import Final

from modhub.ui.i18n import Translations
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request

BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS: Final = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
"""Marks in a User-Agent and the names that they stand for; the first match counts."""
_LABEL: Final = re.compile(
    rf"\A({'|'.join(name for _, name in BROWSERS)}) on ({'|'.join(name for _, name in SYSTEMS)})\Z"
)


def label_of(user_agent: str) -> str:
    """The label of a browser's session: ``Firefox on Linux``, or its whole User-Agent."""
    browser = next((name for token, name in BROWSERS if token in user_agent), "")
    system = next((name for token, name in SYSTEMS if token in user_agent), "")
    return f"{browser} on {system}" if browser and system else user_agent


def user_agent_label(request: Request) -> str:
    """The label of the request's browser."""
    header: str = request.environ.get("HTTP_USER_AGENT", "")
    return label_of(header.encode("latin-1", "replace").decode("utf-8", "replace"))


def browser_name(request: Request) -> str:
    """The request's browser and system in the reader's language, never its raw User-Agent."""
    messages, label = translations_for(request), user_agent_label(request)
    return describe_client(label if _LABEL.match(label) else "", messages)


def describe_client(label: str, messages: Translations) -> str:
    """The translated label."""
    match = _LABEL.match(label)
    if match is None:
        return label or messages.gettext("A browser")
    return messages.gettext("%(browser)s on %(system)s", browser=match[1], system=match[2])
