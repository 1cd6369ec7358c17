"""The resource interface of download counts."""

from modhub.interfaces import IResource


class IDownloads(IResource):
    """``/api/modhub/{id}/downloads``"""
