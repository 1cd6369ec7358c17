"""``/metrics``: a resource that exists only for those who may read it.

So its 404 is the one of an unknown address for every method. A caller is local only if no header of a proxy arrived.
Our server notes that before it removes untrusted headers: a proxy on this machine that nobody has configured as trusted
would look like a local program. On other servers, which remove them earlier, only the token works.
"""

from hmac import compare_digest

from zope.interface import implementer

from modhub.plugins.resources import IResource
from modhub.web.request import Request
from modhub.web.traversal import Resource


class IMetrics(IResource):
    """``/metrics``"""


@implementer(IMetrics)
class MetricsResource(Resource):
    """``/metrics``"""


def metrics_factory(parent: Resource, name: str) -> MetricsResource:
    """Return the resource. For everybody else the address is unknown, whatever the method (KeyError)."""
    if not may_read(parent.request):
        raise KeyError(name)
    return MetricsResource(parent, name)


def may_read(request: Request) -> bool:
    """Whether the request has the token, or comes from this machine and through no proxy."""
    return request.is_from_this_machine or has_token(request)


def has_token(request: Request) -> bool:
    """Whether the ``Authorization`` header has the configured token."""
    expected: str = request.registry.settings["modhub_metrics.token"]
    scheme, _, presented = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    if not expected or scheme.lower() != "bearer":
        return False
    return compare_digest(presented.strip().encode("latin-1", "replace"), expected.encode())
