"""The resources of following the catalogue. All are open to everybody."""

from zope.interface import implementer

from modhub.base.operations import Parameter
from modhub.plugins.resources import IResource
from modhub.web.traversal import Resource


class IGuids(IResource):
    """``/api/modhub/guid``"""


class IGuid(IResource):
    """``/api/modhub/guid/{guid}``"""


class IPlan(IResource):
    """``/api/modhub/plan``"""


class ISnapshot(IResource):
    """``/api/modhub/snapshot``"""


class ISnapshotFiles(IResource):
    """``/Modhub/snapshot``"""


class ISnapshotFile(IResource):
    """``/Modhub/snapshot/{sha256}``"""


@implementer(IGuid)
class GuidResource(Resource):
    """``/api/modhub/guid/{guid}``"""

    segment = Parameter("guid", "The GUID of the mod, in any case.")


@implementer(IGuids)
class GuidsResource(Resource):
    """``/api/modhub/guid``"""

    member = GuidResource


@implementer(IPlan)
class PlanResource(Resource):
    """``/api/modhub/plan``"""


@implementer(ISnapshot)
class SnapshotResource(Resource):
    """``/api/modhub/snapshot``: the pointer to the newest one."""


@implementer(ISnapshotFile)
class SnapshotFileResource(Resource):
    """``/Modhub/snapshot/{sha256}``: never another file."""

    segment = Parameter("sha256", "The SHA-256 of the snapshot.")


@implementer(ISnapshotFiles)
class SnapshotFilesResource(Resource):
    """``/Modhub/snapshot``"""

    member = SnapshotFileResource
