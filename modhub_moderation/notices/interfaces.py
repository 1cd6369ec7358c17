"""The resource interfaces of notices."""

from modhub.plugins.resources import IResource


class IReports(IResource):
    """Where something is reported, in the API and on pages."""


class IModReports(IReports):
    """``/api/modhub/{id}/reports`` and ``/Modhub/{id}/reports``"""


class IAuthorReports(IReports):
    """``/api/modhub/authors/{accountId}/reports`` and ``/Modhub/by/{accountId}/reports``"""


class IReceipt(IResource):
    """``/Modhub/notices/{receipt}``"""
