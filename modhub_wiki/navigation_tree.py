"""The tree of pages, built from their paths."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from modhub_wiki.links import ROOT
from modhub_wiki.response_schemas import PageDocument

INDEX = "index"
"""The page at the wiki's root address."""


@dataclass(slots=True)
class Node:
    """A segment of a path: a page, a folder of pages, or both."""

    name: str
    page: PageDocument | None = None
    children: dict[str, "Node"] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The page's title, else the segment."""
        return self.page.title if self.page else self.name

    @property
    def url(self) -> str | None:
        """The address of the page; None for a mere folder. The index is at the wiki's root."""
        if self.page is None:
            return None
        return ROOT if self.page.path == INDEX else self.page.url

    @property
    def nodes(self) -> list["Node"]:
        """The child nodes by segment, ignoring case; the index first."""
        return sorted(self.children.values(), key=lambda node: (node.name != INDEX, node.name.lower(), node.name))


def page_tree(pages: Iterable[PageDocument]) -> list[Node]:
    """The nodes of the first level."""
    root = Node("")
    for page in pages:
        node = root
        for segment in page.path.split("/"):
            node = node.children.setdefault(segment, Node(segment))
        node.page = page
    return root.nodes
