"""The resources of app builds, with their ACLs."""

from typing import Final

from pyramid.authorization import Allow
from zope.interface import implementer

from modhub.base.identity import CredentialKind, Permission, principal_for_scope
from modhub.base.operations import Parameter
from modhub.plugins.resources import IResource
from modhub.web.traversal import Resource
from modhub_builds import limits


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


APP_SCOPE: Final = "Modhub:app"


class BuildPermission(Permission):
    """What a build agent may do."""

    PUBLISH = "build:publish", CredentialKind.MACHINE


@implementer(IBuild)
class BuildResource(Resource):
    """``/Modhub/app/{os}/{id}``"""

    segment = Parameter("id", "The number of the build.", int)

    @property
    def os(self) -> str:
        """The operating system in the address."""
        assert self.__parent__ is not None
        return self.__parent__.__name__


@implementer(IBuildPlatform)
class PlatformResource(Resource):
    """``.../app/{os}``"""

    segment = Parameter(
        "os",
        "The operating system: words of `a-z` and `0-9` joined by single hyphens, at most "
        f"{limits.OS} characters; not `changelog`.",
        example="windows",
    )

    member = BuildResource


@implementer(IBuilds)
class BuildsResource(Resource):
    """``/api/modhub/app`` and ``/Modhub/app``"""

    __acl__ = [(Allow, principal_for_scope(APP_SCOPE), BuildPermission.PUBLISH)]

    member = PlatformResource


@implementer(ISections)
class SectionsResource(Resource):
    """``/api/modhub/app/changelog``"""


@implementer(IAppPage)
class AppPageResource(Resource):
    """``/Modhub/App``"""
