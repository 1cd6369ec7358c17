"""Calls that are made at the same moment, and what others do meanwhile."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

from modhub_testing.caller import patiently

READY_SECONDS = 120.0


def at_once(calls):
    """What the calls returned, each made in a thread of its own, none before all are ready."""
    barrier = Barrier(len(calls))

    def wait_and_call(call):
        barrier.wait(READY_SECONDS)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(wait_and_call, calls))


def until(condition, seconds=60.0):
    """Wait until it holds; return what it returned."""
    deadline = time.monotonic() + seconds
    while not (held := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return held


def patiently_at_once(calls):
    """The same, with calls that are repeated while the service is busy."""
    return at_once([partial(patiently, call) for call in calls])
