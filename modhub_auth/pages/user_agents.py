"""What a browser is called in the list of those that are signed in."""

import re
from typing import Final

from modhub.request import Request
from modhub.ui.i18n import Translations
from modhub.ui.template_helpers import translations_for

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
"""What a browser's name for itself holds; of several the first."""
_LABEL: Final = re.compile(
    rf"\A({'|'.join(name for _, name in BROWSERS)}) on ({'|'.join(name for _, name in SYSTEMS)})\Z"
)


def label_of(agent: str) -> str:
    """The label of a browser's session: ``Firefox on Linux``, or what it calls itself."""
    browser = next((name for mark, name in BROWSERS if mark in agent), "")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    return f"{browser} on {system}" if browser and system else agent


def agent_of(request: Request) -> str:
    """The label of the browser that asks."""
    sent_as: str = request.environ.get("HTTP_USER_AGENT", "")
    return label_of(sent_as.encode("latin-1", "replace").decode("utf-8", "replace"))


def browser_of(request: Request) -> str:
    """The kind of browser that asks, in the reader's language; never what it calls itself."""
    messages, label = translations_for(request), agent_of(request)
    return describe_client(label if _LABEL.match(label) else "", messages)


def describe_client(label: str, messages: Translations) -> str:
    """A label in the reader's language."""
    known = _LABEL.match(label)
    if known is None:
        return label or messages.gettext("A browser")
    return messages.gettext("%(browser)s on %(system)s", browser=known[1], system=known[2])
