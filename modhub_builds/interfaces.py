"""The resource interfaces of app builds."""

from modhub.plugins.resources import IResource


class IBuilds(IResource):
    """``/api/modhub/app`` and ``/Modhub/app``: all builds."""


class IBuildPlatform(IResource):
    """``/api/modhub/app/{os}`` and ``/Modhub/app/{os}``: the builds of one operating system."""


class IBuild(IResource):
    """``/Modhub/app/{os}/{id}``: one build, permanently."""


class ISections(IResource):
    """``/api/modhub/app/changelog``"""


class IAppPage(IResource):
    """``/Modhub/App``: the page for people."""
