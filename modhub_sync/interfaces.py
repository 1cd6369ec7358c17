"""The resource interfaces of following the catalogue."""

from modhub.plugins.resources import IResource


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
