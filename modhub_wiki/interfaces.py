"""The resource interfaces of the wiki."""

from zope.interface import Attribute

from modhub.plugins.resources import IResource


class ISiteApi(IResource):
    """``/Modhub/api``: API addresses below the site. Not ``IApi``: the main API must not be mounted here again."""


class IWiki(IResource):
    """The wiki as a whole: ``/Modhub/api/wiki``, ``/api/modhub/wiki`` and ``/Modhub/Wiki``."""


class IWikiPage(IResource):
    """A page of the wiki, below any of the three."""

    path = Attribute("The page's path; None if the address is not a valid one (C-WIKI-1).")


class IDocuments(IResource):
    """``/api/modhub/doc``: contracts as documents."""
