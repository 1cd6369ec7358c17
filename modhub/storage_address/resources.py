"""The resources below ``/api/modhub/storage``, and who may report there."""

from pyramid.authorization import Allow
from zope.interface import Interface, implementer

from modhub.base.identity import CredentialKind, Permission
from modhub.plugins.security import ADDRESS_KEY_REALM
from modhub.web.traversal import Resource


class IStorage(Interface):
    """``/api/modhub/storage``"""


class IAddress(Interface):
    """``/api/modhub/storage/address``"""


class StoragePermission(Permission):
    """What the file-storage machine may do."""

    REPORT = "storage:report", CredentialKind.ADDRESS


@implementer(IStorage)
class StorageResource(Resource):
    """``/api/modhub/storage``"""


@implementer(IAddress)
class StorageAddressResource(Resource):
    """``/api/modhub/storage/address``"""

    __acl__ = [(Allow, ADDRESS_KEY_REALM, StoragePermission.REPORT)]
