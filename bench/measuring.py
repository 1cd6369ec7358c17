"""What all measurements share: the machine, its cores, processor time, and a row of the results."""

import os
import platform
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

SERVERS, CLIENT = 0, 1
"""The cores of pinned processes."""
CAN_PIN: Final = shutil.which("taskset") is not None and (os.cpu_count() or 1) > 1


def additions_seconds() -> float:
    """How fast one core is just now: the time of three million additions."""
    started = time.perf_counter()
    total = 0
    for number in range(3_000_000):
        total += number
    return round(time.perf_counter() - started, 3)


@dataclass(frozen=True)
class Row:
    """One figure beside another of the same run. ``factor`` is their ratio, the way round that the goal has.

    ``additions`` is `additions_seconds` just after it was measured: figures without a factor depend on it.
    """

    what: str
    database: str
    value: float
    unit: str
    beside: float | None = None
    beside_what: str = ""
    factor: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    additions: float = field(default_factory=additions_seconds)

    @property
    def goal(self) -> str:
        """The goal for the factor; for the value, if there is no factor."""
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return "" if self.at_most is None else f"<= {self.at_most:g}"

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None without a goal."""
        measured = self.value if self.factor is None else self.factor
        if self.at_least is not None:
            return measured >= self.at_least
        return None if self.at_most is None else measured <= self.at_most

    def cells(self) -> list[str]:
        """The row as it is printed."""
        verdict = {True: "met", False: "no", None: ""}[self.is_met]
        beside = "" if self.beside is None else f"{self.beside:.4g} ({self.beside_what})"
        factor = "" if self.factor is None else f"{self.factor:.2f}"
        return [
            self.what,
            self.database,
            f"{self.value:.4g} {self.unit}",
            beside,
            factor,
            self.goal,
            verdict,
            f"{self.additions:.2f}",
        ]


HEADINGS: Final = ["what", "database", "measured", "beside", "factor", "goal", "", "additions, s"]


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "three_million_additions_s": additions_seconds(),
        "load": round(os.getloadavg()[0], 2),
        "pinned": CAN_PIN,
    }


def pinned(command: list[str], core: int = SERVERS) -> list[str]:
    """``command`` on one core, where that is possible."""
    return ["taskset", "-c", str(core), *command] if CAN_PIN else command


def stay_on_the_clients_core() -> None:
    """Pin this process and its later threads."""
    if CAN_PIN:
        os.sched_setaffinity(0, {CLIENT})


@contextmanager
def on_all_cores() -> Iterator[None]:
    """Take this process, and what it starts, off its core for a while."""
    if not CAN_PIN:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used: by its scheduler statistics, else in hundredths of a second."""
    try:
        files = list(Path(f"/proc/{pid}/task").glob("*/schedstat"))
        return sum(int(file.read_text("ascii").split()[0]) for file in files) / 1e9
    except (OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    """Memory of the process now."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def in_turns(rounds: int, **measurements: Callable[[], float]) -> dict[str, float]:
    """Medians of measurements that are taken in turns, so that other load affects all of them."""
    results: dict[str, list[float]] = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, measure in measurements.items():
            results[name].append(measure())
    return {name: statistics.median(values) for name, values in results.items()}
