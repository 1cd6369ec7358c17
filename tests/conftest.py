"""Fixtures, markers and the choice of tests, for all folders."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
PROCESSES = ("functional", "packaging", "clients", "browser", "deploy", "debian", "soak")
"""Folders whose tests start programs."""
NEVER_SKIPPED = ("browser", "deploy", "debian")
"""Folders whose tests need more than Python: where CI is set, what is missing there is a failure."""
SLOW_TESTS = TESTS / "slow.txt"
"""The functions that `make test-times` found slow."""
SQLITE_ONLY = TESTS / "sqlite_only.txt"
"""The functions that `make test-times` found to run no statement on PostgreSQL that others do not run there. In CI and
where their file is named they run there too."""
POSTGRES_CASES = 2
"""Of a table of cases, so many run on PostgreSQL too: the statements are the same. In CI all do."""

# A starved machine draws examples slowly, and runs them slowly: neither is a fault of a strategy or of the program.
settings.register_profile(
    "modhub", parent=settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("modhub")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """In CI a program that is missing is no reason to prove less."""
    report: Any = yield
    folder = item.path.relative_to(TESTS).parts[0]
    if report.skipped and os.environ.get("CI") and folder in NEVER_SKIPPED:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"CI skips no test of tests/{folder}. {reason}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark the tests of programs before ``-m`` selects, and run them first, then the files with the most slow tests.

    A long file that came last would leave other workers idle: a file is run by one of them.
    """
    slow = set(SLOW_TESTS.read_text("utf-8").split())
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in PROCESSES:
            item.add_marker("process")
        if function_id(item.nodeid) in slow:
            item.add_marker("slow")
    if not os.environ.get("CI"):
        leave_out(config, items, further_cases(items) | repeated_tests(config, items))
    yield
    slow_tests = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (item.get_closest_marker("process") is None, -slow_tests[item.path]))


def function_id(node_id: str) -> str:
    """``core/test_text.py::test_fold``, without the case."""
    return node_id.partition("[")[0].removeprefix("tests/")


def further_cases(items: list[pytest.Item]) -> set[pytest.Item]:
    """The cases on PostgreSQL beyond the first of each table that runs on SQLite too, in the order of the file."""
    tables: dict[str, list[pytest.Item]] = {}
    on_sqlite = functions_on_sqlite(items)
    for item in items:
        if dialect_of(item) == "postgresql" and function_id(item.nodeid) in on_sqlite:
            tables.setdefault(function_id(item.nodeid), []).append(item)
    return {case for cases in tables.values() for case in cases[POSTGRES_CASES:]}


def repeated_tests(config: pytest.Config, items: list[pytest.Item]) -> set[pytest.Item]:
    """What need not be repeated on PostgreSQL, because it runs on SQLite."""
    named = {Path(argument.partition("::")[0]).name for argument in config.args}
    sqlite_only = set(SQLITE_ONLY.read_text("utf-8").split())
    sqlite_only |= {function_id(item.nodeid) for item in items if item.get_closest_marker("postgres_in_ci")}
    sqlite_only &= functions_on_sqlite(items)
    return {
        item
        for item in items
        if dialect_of(item) == "postgresql" and function_id(item.nodeid) in sqlite_only and item.path.name not in named
    }


def functions_on_sqlite(items: list[pytest.Item]) -> set[str]:
    """The functions that run on SQLite."""
    return {function_id(item.nodeid) for item in items if dialect_of(item) == "sqlite"}


def dialect_of(item: pytest.Item) -> str:
    """The database of a test, or of the processes that it calls, if it has one."""
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return str(params.get("dialect", params.get("kind", "")))


def leave_out(config: pytest.Config, items: list[pytest.Item], unwanted: set[pytest.Item]) -> None:
    """Deselect, except what the command line names."""
    named = {argument for argument in config.args if "[" in argument}
    unwanted = {item for item in unwanted if not any(item.nodeid.endswith(name.rpartition("/")[2]) for name in named)}
    if unwanted:
        config.hook.pytest_deselected(items=sorted(unwanted, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in unwanted]
