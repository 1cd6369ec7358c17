"""Reads the metrics of all packages (``config.add_metric``) when Prometheus asks for them."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from time import monotonic
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from modhub.base.metrics import COUNTER, LabelValues, Metric, Reading
from modhub.base.service_registry import find_service
from modhub.declarations import Declarations

log = logging.getLogger(__name__)
PREFIX: Final = "modhub_"
FAILED_METRIC_SECONDS: Final = 30.0
"""How long a metric that failed is left out. If the database is away, each reading may take seconds."""


class Exporter(Collector):
    """Collects the metrics of one application; ``collectors`` is Prometheus' registry."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry
        self._next_try: dict[Any, float] = {}
        disable_created_metrics()  # type: ignore[no-untyped-call]
        # auto_describe would read every metric at the start.
        self.collectors = CollectorRegistry(auto_describe=False)
        self.collectors.register(self)
        ProcessCollector(namespace="modhub", registry=self.collectors)

    def collect(self) -> Iterator[Any]:
        """Read every metric; one that fails is logged and left out."""
        by_name: dict[str, list[Metric]] = {}
        for metric in find_service(self._registry, Declarations).metrics:
            by_name.setdefault(metric.name, []).append(metric)
        for metrics in by_name.values():
            yield _family(metrics[0], (reading for metric in metrics if (reading := self._read(metric)) is not None))
        # A copy: another thread may read a metric that fails, or works again.
        failing = sum(moment > monotonic() for moment in list(self._next_try.values()))
        yield GaugeMetricFamily(f"{PREFIX}metrics_failing", "Metrics that could not be read and are left out.", failing)

    def _read(self, metric: Metric) -> Reading:
        if monotonic() < self._next_try.get(metric.read, 0.0):
            return None
        try:
            reading = metric.read(self._registry)
        except Exception as error:  # noqa: BLE001 - the other metrics matter most when something is broken
            if metric.read not in self._next_try:
                log.warning("the metric %s cannot be read (%s)", metric.name, type(error).__name__)
            self._next_try[metric.read] = monotonic() + FAILED_METRIC_SECONDS
            return None
        self._next_try.pop(metric.read, None)
        return reading


def _family(metric: Metric, readings: Iterable[float | Mapping[LabelValues, float]]) -> Any:
    kind = CounterMetricFamily if metric.kind == COUNTER else GaugeMetricFamily
    family = kind(PREFIX + metric.name, metric.help, labels=metric.labels)
    for reading in readings:
        samples = reading if isinstance(reading, Mapping) else {(): reading}
        for key, value in samples.items():
            family.add_metric([key] if isinstance(key, str) else list(key), value)
    return family
