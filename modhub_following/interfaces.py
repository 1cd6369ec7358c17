"""The resources of following."""

from modhub.plugins.resources import IResource


class IFollowing(IResource):
    """``/Modhub/following``"""


class IFollowTarget(IResource):
    """Where a mod, an author or a game is followed, such as ``/Modhub/{id}/follow``"""
