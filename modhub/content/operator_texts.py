"""Texts of the operator: Markdown files that settings name, read and rendered once at the start.

CommonMark with tables; HTML in it is shown as text, and the result is cleaned like all other (T-A3), so
that a pasted snippet of a tracker does nothing. There is one text for all languages.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markupsafe import Markup

from modhub.content.limits import KB
from modhub.content.markup import OWNERS, Allowlist, clean, own_file, phrase, summarize, web_link

MAX_TEXT_FILE: Final = 256 * KB
_LOWEST: Final = 4


def _link(value: str) -> str | None:
    """An address on the web, or a path of this service."""
    is_path = value.startswith("/") and not value.startswith(("//", "/\\")) and value.isprintable()
    return value if is_path else web_link(value)


_OPERATOR: Final = Allowlist(
    tags=OWNERS.tags,
    attributes={"a": {"href": _link, "title": phrase}, "img": {"src": own_file, "alt": phrase}},
    required={"img": "src"},
    rel="noopener",
    trusted=True,
)


@dataclass(frozen=True, slots=True)
class OperatorText:
    """A rendered file. ``title`` is its heading of the first level, if it begins with one."""

    title: str
    html: Markup

    @property
    def summary(self) -> str:
        """The beginning as one plain line, for search engines."""
        return summarize(self.html)


def operator_text(value: str) -> OperatorText | None:
    """The kind of a setting that names a Markdown file by its absolute path; None without one."""
    return render_operator_text(read_small_file(value, MAX_TEXT_FILE)) if value else None


def read_small_file(value: str, limit: int) -> bytes:
    """The content of the file that a setting names. ``ValueError`` with the end of a sentence if there is none."""
    path = Path(value)
    if not path.is_absolute():
        raise ValueError(f"must be an absolute path, not {value!r}")
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise ValueError(f"names {value!r}, which cannot be read: {reason}") from None
    if len(content) > limit:
        raise ValueError(f"names {value!r}, which has more than {limit // KB} KB")
    return content


def render_operator_text(content: bytes) -> OperatorText:
    """Render a text for a page that has its own heading of the first level."""
    try:
        source = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("names a file that is not UTF-8") from None
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens, title = parser.parse(source), ""
    if len(tokens) > 2 and (tokens[0].type, tokens[0].tag) == ("heading_open", "h1"):
        title = "".join(child.content for child in tokens[1].children or ())
        tokens = tokens[3:]
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(max(int(token.tag[1]), 2), _LOWEST)}"
    html = clean(parser.renderer.render(tokens, parser.options, {}), 16 * MAX_TEXT_FILE, allow=_OPERATOR)
    return OperatorText(title, Markup(html))  # noqa: S704 - cleaned
