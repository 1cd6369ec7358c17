"""Every kind of page against the JSON list, over persistent connections. The target is five times the list's time."""

import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import fuller, servers
from bench.client import Client, seconds_each
from bench.seed import seed
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub_testing.postgres import postgres_server

LIST = "/api/modhub"
TIMES = 40
UNCACHED = 101
"""Pages and mods from this number on are requested only once."""
PAGES = {
    "front": "/Modhub",
    "browse": "/Modhub?page=1",
    "browse, a word": "/Modhub?q=4711",
    "browse, two words": "/Modhub?q=amber+basalt",
    "browse, one game": "/Modhub?game=portal",
    "browse, top": "/Modhub?sort=top",
    "browse, most downloaded": "/Modhub?sort=downloads",
    "browse, a word, most downloaded": "/Modhub?q=amber&sort=downloads",
    "browse, page 400": "/Modhub?page=400",
    "browse, not cached": "/Modhub?page={n}",
    "mod": f"/Modhub/{fuller.PLAIN}",
    "mod, not cached": "/Modhub/5{n}",
    "mod, 50 requirements": f"/Modhub/{fuller.MANY_REQUIREMENTS}",
    "mod, required by many": f"/Modhub/{fuller.MUCH_REQUIRED}",
    "mod, 500 entries": f"/Modhub/{fuller.LONG_CHANGELOG}",
    "mod, images": f"/Modhub/{fuller.WITH_IMAGES}",
    "mod, chain of 1,000": "/Modhub/1",
    "feed of a list": "/Modhub/feed",
    "feed of a mod": f"/Modhub/{fuller.LONG_CHANGELOG}/feed",
    "sitemap": "/sitemap.xml",
    "sitemap, a part": "/sitemap.xml?of=mods&part=7",
    "robots": "/robots.txt",
    "search description": "/opensearch.xml",
    "wiki": "/Modhub/Wiki",
    "wiki page": "/Modhub/Wiki/guide/page-7",
    "wiki search": "/Modhub/Wiki?q=words",
    "feed of the wiki": "/Modhub/wiki.atom",
    "app": "/Modhub/App",
    "feed of the app": "/Modhub/App/feed",
    "sign in": "/Modhub/account/login",
    "a page that is not there": "/Modhub/999999999",
}
JSON = {
    "single mod": f"/api/modhub/{fuller.PLAIN}",
    "mod, chain of 1,000": "/api/modhub/1",
    "list, a word": "/api/modhub?q=4711",
    "list, two words": "/api/modhub?q=amber+basalt",
    "list, page 400": "/api/modhub?page=400",
}
"""The same content as JSON, for comparison."""
SIGNED_IN = {
    "front, signed in": "/Modhub",
    "browse, signed in": "/Modhub?page=1",
    "mod, signed in": f"/Modhub/{fuller.PLAIN}",
    "workshop": "/Modhub/mine",
    "workshop, a mod": f"/Modhub/mine/{fuller.PLAIN + 1}",
    "workshop, a new mod": "/Modhub/mine/new",
    "account": "/Modhub/account",
}
NOT_FOUND = {"/Modhub/999999999"}


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """The address of an empty database."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/pages.sqlite"
        return
    with postgres_server() as server:
        yield server.new_database()


def mean_over(client: Client, path: str, numbers: range, headers: tuple[str, ...], status: int) -> float:
    """Mean seconds of one request per number. Each replaces ``{n}`` in the path, so that nothing is cached yet."""
    if "{n}" not in path:
        return seconds_each(client, path, len(numbers), headers, status)
    return sum(seconds_each(client, path.format(n=number), 1, headers, status) for number in numbers) / len(numbers)


def ratio(lists: Client, path: str, client: Client, headers: tuple[str, ...], rounds: int) -> dict[str, float]:
    """What ``client`` gets against the list, alternately: medians of the milliseconds and of each round's ratio."""
    status = 404 if path in NOT_FOUND else 200
    _, length, _ = client.get(path.format(n=UNCACHED), headers)
    once = mean_over(client, path, range(UNCACHED + 1, UNCACHED + 3), headers, status)
    times = max(2, min(TIMES, int(0.3 / once)))
    measurements = []
    for number in range(rounds):
        list_seconds = seconds_each(lists, LIST, TIMES)
        first = UNCACHED + 3 + number * TIMES
        seconds = mean_over(client, path, range(first, first + times), headers, status)
        measurements.append((seconds, list_seconds))
    return {
        "bytes": length,
        "ms": statistics.median(page for page, _ in measurements) * 1e3,
        "list_ms": statistics.median(listed for _, listed in measurements) * 1e3,
        "times_list": statistics.median(page / listed for page, listed in measurements),
    }


def measure(folder: Path, kind: str, mods: int, rounds: int) -> list[dict[str, Any]]:
    """Measure all pages of a service with ``mods`` mods on one kind of database."""
    with ExitStack() as stack:
        url = stack.enter_context(database(kind, folder))
        keys = f"{fuller.KEY} Modhub:app Modhub:wiki"
        ini = servers.write_ini(folder, "pages", url, ApiPrivateKeys=keys)
        # Pages are as shipped. The list is made each time, so that they are compared with what it costs.
        uncached = servers.write_ini(folder, "list", url, ApiPrivateKeys=keys, includes=servers.NOTHING_KEPT)
        registry = servers.prepare(ini)
        seed(find_service(registry, Databases), mods)
        fuller.fill(find_service(registry, Databases), mods)
        stack.callback(find_service(registry, Databases).dispose)
        servers.let_workers_finish(folder, kind, url)
        _, port = stack.enter_context(servers.pserve(folder, ini, core=None))
        _, list_port = stack.enter_context(servers.pserve(folder, uncached, core=None))
        visitor = fuller.Visitor(port)
        fuller.give_mods(find_service(registry, Databases), visitor.sign_in())
        visitor.publish()
        client, lists = Client(port), Client(list_port)
        stack.callback(client.close)
        stack.callback(lists.close)
        seconds_each(lists, LIST, 100)
        signed_in = (f"Cookie: {visitor.cookie}",)
        cases = [*((name, path, client, ()) for name, path in PAGES.items())]
        cases += [(name, path, client, signed_in) for name, path in SIGNED_IN.items()]
        cases += [(f"JSON: {name}", path, lists, ()) for name, path in JSON.items()]
        return [
            {"what": name, "database": kind, **ratio(lists, path, asked, headers, rounds)}
            for name, path, asked, headers in cases
        ]


def show(rows: list[dict[str, Any]]) -> None:
    """Print a table; ``times_list`` should stay below five."""
    write = sys.stdout.write
    write(f"\n{'page':<36}{'database':<12}{'bytes':>9}{'ms':>9}{'list ms':>9}{'x list':>8}\n")
    for row in rows:
        write(f"{row['what']:<36}{row['database']:<12}{row['bytes']:>9}")
        write(f"{row['ms']:>9.2f}{row['list_ms']:>9.3f}{row['times_list']:>8.1f}\n")
