"""The resource interfaces of tags."""

from modhub.interfaces import IResource


class ITags(IResource):
    """``/api/modhub/{id}/tags``"""


class IOwnTags(IResource):
    """``/Modhub/mine/{id}/tags``"""
