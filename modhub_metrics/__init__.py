"""modhub_metrics: ``/metrics`` for Prometheus, for the machine itself and for holders of a token.

Metrics that packages declare are read when somebody asks, and never otherwise. Requests are measured in a tween of this
feature, so that without it no request pays anything. Counters are per process: Prometheus scrapes each process at its
own port and adds them up. A metric whose reading fails is left out for 30 seconds, so that a database that does not
respond does not delay every scrape. prometheus-client's default registry is not used: its process and Python
collectors have names without our prefix.
"""

from pyramid.config import Configurator

from modhub.base.metrics import COUNTER, LIMITS_HIT, LIMITS_HIT_HELP
from modhub.base.settings import Setting, secret
from modhub.interfaces import IRoot
from modhub_metrics.exporter import Exporter
from modhub_metrics.requests import RequestMetrics, limits_hit
from modhub_metrics.resources import metrics_factory

METRICS_SETTINGS = [Setting("modhub_metrics.token", secret, "", "bearer token of /metrics; empty: only this machine")]


def includeme(config: Configurator) -> None:
    """Register the exporter, its address and the tween that counts requests."""
    config.include("modhub")
    config.add_feature("modhub_metrics", "Metrics")
    config.declare_settings("modhub_metrics.", METRICS_SETTINGS)
    exporter = Exporter(config.registry)
    config.add_service(Exporter, exporter)
    config.add_service(RequestMetrics, RequestMetrics(exporter.collectors))
    config.add_metric(LIMITS_HIT, LIMITS_HIT_HELP, limits_hit, kind=COUNTER, labels=("limit",))
    config.add_child(IRoot, "metrics", metrics_factory)
    config.add_tween("modhub_metrics.requests.metrics_tween_factory")
    config.scan("modhub_metrics.views")
