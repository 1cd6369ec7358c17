"""Reads beside a constant view of the same bytes, the access log, chains without kept responses, threads for reads.

The servers share one core and the client has another.
"""

import itertools
import re
import statistics
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import update

from bench import servers
from bench.client import Client
from bench.load import load
from bench.measuring import Row, cpu_seconds
from modhub.base.service_registry import find_service
from modhub.catalogue.models import Mod
from modhub.db import Databases
from modhub.db.changes import raise_serial

MOD: Final = 2000
WARM_SECONDS: Final = 0.3
GOALS: Final = {"sqlite": 0.65, "postgresql": 0.45}
WITH_GOAL: Final = ("list, 16 connections", "single mod", "304")
LOG_GOAL_US: Final = 40
CHAIN: Final = "chain of 1,000"
COMMITS_PER_SECOND: Final = 50
KINDS: Final[dict[str, dict[str, Any]]] = {
    "modhub": {},
    "without the log": {"logged": False},
    "nothing kept": {"includes": servers.NOTHING_KEPT},
}
Target = tuple["subprocess.Popen[bytes]", int]


@dataclass
class Series:
    """The rounds of one server: requests a second, latencies in ms, processor time per request in microseconds."""

    per_second: list[float]
    p50_ms: list[float]
    p99_ms: list[float]
    cpu_us: list[float]

    def medians(self) -> dict[str, float]:
        """The median of each."""
        return {name: round(statistics.median(values), 3) for name, values in vars(self).items()}

    def beside(self, other: "Series") -> float:
        """How many times as many requests a second: the median of the rounds, as a machine changes its speed."""
        pairs = zip(self.per_second, other.per_second, strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)


def measure(targets: dict[str, Target], rounds: int, seconds: float, **request: Any) -> dict[str, Series]:
    """All targets in turns, for some rounds, after warming each."""
    for _, port in targets.values():
        load(port, seconds=WARM_SECONDS, **request)
    measured = {name: Series([], [], [], []) for name in targets}
    for _ in range(rounds):
        for name, (process, port) in targets.items():
            before = cpu_seconds(process.pid)
            result = load(port, seconds=seconds, **request)
            series = measured[name]
            series.cpu_us.append((cpu_seconds(process.pid) - before) / len(result.latencies) * 1e6)
            series.per_second.append(result.per_second)
            series.p50_ms.append(result.percentile(0.5) * 1e3)
            series.p99_ms.append(result.percentile(0.99) * 1e3)
    return measured


def cases(port: int) -> dict[str, tuple[bytes, dict[str, Any]]]:
    """(the body that the constant view sends, the request) of each case."""
    client = Client(port)
    bodies, etag = {}, ""
    for path in ("/api/modhub", f"/api/modhub/{MOD}", "/api/modhub/1"):
        status, _, answer = client.get(path, keep_body=True)
        assert status == 200, (path, status)
        head, _, bodies[path] = answer.partition(b"\r\n\r\n")
        if path == "/api/modhub":
            match = re.search(rb"(?im)^etag: (\S+)", head)
            etag = match[1].decode() if match else ""
    client.close()
    listed = {"path": "/api/modhub", "connections": 16}
    return {
        "list, 16 connections": (bodies["/api/modhub"], listed),
        "list, 1 connection": (bodies["/api/modhub"], {**listed, "connections": 1}),
        "single mod": (bodies[f"/api/modhub/{MOD}"], {**listed, "path": f"/api/modhub/{MOD}"}),
        "304": (bodies["/api/modhub"], {**listed, "headers": (f"If-None-Match: {etag}",), "status": 304}),
        CHAIN: (bodies["/api/modhub/1"], {**listed, "path": "/api/modhub/1", "connections": 1}),
    }


