"""What anonymous readers ask for: the API beside a constant view of the same bytes, searches, pages.

The servers share one core and the client has another.
"""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from bench import servers
from bench.load import load
from bench.measuring import Row, cpu_seconds
from modhub_testing.caller import Caller

MOD: Final = 2000
WARM_SECONDS: Final = 0.3
BESIDE_CONSTANT: Final = {"sqlite": 0.6, "postgresql": 0.35}
SEARCH_MS: Final = 20
"""For 100,000 mods; a million take at most 100 ms."""
PAGE_MS: Final = 6
NOTHING_KEPT_US: Final = 500
SEARCHES: Final = {
    "search, a common word": "/api/modhub?q=amber",
    "search, two words": "/api/modhub?q=amber+basalt",
    "search, two letters": "/api/modhub?q=ju",
    "search, a rare word": "/api/modhub?q=4711",
    "list, page 400": "/api/modhub?page=400",
    "list, best first": "/api/modhub?sort=top",
    "list, one game": "/api/modhub?game=portal",
    "search, a common word in a game": "/api/modhub?q=amber&game=portal",
}
PAGES: Final = {"front": "/Modhub", "mod": f"/Modhub/{MOD}"}


def beside_constant(folder: Path, database: str, url: str, rounds: int, seconds: float) -> list[Row]:
    """Requests a second of what is read most, as shipped, in turns with a constant view; 16 connections."""
    rows = []
    with _served(folder, database, url) as ours:
        for what, (body, request) in _cases(ours[1]).items():
            # Stock waitress closes the connection after a 304.
            with servers.constant(folder, body, "modhub" if what == "304" else "waitress") as constant:
                targets, per_second = {"modhub": ours, "constant": constant}, dict[str, list[float]]()
                for _, port in targets.values():
                    load(port, seconds=WARM_SECONDS, **request)
                for _ in range(rounds):
                    for name, (_, port) in targets.items():
                        per_second.setdefault(name, []).append(load(port, seconds=seconds, **request).per_second)
            # A shared machine changes its speed: the median of each round's factor.
            factor = statistics.median(one / other for one, other in zip(*per_second.values(), strict=True))
            medians = [statistics.median(values) for values in per_second.values()]
            rows.append(
                Row(what, database, medians[0], "req/s", medians[1], "constant view", factor, BESIDE_CONSTANT[database])
            )
    return rows


def _cases(port: int) -> dict[str, tuple[bytes, dict[str, Any]]]:
    """(the body that the constant view sends, the request) of each case."""
    listed, single = (Caller([port]).ask("GET", path) for path in ("/api/modhub", f"/api/modhub/{MOD}"))
    request: dict[str, Any] = {"path": "/api/modhub", "connections": 16}
    return {
        "list": (listed.body, request),
        "single mod": (single.body, {**request, "path": f"/api/modhub/{MOD}"}),
        "304": (listed.body, {**request, "headers": (f"If-None-Match: {listed.headers['ETag']}",), "status": 304}),
    }


def nothing_kept(folder: Path, database: str, url: str, seconds: float, mods: int) -> list[Row]:
    """Processor time of a list, and median times of searches with their exact totals, without kept responses."""
    with _served(folder, database, url, includes=servers.NOTHING_KEPT) as (process, port):
        load(port, "/api/modhub", seconds=WARM_SECONDS)
        used = cpu_seconds(process.pid)
        result = load(port, "/api/modhub", seconds=seconds)
        used = (cpu_seconds(process.pid) - used) / len(result.latencies) * 1e6
        rows = [Row("list, nothing kept, processor time", database, used, "us", at_most=NOTHING_KEPT_US)]
        goal = SEARCH_MS if mods <= 100_000 else 100
        for what, path in SEARCHES.items():
            rows.append(Row(what, database, _median_ms(port, path, seconds), "ms", at_most=goal))
        return rows


def pages(folder: Path, database: str, url: str, seconds: float) -> list[Row]:
    """The median times of the pages that most people see, as shipped."""
    with _served(folder, database, url) as (_, port):
        return [
            Row(what, database, _median_ms(port, path, seconds), "ms", at_most=PAGE_MS) for what, path in PAGES.items()
        ]


def _median_ms(port: int, path: str, seconds: float) -> float:
    load(port, path, seconds=WARM_SECONDS)
    return load(port, path, seconds=seconds).percentile(0.5) * 1e3


@contextmanager
def _served(folder: Path, database: str, url: str, **options: Any) -> Iterator[tuple[Any, int]]:
    with ExitStack() as stack:
        ini = servers.write_ini(folder, f"reads-{database}", url, **options)
        yield stack.enter_context(servers.pserve(folder, ini))
