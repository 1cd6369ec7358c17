"""``GET /metrics``"""

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from pyramid.response import Response

from modhub.admin.metrics import ProcessMetrics
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_metrics.resources import IMetrics, MetricsResource


@page(context=IMetrics, request_method="GET", permission=OPEN)
def read_metrics(_context: MetricsResource, request: Request) -> Response:
    """All metrics of this process, in the text format of Prometheus."""
    body = generate_latest(ProcessMetrics(request.registry))
    return Response(body, headerlist=[("Content-Type", CONTENT_TYPE_PLAIN_0_0_4), ("Cache-Control", "no-store")])
