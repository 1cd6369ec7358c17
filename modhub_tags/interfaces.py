"""The resource interfaces of tags."""

from modhub.plugins.resources import IResource


class ITags(IResource):
    """``/api/modhub/{id}/tags``"""


class IOwnTags(IResource):
    """``/Modhub/mine/{id}/tags``"""
