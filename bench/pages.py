"""Every kind of page beside the JSON list, over HTTP on kept connections: at most five times its time is the aim."""

import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pyramid.paster import get_appsettings

import modhub as application
from bench import fuller, servers
from bench.client import Client, seconds_each
from bench.seed import seed
from modhub.db import Databases
from modhub.declarations import Declarations
from modhub.ops import migrate
from modhub.service_registry import find_service
from modhub.testing.postgres import postgres_server

LIST = "/api/modhub"
TIMES = 40
NEW = 101
"""Pages and mods from here on are asked for once in all."""
FEATURES = "modhub_auth modhub_builds modhub_wiki"
PAGES = {
    "browse": "/Modhub",
    "browse, a word": "/Modhub?q=4711",
    "browse, two words": "/Modhub?q=amber+basalt",
    "browse, one game": "/Modhub?game=portal",
    "browse, top": "/Modhub?sort=top",
    "browse, page 400": "/Modhub?page=400",
    "browse, never drawn before": "/Modhub?page={n}",
    "mod": f"/Modhub/{fuller.PLAIN}",
    "mod, never drawn before": "/Modhub/5{n}",
    "mod, 50 requirements": f"/Modhub/{fuller.NEEDY}",
    "mod, much used": f"/Modhub/{fuller.MUCH_USED}",
    "mod, 500 entries": f"/Modhub/{fuller.STORIED}",
    "mod, images": f"/Modhub/{fuller.PICTURED}",
    "mod, chain of 1,000": "/Modhub/1",
    "feed of a list": "/Modhub/feed",
    "feed of a mod": f"/Modhub/{fuller.STORIED}/feed",
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
"""What the same thing costs as JSON, for comparison."""
SIGNED_IN = {
    "browse, signed in": "/Modhub",
    "mod, signed in": f"/Modhub/{fuller.PLAIN}",
    "workshop": "/Modhub/mine",
    "workshop, a mod": f"/Modhub/mine/{fuller.PLAIN + 1}",
    "workshop, a new mod": "/Modhub/mine/new",
    "account": "/Modhub/account",
}
NOT_THERE = {"/Modhub/999999999"}


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """The address of an empty database."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/pages.sqlite"
        return
    with postgres_server() as server:
        yield server.new_database()


def each_another(client: Client, path: str, numbers: range, headers: tuple[str, ...], status: int) -> float:
    """The mean of a request for each number; ``{n}`` in the path stands for it, so that nothing is kept already."""
    if "{n}" not in path:
        return seconds_each(client, path, len(numbers), headers, status)
    return sum(seconds_each(client, path.format(n=one), 1, headers, status) for one in numbers) / len(numbers)


def ratio(client: Client, path: str, headers: tuple[str, ...], rounds: int) -> dict[str, float]:
    """A page beside the list, in turns: medians of the milliseconds and of each round's ratio."""
    status = 404 if path in NOT_THERE else 200
    _, length, _ = client.get(path.format(n=NEW), headers)
    once = each_another(client, path, range(NEW + 1, NEW + 3), headers, status)
    times = max(2, min(TIMES, int(0.3 / once)))
    turns = []
    for turn in range(rounds):
        theirs = seconds_each(client, LIST, TIMES)
        first = NEW + 3 + turn * TIMES
        turns.append((each_another(client, path, range(first, first + times), headers, status), theirs))
    return {
        "bytes": length,
        "ms": statistics.median(ours for ours, _ in turns) * 1e3,
        "list_ms": statistics.median(theirs for _, theirs in turns) * 1e3,
        "times_list": statistics.median(ours / theirs for ours, theirs in turns),
    }


def measure(folder: Path, kind: str, mods: int, rounds: int) -> list[dict[str, Any]]:
    """All pages of a service with ``mods`` mods on one kind of database."""
    with ExitStack() as stack:
        port = servers.free_port()
        url = stack.enter_context(database(kind, folder))
        ini = servers.write_ini(folder, port, url, FEATURES, key=f"{fuller.KEY} Modhub:app Modhub:wiki")
        registry: Any = application.configure(get_appsettings(str(ini), name="main")).registry
        migrate.upgrade(find_service(registry, Databases), find_service(registry, Declarations).migrations)
        seed(find_service(registry, Databases), mods)
        fuller.fill(find_service(registry, Databases), mods)
        stack.callback(find_service(registry, Databases).dispose)
        stack.enter_context(servers.modhub(folder, ini, port))
        visitor = fuller.Visitor(port)
        fuller.own(find_service(registry, Databases), visitor.sign_in())
        visitor.publish()
        client = Client(port)
        stack.callback(client.close)
        seconds_each(client, LIST, 100)
        signed_in = (f"Cookie: {visitor.cookie}",)
        wanted = [*((what, path, ()) for what, path in PAGES.items())]
        wanted += [(what, path, signed_in) for what, path in SIGNED_IN.items()]
        wanted += [(f"JSON: {what}", path, ()) for what, path in JSON.items()]
        return [{"what": what, "database": kind, **ratio(client, path, more, rounds)} for what, path, more in wanted]


def show(rows: list[dict[str, Any]]) -> None:
    """A table; ``times_list`` is the number that should stay below five."""
    write = sys.stdout.write
    write(f"\n{'page':<36}{'database':<12}{'bytes':>9}{'ms':>9}{'list ms':>9}{'x list':>8}\n")
    for row in rows:
        write(f"{row['what']:<36}{row['database']:<12}{row['bytes']:>9}")
        write(f"{row['ms']:>9.2f}{row['list_ms']:>9.3f}{row['times_list']:>8.1f}\n")
