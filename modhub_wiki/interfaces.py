"""The resources of the wiki."""

from zope.interface import Attribute

from modhub.interfaces import IResource


class ISiteApi(IResource):
    """``/Modhub/api``: what programs ask for below the site. Not ``IApi``: the API proper must not show here again."""


class IWiki(IResource):
    """The wiki as a whole: ``/Modhub/api/wiki``, ``/api/modhub/wiki`` and ``/Modhub/Wiki``."""


class IWikiPage(IResource):
    """A page of the wiki, below any of the three."""

    path = Attribute("The page's path; None when what was sent cannot be one (C-WIKI-1).")


class IDocuments(IResource):
    """``/api/modhub/doc``: contracts, as documents."""
