"""The resource interface of download counts."""

from modhub.plugins.resources import IResource


class IDownloads(IResource):
    """``/api/modhub/{id}/downloads``"""
