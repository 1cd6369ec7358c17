"""The server's own schedule of digests."""

from datetime import timedelta
from typing import Any, Final

from modhub.plugins.workers import raise_if_stopping
from modhub_following.digests import DigestMaker

LOOK_SECONDS: Final = 60.0
SETTLED: Final = timedelta(minutes=10)
"""A digest has only versions that are this old: authors write what changed after they have uploaded."""


def queue_digests(registry: Any) -> None:
    """The worker that queues the digests that are due, each whole or not at all; one process at a time."""
    DigestMaker(registry).run(settled=SETTLED, beat=lambda: raise_if_stopping(registry))
