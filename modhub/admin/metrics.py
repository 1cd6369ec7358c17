"""What is read when Prometheus asks. All else is counted where it happens, in the registry of prometheus_client."""

import platform
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from modhub.admin.health import UNREACHABLE, Readiness, free_bytes_now
from modhub.base.body_rules import BodyRules
from modhub.base.service_registry import find_service
from modhub.db import Databases


class ProcessMetrics(Collector):
    """All metrics of this process: those of the registry, and the states of its parts, disks, pools and server."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Read everything; the states of the parts are those of ``/readyz``."""
        yield from REGISTRY.collect()
        build = GaugeMetricFamily("modhub_build_info", "1, with the versions.", labels=["version", "python"])
        build.add_metric([version("modhub"), platform.python_version()], 1)
        yield build
        parts = GaugeMetricFamily("modhub_part_up", "1 if /readyz reaches the part, else 0.", labels=["part"])
        for name, state in find_service(self._registry, Readiness).states().items():
            parts.add_metric([name], state != UNREACHABLE)
        yield parts
        disks = GaugeMetricFamily("modhub_free_bytes", "Free bytes of the disk of each folder.", labels=["folder"])
        for name, free in free_bytes_now(self._registry).items():
            disks.add_metric([name], free)
        yield disks
        yield self._read_pools()
        yield from self._read_server()

    def _read_pools(self) -> Metric:
        databases = find_service(self._registry, Databases)
        engines = {
            "write": databases.write_engine,
            "read": databases.readonly_engine,
            "best_effort": databases.best_effort_engine,
        }
        help_text = "Database connections of this process."
        pools = GaugeMetricFamily("modhub_database_connections", help_text, labels=["pool", "state"])
        pools.add_metric(["raw_queries", "idle"], databases.raw_queries.idle_count)
        for name, engine in engines.items():
            pool: Any = engine.pool
            if hasattr(pool, "checkedin"):
                pools.add_metric([name, "busy"], pool.checkedout())
                pools.add_metric([name, "idle"], pool.checkedin())
        return pools

    def _read_server(self) -> Iterator[Metric]:
        """Nothing on a WSGI server that is not ours."""
        server = find_service(self._registry, BodyRules).server
        if server is None:
            return
        waiting = GaugeMetricFamily(
            "modhub_server_waiting_requests", "Requests that wait for a thread.", labels=["pool"]
        )
        for name, pool in server.pools.by_name.items():
            waiting.add_metric([name], len(pool.queue))
        yield waiting
        yield GaugeMetricFamily("modhub_server_connections", "Open connections.", len(server.channels))
