"""Whole processes: two behind nginx beside one, the list while others sign in, the start, idle memory."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench import servers
from bench.client import Client
from bench.load import Load, load
from bench.measuring import Row, cpu_seconds, megabytes, on_all_cores

START_GOAL_S: Final = 2
MEMORY_GOAL_MB: Final = 120
SIGN_INS: Final = 16
ACCOUNT: Final = {"email": "bench@example.org", "password": "correct horse battery"}
LIST: Final = "/api/modhub"


def two_processes(folder: Path, database: str, url: str, rounds: int, seconds: float) -> list[Row]:
    """The list behind nginx, from one process and from two. Nothing is pinned."""
    with on_all_cores():
        ini = servers.write_ini(folder, f"two-{database}", url)
        with servers.pserve(folder, ini, core=None) as first, servers.pserve(folder, ini, core=None) as second:
            both = folder / "both"
            both.mkdir(exist_ok=True)
            with (
                servers.nginx(folder, [first[1]]) as single_port,
                servers.nginx(both, [first[1], second[1]]) as double_port,
            ):
                if single_port is None or double_port is None:
                    return []
                ports = {"one": single_port, "two": double_port}
                per_second: dict[str, list[float]] = {name: [] for name in ports}
                costs: dict[str, list[float]] = {name: [] for name in ports}
                for port in ports.values():
                    _load_behind_nginx(port, 0.5)
                for _ in range(rounds):
                    for name, port in ports.items():
                        before = sum(cpu_seconds(process.pid) for process, _ in (first, second))
                        result = _load_behind_nginx(port, seconds)
                        used = sum(cpu_seconds(process.pid) for process, _ in (first, second)) - before
                        per_second[name].append(result.per_second)
                        costs[name].append(used / len(result.latencies) * 1e6)
    ours, beside = (statistics.median(per_second[name]) for name in ("two", "one"))
    details = {f"cpu_us_{name}": round(statistics.median(values)) for name, values in costs.items()}
    what = "two processes behind nginx"
    return [Row(what, database, ours, "req/s", beside, "one process", ours / beside, details=details)]


def _load_behind_nginx(port: int, seconds: float) -> Load:
    return load(port, f"{servers.PLAIN}{LIST}", seconds=seconds, connections=32)


def under_sign_ins(folder: Path, url: str, rounds: int, seconds: float) -> list[Row]:
    """The list over one connection while 16 clients sign in all the time, and while nobody does. Nothing is pinned."""
    quiet, busy, signed_in = [], [], 0
    with on_all_cores(), servers.pserve(folder, servers.write_ini(folder, "sign-in", url), core=None) as (_, port):
        client = Client(port)
        client.send("POST", "/api/auth/register", body=json.dumps(ACCOUNT).encode())
        assert client.receive()[0] in {201, 409}
        client.close()
        load(port, LIST, seconds=0.5)
        for _ in range(rounds):
            quiet.append(load(port, LIST, seconds=seconds))
            with _signing_in(port) as counted:
                busy.append(load(port, LIST, seconds=seconds))
            signed_in += counted[0]
    ours, beside = (statistics.median(result.percentile(0.99) * 1e3 for result in results) for results in (busy, quiet))
    details = {
        "p50_ms": statistics.median(result.percentile(0.5) * 1e3 for result in busy),
        "p50_ms_quiet": statistics.median(result.percentile(0.5) * 1e3 for result in quiet),
        "sign_ins_per_second": round(signed_in / seconds / rounds, 1),
    }
    what = f"list p99 while {SIGN_INS} sign in"
    return [Row(what, "sqlite", ours, "ms", beside, "quiet", ours / beside, details=details)]


@contextmanager
def _signing_in(port: int) -> Iterator[list[int]]:
    """16 connections in a process of its own; the list gets the number of sign-ins at the end."""
    counted = [0]
    command = [sys.executable, "-m", "bench.load", str(port), "/api/auth/login", str(SIGN_INS), json.dumps(ACCOUNT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        yield counted
        counted[0] = int(process.communicate("\n", timeout=60)[0])


def starts(folder: Path, url: str, times: int) -> list[Row]:
    """The median time from the start to the first response, and the memory then."""
    seconds, memory = [], []
    ini = servers.write_ini(folder, "start", url)
    with on_all_cores():
        for _ in range(times + 1):
            began = time.perf_counter()
            with servers.pserve(folder, ini, core=None) as (process, port):
                Client(port).get(LIST)
                seconds.append(time.perf_counter() - began)
                memory.append(megabytes(process.pid))
    # The first one reads the files from the disk.
    started, used = statistics.median(seconds[1:]), statistics.median(memory[1:])
    return [
        Row("start to the first response", "sqlite", started, "s", at_most=START_GOAL_S),
        Row("idle memory, all features", "sqlite", used, "MB", at_most=MEMORY_GOAL_MB),
    ]
