"""The resources of app builds: one class per thing, its ACL beside it."""

from pyramid.authorization import Allow
from zope.interface import implementer

from modhub.identity import Credential, Permission
from modhub.tree import Resource, parse_id
from modhub_builds.interfaces import IAppPage, IBuild, IBuilds, IPlatform, ISections


class BuildPermission(Permission):
    """What a build agent may do."""

    PUBLISH = "build:publish", Credential.MACHINE


@implementer(IBuilds)
class Builds(Resource):
    """``/api/modhub/app`` and ``/Modhub/app``"""

    __acl__ = [(Allow, "scope:Modhub:app", BuildPermission.PUBLISH)]

    def member(self, name: str) -> "Platform":
        """The operating system of this name, plausible or not: that is for the views to say."""
        return Platform(self, name)


@implementer(IPlatform)
class Platform(Resource):
    """``.../app/{os}``"""

    def member(self, name: str) -> "Build":
        """The build with this id."""
        return Build(self, name)


@implementer(IBuild)
class Build(Resource):
    """``/Modhub/app/{os}/{id}``"""

    @property
    def os(self) -> str:
        """The operating system that the address names."""
        assert self.__parent__ is not None
        return self.__parent__.__name__

    @property
    def id(self) -> int | None:
        """The build's number; None for an address that is not a number."""
        return parse_id(self.__name__)


@implementer(ISections)
class Sections(Resource):
    """``/api/modhub/app/changelog``"""


@implementer(IAppPage)
class AppPage(Resource):
    """``/Modhub/App``"""
