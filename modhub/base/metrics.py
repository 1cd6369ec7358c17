"""Metrics that several packages add to. Each process counts for itself; the feature of metrics shows them.

All others stand beside what they count, as objects of prometheus_client whose names begin with ``modhub_``.
"""

from typing import Final

from prometheus_client import Counter

LIMITS_HIT: Final = Counter("modhub_limits_hit", "Requests and connections refused because of a limit.", ["limit"])
ALARMS: Final = Counter("modhub_alarms", "Damaged files and failures to write; the log names them after ALARM.")
