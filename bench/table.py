"""``python -m bench.table [--quick] [--json FILE]``: modhub beside a constant Pyramid view, on both databases.

The servers share one core and the client has another, if there is ``taskset``. Each case is measured in turns with the
baseline, for some rounds; figures are medians. The speed of the machine is printed beside them.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyramid.paster import get_appsettings

import modhub as application
from bench import servers
from bench.client import Client
from bench.load import Load, load
from bench.seed import seed
from modhub.db import Databases
from modhub.declarations import Declarations
from modhub.ops import migrate
from modhub.service_registry import find_service
from modhub.testing.postgres import postgres_server

ROOT = Path(__file__).parents[1]
FEATURES = "modhub_auth modhub_builds modhub_wiki"
MOD = 2000
GOALS = {"list, 16 connections": 0.8, "list, 1 connection": 0.8, "single mod": 0.8, "304": 0.95, "chain of 1,000": 0.0}
POSTGRES_GOAL = 0.45


@dataclass
class Row:
    """One case: requests a second, the ratios to the constant view on two servers, latencies, processor time."""

    database: str
    what: str
    server: str
    per_second: float
    to_constant: float
    to_waitress: float | None
    p50_ms: float
    p99_ms: float
    cpu_us: float


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    started = time.perf_counter()
    total = 0
    for number in range(3_000_000):
        total += number
    seconds = time.perf_counter() - started
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "three_million_additions_s": round(seconds, 3),
        "load": os.getloadavg()[0],
        "pinned": shutil.which("taskset") is not None and (os.cpu_count() or 1) > 1,
    }


def pinned(command: list[str], core: int) -> list[str]:
    """``command`` on one core, where that is possible."""
    if shutil.which("taskset") is None or (os.cpu_count() or 1) < 2:
        return command
    return ["taskset", "-c", str(core), *command]


def write_ini(folder: Path, name: str, port: int, url: str, *, logged: bool = True, **settings: str) -> Path:
    """An ini for this server, with the logging section that the shipped ones have."""
    text = servers.INI.format(folder=folder, port=port, url=url, includes=FEATURES, key="")
    extra = "\n".join(f"{key.replace('__', '.')} = {value}" for key, value in settings.items())
    text = text.replace("[server:main]", f"{extra}\n[server:main]")
    shipped = (ROOT / "production.ini").read_text("utf-8")
    ini = folder / f"{name}.ini"
    ini.write_text(text + (shipped[shipped.index("[loggers]") :] if logged else ""))
    return ini


def fill(folder: Path, url: str, mods: int) -> None:
    """Migrate and seed the database at ``url``."""
    registry = application.configure(get_appsettings(str(write_ini(folder, "seed", 1, url)), name="main")).registry
    databases = find_service(registry, Databases)
    migrate.upgrade(databases, find_service(registry, Declarations).migrations)
    seed(databases, mods)
    databases.dispose()


@contextmanager
def pserve(folder: Path, ini: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    command = pinned([str(Path(sys.executable).parent / "pserve"), str(ini)], 0)
    with servers.running(command, port, folder / f"{ini.stem}.log") as process:
        yield process


@contextmanager
def constant(folder: Path, body: bytes, server: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The constant view with ``body`` on ``modhub`` or ``waitress``."""
    file, port = folder / f"{server}-{len(body)}", servers.free_port()
    file.write_bytes(body)
    command = pinned([sys.executable, "-m", "bench.constant", str(file), str(port), server], 0)
    with servers.running(command, port, folder / f"{file.name}.log") as process:
        yield process, port


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Processor time that the process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    targets: dict[str, tuple[Any, int]], rounds: int, seconds: float, **request: Any
) -> dict[str, tuple[float, float, float, float]]:
    """(requests a second, p50 ms, p99 ms, CPU us) of each target, measured in turns."""
    for _, port in targets.values():
        load(port, seconds=0.3, **request)
    results: dict[str, list[tuple[Load, float]]] = {name: [] for name in targets}
    for _ in range(rounds):
        for name, (process, port) in targets.items():
            before = cpu_seconds(process)
            result = load(port, seconds=seconds, **request)
            results[name].append((result, (cpu_seconds(process) - before) / len(result.latencies)))
    return {
        name: (
            statistics.median(result.per_second for result, _ in found),
            statistics.median(result.percentile(0.5) for result, _ in found) * 1e3,
            statistics.median(result.percentile(0.99) for result, _ in found) * 1e3,
            statistics.median(cpu for _, cpu in found) * 1e6,
        )
        for name, found in results.items()
    }


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
        "chain of 1,000": (bodies["/api/modhub/1"], {**listed, "path": "/api/modhub/1", "connections": 1}),
    }


