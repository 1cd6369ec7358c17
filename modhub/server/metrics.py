"""What the server that runs this application is doing; nothing on any other WSGI server."""

from collections.abc import Callable
from typing import Any, Final

from pyramid.config import Configurator

from modhub.base.metrics import COUNTER, LIMITS_HIT, LIMITS_HIT_HELP, LabelValues, Reading
from modhub.server.rules import IBodyRules

POOLS: Final = ("reading", "writing", "waiting", "priority")


def _of_server(read: Callable[[Any], Reading]) -> Callable[[Any], Reading]:
    """A metric's function that calls ``read(server)``."""

    def read_of_registry(registry: Any) -> Reading:
        server = registry.getUtility(IBodyRules).server
        return None if server is None else read(server)

    return read_of_registry


def _thread_states(server: Any) -> dict[LabelValues, float]:
    states: dict[LabelValues, float] = {}
    for name in POOLS:
        pool = getattr(server.pools, name)
        busy = min(max(pool.active_count, 0), len(pool.threads))
        states[name, "busy"] = busy
        states[name, "idle"] = len(pool.threads) - busy
    return states


def _waiting_requests(server: Any) -> dict[LabelValues, float]:
    return {name: len(getattr(server.pools, name).queue) for name in POOLS}


METRICS: Final = (
    ("server_threads", "Threads of each pool.", _thread_states, ("pool", "state")),
    ("server_waiting_requests", "Requests that wait for a thread of each pool.", _waiting_requests, ("pool",)),
    ("server_connections", "Open connections.", lambda server: server.peers.count, ()),
    ("server_body_bytes", "Bytes of request bodies in memory and in temporary files.", lambda s: s.adj.spool.used, ()),
    ("server_response_bytes", "Bytes of large responses, made or unread.", lambda s: s.adj.response_budget.used, ()),
    ("server_body_bytes_limit", "Limit of those bytes (spool_bytes).", lambda server: server.adj.spool.limit, ()),
)


def includeme(config: Configurator) -> None:
    """Declare the metrics."""
    for name, help_text, read, labels in METRICS:
        config.add_metric(name, help_text, _of_server(read), labels=labels)
    config.add_metric(
        LIMITS_HIT,
        LIMITS_HIT_HELP,
        _of_server(lambda server: server.adj.limits_hit.counts()),
        kind=COUNTER,
        labels=("limit",),
    )
