"""Previews of what owners type, with what the allowlist removes."""

from collections import Counter
from html.parser import HTMLParser
from typing import Any, Final, NamedTuple

from modhub.content import limits
from modhub.content.markup import RENAMED, clean

_PARTLY_REMOVED: Final = {"img", "a", "h2", "h3", "h4"}
"""Images of other sites, and what is empty without them, are removed, while others stay."""


class RemovedMarkup(NamedTuple):
    """The names of removed tags and attributes, in the order in which they first occur."""

    tags: list[str]
    attributes: list[str]


class _Markup(HTMLParser):
    """Counts tags, and collects the attributes of each."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: dict[tuple[str, str], None] = {}
        self.feed(source[: 2 * limits.DESCRIPTION])
        self.close()

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        """Note a start tag, by the name under which it is kept."""
        tag = RENAMED.get(tag, tag)
        self.tags[tag] += 1
        self.attributes |= {(tag, name): None for name, _ in attrs}


def find_removed_markup(submitted: str, cleaned: str) -> RemovedMarkup:
    """Compare what was submitted with what is left of it. Attributes of removed tags are not listed."""
    before, after = _Markup(submitted), _Markup(cleaned)
    tags = [
        tag
        for tag, count in before.tags.items()
        if not after.tags[tag] or (tag in _PARTLY_REMOVED and after.tags[tag] < count)
    ]
    lost = [name for tag, name in before.attributes if after.tags[tag] and (tag, name) not in after.attributes]
    return RemovedMarkup(tags, list(dict.fromkeys(lost)))


def preview_text(submitted: str, limit: int) -> dict[str, Any]:
    """Return the values for the preview of HTML: what would be stored, and what cleaning removed."""
    cleaned = clean(submitted, limit)
    return {"shown": cleaned, "removed": find_removed_markup(submitted, cleaned)}
