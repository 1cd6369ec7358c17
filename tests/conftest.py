"""Fixtures and markers for all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
PROCESSES = ("functional", "packaging", "clients", "browser", "deploy", "soak")
"""Folders whose tests start programs."""

# A starved machine draws examples slowly, and runs them slowly: neither is a fault of a strategy or of the program.
settings.register_profile(
    "modhub", parent=settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("modhub")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark the tests of programs before ``-m`` selects, and run them first.

    A long file that came last would leave other workers idle.
    """
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in PROCESSES:
            item.add_marker("process")
    yield
    items.sort(key=lambda item: item.get_closest_marker("process") is None)
