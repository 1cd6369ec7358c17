"""The resources of a mod's tags: everybody reads those of a published mod, its owner changes them."""

from zope.interface import implementer

from modhub.base.identity import CredentialKind, KeyUse, Permission
from modhub.plugins.resources import IResource
from modhub.web.traversal import OwnModChild


class ITags(IResource):
    """``/api/modhub/{id}/tags``"""


class TagPermission(Permission):
    """What the owner of a mod may do here."""

    EDIT = "tags:edit", CredentialKind.ACCOUNT, False, KeyUse.ONE_MOD


@implementer(ITags)
class TagsResource(OwnModChild):
    """``/api/modhub/{id}/tags``"""

    owner_permissions = (TagPermission.EDIT,)
