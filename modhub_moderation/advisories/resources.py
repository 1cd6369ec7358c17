"""The resources of advisories. All are open to everybody."""

from zope.interface import implementer

from modhub.base.operations import Parameter
from modhub.plugins.resources import IResource
from modhub.web.traversal import Resource


class IAdvisories(IResource):
    """``/api/modhub/advisories``"""


class IAdvisoryPrefix(IResource):
    """``/api/modhub/advisories/{prefix}``"""


class IAdvisoriesPage(IResource):
    """``/Modhub/advisories``"""


@implementer(IAdvisories)
class AdvisoriesResource(Resource):
    """``/api/modhub/advisories``: the export."""

    def get_member(self, name: str) -> "AdvisoryPrefixResource":
        """Those of the digests that begin so."""
        return AdvisoryPrefixResource(self, name)


@implementer(IAdvisoryPrefix)
class AdvisoryPrefixResource(Resource):
    """``/api/modhub/advisories/{prefix}``"""

    segment = Parameter("prefix", "The first five hexadecimal digits of the SHA-256, in any case.", example="9b6f0")


@implementer(IAdvisoriesPage)
class AdvisoriesPageResource(Resource):
    """``/Modhub/advisories``"""
