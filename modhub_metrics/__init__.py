"""modhub_metrics: ``/metrics`` for Prometheus, for the machine itself and for holders of a token.

Packages count with objects of prometheus_client, which cost next to nothing while nobody reads them. Requests are
measured in a tween of this feature, so that without it no request pays anything. Counters are per process: Prometheus
scrapes each process at its own port and adds them up. Names of ours begin with ``modhub_``; ``process_`` and
``python_`` are those of prometheus_client.
"""

from prometheus_client import disable_created_metrics
from pyramid.config import Configurator

from modhub.base.settings import Setting, secret
from modhub.plugins.resources import IRoot
from modhub_metrics.resources import metrics_factory

METRICS_SETTINGS = [Setting("modhub_metrics.token", secret, "", "bearer token of /metrics; empty: only this machine")]


def includeme(config: Configurator) -> None:
    """Register the address and the tween that counts requests."""
    config.include("modhub")
    config.add_feature("modhub_metrics", "Metrics", settings=METRICS_SETTINGS)
    disable_created_metrics()  # type: ignore[no-untyped-call]
    config.add_child(IRoot, "metrics", metrics_factory)
    config.add_tween("modhub_metrics.requests.metrics_tween_factory")
    config.scan("modhub_metrics.views")
