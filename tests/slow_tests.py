"""``make test-times``: writes the functions that are too slow for the edit loop into slow.txt (a pytest plugin).

Slow is what takes more than 0.15 seconds of processor time, all its cases on SQLite together, or waits for a
second. What another selection of tests did not measure keeps its line.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SLOW_TESTS = Path(__file__).with_name("slow.txt")
LONGEST_WORK = 0.15
LONGEST_WAIT = 0.9


class Times:
    """The time of each test, in the process that runs it."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self.began = time.process_time(), time.monotonic()
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        if call.when == "teardown":
            work = time.process_time() - self.began[0]
            report.user_properties.append(("times", (work, time.monotonic() - self.began[1] - work)))
        return report


class SlowTests:
    """The functions that are slow, in the process that collects the reports."""

    def __init__(self) -> None:
        self.work: dict[str, float] = defaultdict(float)
        self.wait: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == "times" and report.when == "teardown":
                function = report.nodeid.partition("[")[0].removeprefix("tests/")
                self.work[function] += value[0]
                self.wait[function] = max(self.wait[function], value[1])

    def pytest_sessionfinish(self) -> None:
        before = set(SLOW_TESTS.read_text("utf-8").split())
        slow = {name for name, spent in self.work.items() if spent > LONGEST_WORK or self.wait[name] > LONGEST_WAIT}
        lines = sorted((before - self.work.keys()) | slow)
        SLOW_TESTS.write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        work = sum(self.work.values())
        terminalreporter.write_line(f"{len(self.work)} functions took {work:.0f} s of processor time; see {SLOW_TESTS}")


def pytest_configure(config: pytest.Config) -> None:
    """Tests run in the workers of pytest-xdist, and their reports come to its first process."""
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Times())
    if not is_worker:
        config.pluginmanager.register(SlowTests())
