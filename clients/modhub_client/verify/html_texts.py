"""Pages and owners' HTML as lists of tags: what stands in them, not how it looks."""

from collections.abc import Iterator
from html.parser import HTMLParser

Attributes = dict[str, str]


class _TagReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, Attributes]] = []
        self.title = ""
        self.words: list[str] = []
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open == "title" and not self.title:
            self.title = data.strip()
        self.words.append(data)

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the name is the library's
        self._open = ""


class HtmlText:
    """The tags of an HTML text with their attributes, in order; ``title`` is its title, ``text`` what it says."""

    def __init__(self, html: str) -> None:
        reader = _TagReader()
        reader.feed(html)
        reader.close()
        self.tags = reader.tags
        self.title = reader.title
        self.text = "".join(reader.words)

    def all(self, tag: str) -> list[Attributes]:
        """The attributes of all tags of this name."""
        return [attributes for name, attributes in self.tags if name == tag]

    def links(self) -> set[str]:
        """The addresses of all ``<a>``."""
        return {attributes.get("href", "") for attributes in self.all("a")}

    def head_links(self, relation: str) -> list[Attributes]:
        """The ``<link>`` with this ``rel``."""
        return [attributes for attributes in self.all("link") if relation in attributes.get("rel", "").split()]

    def meta(self, name: str) -> str:
        """The content of a ``<meta>`` with this ``name`` or ``property``; empty without one."""
        for attributes in self.all("meta"):
            if name in (attributes.get("name"), attributes.get("property")):
                return attributes.get("content", "")
        return ""

    def fields(self) -> set[str]:
        """The names of all form fields."""
        return {value for tag in ("input", "textarea", "select", "button") for value in self._names(tag)}

    def _names(self, tag: str) -> Iterator[str]:
        yield from (attributes["name"] for attributes in self.all(tag) if "name" in attributes)
