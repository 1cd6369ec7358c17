"""What packages measure about themselves, for a feature that exports it (``config.add_metric``).

A metric is a function that is called when somebody reads it. Nothing is computed, kept or sent in between, so a metric
costs nothing while nobody exports it; what has to be counted as it happens is counted by an :class:`EventCounter`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
LIMITS_HIT: Final = "limits_hit_total"
"""The metric to which every package adds the limits that it enforces."""
LIMITS_HIT_HELP: Final = "Requests and connections refused because of a limit."
LabelValues = str | tuple[str, ...]
Reading = float | Mapping[LabelValues, float] | None
"""A number; numbers by the value of the label, or by the values of the labels; None if there is nothing to report."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: ``read(registry)`` returns its current :data:`Reading`.

    A ``counter`` only grows while the process lives, and its name ends in ``_total``. ``labels`` name the keys of
    the reading; their values come from the code, never from a request, so that there are few of them.
    """

    name: str
    help: str
    read: Callable[[Any], Reading]
    kind: str = GAUGE
    labels: tuple[str, ...] = ()


class EventCounter:
    """Counts events by name, from any thread; ``names`` are those to report before they happen."""

    def __init__(self, *names: LabelValues) -> None:
        self._counts: dict[LabelValues, float] = dict.fromkeys(names, 0)
        self._lock = Lock()

    def add(self, name: LabelValues) -> None:
        """Count one event."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + 1

    def counts(self) -> dict[LabelValues, float]:
        """The number of events by name."""
        with self._lock:
            return dict(self._counts)