def reads(folder: Path, database: str, url: str, rounds: int, seconds: float) -> list[Row]:
    """The cases on one database: as shipped, without the access log, and without kept responses."""
    rows = []
    with ExitStack() as stack:
        ours = {}
        for kind, options in KINDS.items():
            ini = servers.write_ini(folder, kind.replace(" ", "-") + database, url, **options)
            ours[kind] = stack.enter_context(servers.pserve(folder, ini))
        for what, (body, request) in cases(ours["modhub"][1]).items():
            with ExitStack() as baselines:
                # waitress closes the connection after a 304.
                kinds = ("modhub",) if what == "304" else ("waitress", "modhub")
                constant = {
                    f"constant on {server}": baselines.enter_context(servers.constant(folder, body, server))
                    for server in kinds
                }
                # Those that are compared are measured one after the other.
                targets: dict[str, Target] = {**constant, **ours}
                measured = measure(targets, rounds, seconds, **request)
            rows += _rows(what, database, measured)
    return rows


def _rows(what: str, database: str, measured: dict[str, Series]) -> list[Row]:
    medians = {name: series.medians() for name, series in measured.items()}
    ours, constant = (medians[name]["per_second"] for name in ("modhub", "constant on modhub"))
    factor = measured["modhub"].beside(measured["constant on modhub"])
    goal = GOALS[database] if what in WITH_GOAL else None
    rows = [Row(what, database, ours, "req/s", constant, "constant view", factor, at_least=goal, details=medians)]
    if what == CHAIN:
        fresh = medians["nothing kept"]["p50_ms"]
        rows.append(Row(f"{CHAIN}, nothing kept", database, fresh, "ms"))
    if what == "list, 16 connections":
        pairs = zip(measured["modhub"].cpu_us, measured["without the log"].cpu_us, strict=True)
        logged = statistics.median(with_log - without for with_log, without in pairs)
        rows.append(Row("a log line, processor time", database, logged, "us", at_most=LOG_GOAL_US))
    return rows


def under_commits(folder: Path, database: str, url: str, rounds: int, seconds: float) -> list[Row]:
    """The list while others commit 50 times a second, with and without kept responses."""
    ini = servers.write_ini(folder, f"commits-{database}", url)
    databases = find_service(servers.prepare(ini), Databases)
    plain = servers.write_ini(folder, f"commits-plain-{database}", url, includes=servers.NOTHING_KEPT)
    with servers.pserve(folder, ini) as kept, servers.pserve(folder, plain) as not_kept, _committing(databases):
        measured = measure(
            {"kept": kept, "nothing kept": not_kept}, rounds, seconds, path="/api/modhub", connections=16
        )
    databases.dispose()
    medians = {name: series.medians() for name, series in measured.items()}
    ours, beside = (values["per_second"] for values in medians.values())
    factor = measured["kept"].beside(measured["nothing kept"])
    what = f"list under {COMMITS_PER_SECOND} commits a second"
    return [Row(what, database, ours, "req/s", beside, "nothing kept", factor, details=dict(medians))]


@contextmanager
def _committing(databases: Any) -> Iterator[None]:
    """Every third commit changes what everybody sees, as an edit does; the others do not, as votes and sign-ins."""
    ended = threading.Event()

    def commit() -> None:
        for number in itertools.count():
            with databases.write_session.begin() as session:
                session.execute(update(Mod).where(Mod.id == MOD).values(ups=Mod.ups + 1))
                if number % 3 == 0:
                    raise_serial(session)
            if ended.wait(1 / COMMITS_PER_SECOND):
                return

    thread = threading.Thread(target=commit)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def threads(folder: Path, url: str, rounds: int, seconds: float) -> list[Row]:
    """The list with 1, 2 and 4 threads for reads."""
    rows = []
    with ExitStack() as stack:
        targets = {}
        for count in (4, 2, 1):
            ini = servers.write_ini(folder, f"threads-{count}", url, threads=count)
            targets[str(count)] = stack.enter_context(servers.pserve(folder, ini))
        for connections in (16, 1):
            measured = measure(targets, rounds, seconds, path="/api/modhub", connections=connections)
            medians = {count: series.medians() for count, series in measured.items()}
            base = medians["4"]["per_second"]
            for count in ("1", "2"):
                value = medians[count]["per_second"]
                what = f"list, {connections} connection{'s' * (connections > 1)}, threads = {count}"
                rows.append(Row(what, "sqlite", value, "req/s", base, "4 threads", value / base))
            rows[-1].details.update({f"threads = {count}": values for count, values in medians.items()})
    return rows
