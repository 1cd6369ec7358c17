"""The tree of pages, made from their paths."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from modhub_wiki.links import ROOT
from modhub_wiki.response_schemas import PageDocument

INDEX = "index"
"""The page that is shown at the wiki's own address."""


@dataclass(slots=True)
class Node:
    """A segment of a path: a page, a folder of pages, or both."""

    name: str
    page: PageDocument | None = None
    children: dict[str, "Node"] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What is shown: the page's title, else the segment."""
        return self.page.title if self.page else self.name

    @property
    def url(self) -> str | None:
        """Where the page is read; None for a mere folder. The index is at the wiki's own address."""
        if self.page is None:
            return None
        return ROOT if self.page.path == INDEX else self.page.url

    @property
    def nodes(self) -> list["Node"]:
        """The nodes below, by their segment, capitals aside; the index leads."""
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
