"""The resource interfaces of links and profiles."""

from modhub.plugins.resources import IResource


class IModLinks(IResource):
    """``/api/modhub/{id}/links``"""


class IOwnLinks(IResource):
    """``/Modhub/mine/{id}/links``: the form in the workshop."""


class IAuthorPicture(IResource):
    """``/Modhub/by/{accountId}/picture/{name}``"""


class IProfile(IResource):
    """``/Modhub/profile``: what an account says about itself."""
