"""The resources of the wiki: one class for the wiki and one for a page, mounted wherever they show.

Traversal passes over empty segments, and a page's path is judged as it was sent (C-WIKI-1). So a route
takes what lies below the wiki as it stands in the address, percent-decoded and nothing else, and finds the page without
letting traversal touch it. A page that traversal finds all the same was asked for by an odd address: its path is bad.
"""

import re
from typing import Any, Final

from pyramid.authorization import Allow
from zope.interface import implementer

from modhub.request import Request
from modhub.security.identity import CredentialKind, Permission, principal_for_scope
from modhub.traversal import Resource, root_factory
from modhub_wiki.interfaces import IDocuments, ISiteApi, IWiki, IWikiPage
from modhub_wiki.limits import PATH

SCOPE: Final = "Modhub:wiki"
PATTERN: Final = "/{mount:Modhub/api/wiki|api/modhub/wiki|Modhub/Wiki}/{rest:(?s:.+)}"
_SEGMENT: Final = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_PATH: Final = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")


class WikiPermission(Permission):
    """What a machine key may do in the wiki."""

    PUBLISH = "wiki:publish", CredentialKind.MACHINE


def parse_path(sent: str) -> str | None:
    """The path of a page that ``sent`` spells, None when it is none (C-WIKI-1)."""
    return sent if len(sent) <= PATH and _PATH.fullmatch(sent) else None


@implementer(ISiteApi)
class SiteApiResource(Resource):
    """``/Modhub/api``"""


@implementer(IDocuments)
class DocumentsResource(Resource):
    """``/api/modhub/doc``"""


@implementer(IWiki)
class WikiResource(Resource):
    """The wiki, under any of its addresses. A key without the scope is an unknown key here (C-WIKI-2)."""

    __acl__ = [(Allow, principal_for_scope(SCOPE), WikiPermission.PUBLISH)]

    def page(self, rest: str) -> "WikiPageResource":
        """The page that ``rest``, all that the address has below the wiki, names; one trailing slash does not count."""
        found = WikiPageResource(self, rest)
        found.path = parse_path(rest.removesuffix("/"))
        return found

    def get_member(self, name: str) -> "WikiPageResource":
        """What traversal finds: not as it was sent."""
        return WikiPageResource(self, name)


@implementer(IWikiPage)
class WikiPageResource(Resource):
    """A page, whether it is there or not."""

    path: str | None = None

    def __getitem__(self, name: str) -> "WikiPageResource":
        """Below a page there is nothing but more of a path."""
        return self


def raw_path_root_factory(request: Request) -> Any:
    """The root factory of the route: the page below the wiki that the route's pattern found."""
    found: Any = root_factory(request)
    for name in request.matchdict["mount"].split("/"):
        found = found[name]
    return found.page(request.matchdict["rest"])