def reads(folder: Path, database: str, url: str, rounds: int, seconds: float) -> list[Row]:
    """The cases on one database: as shipped, without the access log, and without kept responses."""
    rows = []
    kinds: dict[str, dict[str, Any]] = {
        "modhub": {},
        "without the log": {"logged": False},
        "nothing kept": {"modhub__response_cache_bytes": "0"},
    }
    with ExitStack() as stack:
        ours = {}
        for kind, options in kinds.items():
            port = servers.free_port()
            ini = write_ini(folder, kind.replace(" ", "-") + database, port, url, **options)
            ours[kind] = (stack.enter_context(pserve(folder, ini, port)), port)
        for what, (body, request) in cases(ours["modhub"][1]).items():
            with ExitStack() as baselines:
                targets = dict(ours)
                # waitress closes the connection after a 304.
                for server in ("modhub",) if what == "304" else ("modhub", "waitress"):
                    targets[f"constant on {server}"] = baselines.enter_context(constant(folder, body, server))
                found = measure(targets, rounds, seconds, **request)
            base, stock = found["constant on modhub"][0], found.get("constant on waitress")
            for server, (per_second, *rest) in found.items():
                row = Row(database, what, server, per_second, per_second / base, None, *rest)
                row.to_waitress = per_second / stock[0] if stock else None
                rows.append(row)
    return rows


def starts(folder: Path, url: str, times: int) -> dict[str, float]:
    """The median time from the start to the first response, and the memory then."""
    seconds, memory = [], []
    for _ in range(times):
        port = servers.free_port()
        ini = write_ini(folder, "start", port, url)
        began = time.perf_counter()
        with pserve(folder, ini, port) as process:
            Client(port).get("/api/modhub")
            seconds.append(time.perf_counter() - began)
            memory.append(resident_megabytes(process))
    return {"cold_start_s": statistics.median(seconds), "idle_mb": statistics.median(memory)}


def resident_megabytes(process: subprocess.Popen[bytes]) -> float:
    """Memory of the process now."""
    lines = Path(f"/proc/{process.pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def show(rows: list[Row], facts: dict[str, Any]) -> None:
    """Print the table."""
    write = sys.stdout.write
    write("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n\n")
    write("| database | what | server | requests/s | x constant | x waitress | p50 ms | p99 ms | CPU us | goal |\n")
    write("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
    for row in rows:
        goal = GOALS[row.what] if row.database == "sqlite" else POSTGRES_GOAL
        aim = f"{goal:.2f}" if row.server == "modhub" and goal else ""
        stock = "" if row.to_waitress is None else f"{row.to_waitress:.2f}"
        write(
            f"| {row.database} | {row.what} | {row.server} | {row.per_second:.0f} | {row.to_constant:.2f} | {stock} | "
            f"{row.p50_ms:.2f} | {row.p99_ms:.2f} | {row.cpu_us:.0f} | {aim} |\n"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.table", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer mods, one short round: less than three minutes")
    parser.add_argument("--mods", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    mods, rounds, seconds = (3_000, 1, 0.5) if arguments.quick else (100_000, 5, 1.0)
    mods, rounds = arguments.mods or mods, arguments.rounds or rounds
    facts, rows = machine(), []
    if facts["pinned"]:
        os.sched_setaffinity(0, {1})
    with tempfile.TemporaryDirectory(prefix="modhub-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        urls = {"sqlite": f"sqlite:///{folder}/bench.sqlite"}
        urls["postgresql"] = stack.enter_context(postgres_server()).new_database()
        for database, url in urls.items():
            fill(folder, url, mods)
            rows += reads(folder, database, url, rounds, seconds)
        facts |= {"mods": mods, **starts(folder, urls["sqlite"], 1 if arguments.quick else 5)}
    show(rows, facts)
    if arguments.json:
        arguments.json.write_text(json.dumps({"facts": facts, "rows": [asdict(row) for row in rows]}, indent=1))


if __name__ == "__main__":
    main()
