"""``make test-times``: writes what ``make test`` need not repeat on PostgreSQL into sqlite_only.txt (a pytest plugin).

These are functions all of whose statements, with the errors they end in, at least two other functions run there too.
Functions that run statements in several threads are always repeated. What another selection of tests did not measure
keeps its line.
"""

import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import psycopg
import pytest

SQLITE_ONLY = Path(__file__).with_name("sqlite_only.txt")
REPETITIONS = 2
"""So many of the chosen functions run each statement, if so many do at all."""
_VALUES = re.compile(r"%\(\w+\)s|\$\d+|\b\d+\b|'[^']*'")
_MANY = re.compile(r"\?(::\w+)?(, ?\?(::\w+)?)+|(\(\?\), ?)+")


class Statements:
    """What each test runs on PostgreSQL, in the process that runs it."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.threads: set[int] = set()
        self.began = 0.0

    def heard(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        """``execute`` that notes its statement, without values, and the error it ended in."""

        @wraps(execute)
        def noting(cursor: Any, query: Any, *rest: Any, **options: Any) -> Any:
            self.threads.add(threading.get_ident())
            text = query if isinstance(query, str) else str(query)
            shape = _MANY.sub("?", _VALUES.sub("?", text))
            try:
                return execute(cursor, query, *rest, **options)
            except psycopg.Error as error:
                shape += f" -- {error.sqlstate}"
                raise
            finally:
                self.seen.add(shape)

        return noting

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self.seen, self.threads, self.began = set(), set(), time.process_time()
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        if call.when == "teardown":
            spent = time.process_time() - self.began
            report.user_properties.append(("statements", (sorted(self.seen), len(self.threads), spent)))
        return report


class Choice:
    """The functions that need not be repeated, in the process that collects the reports."""

    def __init__(self) -> None:
        self.statements: dict[str, set[str]] = defaultdict(set)
        self.spent: dict[str, float] = defaultdict(float)
        self.several_threads: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == "statements" and report.when == "teardown":
                function = report.nodeid.partition("[")[0].removeprefix("tests/")
                self.statements[function].update(value[0])
                self.spent[function] += value[2]
                if value[1] > 1:
                    self.several_threads.add(function)

    def choose(self) -> set[str]:
        """The functions to repeat: those in threads, then those with the most missing statements for their time."""
        frequency = Counter(statement for statements in self.statements.values() for statement in statements)
        missing = {statement: min(REPETITIONS, count) for statement, count in frequency.items()}
        chosen: set[str] = set()

        def worth(function: str) -> float:
            return sum(missing[statement] > 0 for statement in self.statements[function]) / self.spent[function]

        waiting = sorted(self.several_threads)
        while True:
            for function in waiting:
                chosen.add(function)
                for statement in self.statements[function]:
                    missing[statement] -= 1
            best = max(sorted(self.statements.keys() - chosen), key=worth, default="")
            if not best or not worth(best):
                return chosen
            waiting = [best]

    def pytest_sessionfinish(self) -> None:
        before = set(SQLITE_ONLY.read_text("utf-8").split()) if SQLITE_ONLY.exists() else set()
        lines = sorted((before - self.statements.keys()) | (self.statements.keys() - self.choose()))
        SQLITE_ONLY.write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        chosen = self.choose()
        spared = sum(spent for function, spent in self.spent.items() if function not in chosen)
        terminalreporter.write_line(
            f"{len(self.statements) - len(chosen)} of {len(self.statements)} functions need not run on PostgreSQL, "
            f"which took {spared:.0f} s of processor time; see {SQLITE_ONLY}"
        )


def pytest_configure(config: pytest.Config) -> None:
    """Tests run in the workers of pytest-xdist, and their reports come to its first process."""
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None):
        statements = Statements()
        config.pluginmanager.register(statements)
        psycopg.Cursor.execute = statements.heard(psycopg.Cursor.execute)  # type: ignore[method-assign]
    if not is_worker:
        config.pluginmanager.register(Choice())
