"""Fixtures, markers and the choice of tests, for all folders."""

import configparser
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from modhub.admin.program import Admin, build_admin_parser
from modhub.base import repeated_lines

TESTS = Path(__file__).parent
PROCESSES = ("functional", "packaging", "clients", "api", "browser", "deploy", "debian", "machines")
"""Folders whose tests start programs."""
NEVER_SKIPPED = ("api", "browser", "deploy", "debian", "machines")
"""Folders whose tests need more than Python: where CI is set, what is missing there is a failure."""

# A starved machine draws examples slowly, and runs them slowly: neither is a fault of a strategy or of the program.
settings.register_profile(
    "modhub", parent=settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("modhub")


@pytest.fixture(autouse=True)
def nothing_written_before(monkeypatch):
    """Each test sees every line of the log, whatever was written in the minute before it."""
    monkeypatch.setattr(repeated_lines, "_written", {})


@pytest.fixture(scope="session")
def schema_features():
    """All that production.ini enables."""
    parser = configparser.RawConfigParser()
    parser.read(TESTS.parent / "production.ini", "utf-8")
    return parser["app:main"]["pyramid.includes"]


@pytest.fixture
def run_admin(capsys):
    """``run_admin(site, "tag", "list")``: the exit code of a command of the operator, and all that it printed."""

    def run(site, *words):
        capsys.readouterr()
        arguments = build_admin_parser(site.config).parse_args(["-c", "unused", *map(str, words)])
        code = arguments.run(Admin(site.config), arguments)
        printed = capsys.readouterr()
        return code, printed.err + printed.out

    return run


@pytest.fixture
def patience(monkeypatch):
    """Wait for locks longer than usual: on a slow machine the 503 of a busy database would fail a race."""
    monkeypatch.setenv("MODHUB_LOCK_SECONDS", "60")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """In CI a program that is missing is no reason to prove less."""
    report = yield
    folder = item.path.relative_to(TESTS).parts[0]
    if report.skipped and os.environ.get("CI") and folder in NEVER_SKIPPED:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"CI skips no test of tests/{folder}. {reason}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of programs before ``-m`` selects, and run them first, then the files with the most slow tests.

    A long file that came last would leave other workers idle: a file is run by one of them.
    """
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in PROCESSES:
            item.add_marker("process")
    yield
    slow_tests = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (item.get_closest_marker("process") is None, -slow_tests[item.path]))
