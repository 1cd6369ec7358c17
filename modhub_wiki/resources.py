"""The resources of the wiki, mounted at each of its addresses.

Traversal skips empty segments, but a page's path is checked exactly as sent (C-WIKI-1). So a route takes everything
below the wiki, only percent-decoded, and looks up the page without traversal. A page that traversal still reaches was
requested by an irregular address: its path is invalid.
"""

import re
from typing import Any, Final

from pyramid.authorization import Allow
from zope.interface import Attribute, implementer

from modhub.base.identity import CredentialKind, Permission, principal_for_scope
from modhub.base.operations import Parameter
from modhub.plugins.resources import IResource
from modhub.web.request import Request
from modhub.web.traversal import Resource, root_factory
from modhub_wiki.limits import PATH


class ISiteApi(IResource):
    """``/Modhub/api``: API addresses below the site. Not ``IApi``: the main API must not be mounted here again."""


class IWiki(IResource):
    """The wiki as a whole: ``/Modhub/api/wiki``, ``/api/modhub/wiki`` and ``/Modhub/Wiki``."""


class IWikiPage(IResource):
    """A page of the wiki, below any of the three."""

    path = Attribute("The page's path; None if the address is not a valid one (C-WIKI-1).")


class IDocuments(IResource):
    """``/api/modhub/doc``: contracts as documents."""


SCOPE: Final = "Modhub:wiki"
PATTERN: Final = "/{mount:Modhub/api/wiki|api/modhub/wiki|Modhub/Wiki}/{rest:(?s:.+)}"
_SEGMENT: Final = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_PATH: Final = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")


class WikiPermission(Permission):
    """What a machine key may do in the wiki."""

    PUBLISH = "wiki:publish", CredentialKind.MACHINE


def parse_path(value: str) -> str | None:
    """``value`` if it is a valid path of a page, else None (C-WIKI-1)."""
    return value if len(value) <= PATH and _PATH.fullmatch(value) else None


@implementer(ISiteApi)
class SiteApiResource(Resource):
    """``/Modhub/api``"""


@implementer(IDocuments)
class DocumentsResource(Resource):
    """``/api/modhub/doc``"""


@implementer(IWikiPage)
class WikiPageResource(Resource):
    """A page, existing or not."""

    segment = Parameter("path", "The path of the page: words joined by slashes.")

    path: str | None = None
    """None for a page that traversal found: its segment is not the path as sent."""

    def __getitem__(self, name: str) -> "WikiPageResource":
        """Further segments belong to the path of the page."""
        return self


@implementer(IWiki)
class WikiResource(Resource):
    """The wiki, at any of its addresses. A key without the scope counts as unknown (C-WIKI-2)."""

    __acl__ = [(Allow, principal_for_scope(SCOPE), WikiPermission.PUBLISH)]

    member = WikiPageResource


def raw_path_root_factory(request: Request) -> Any:
    """Root factory of the route: the page that the route's pattern matched; one trailing slash is ignored."""
    resource: Any = root_factory(request)
    for name in request.matchdict["mount"].split("/"):
        resource = resource[name]
    page = WikiPageResource(resource, request.matchdict["rest"])
    page.path = parse_path(page.__name__.removesuffix("/"))
    return page
