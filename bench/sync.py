"""``python -m bench.sync [--mods N]``: following the catalogue beside paging its list, in requests and bytes.

Bytes are those of whole responses, heads included. A day is 24 checks, one an hour; both clients send
``If-None-Match``. Times are medians, beside the read of one mod with a chain of 1,000.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyramid.paster import get_appsettings
from sqlalchemy import select

import modhub as application
from bench import servers
from bench.client import Client
from bench.seed import CHAIN, seed
from modhub.catalogue.models import Mod
from modhub.catalogue.services import touch_mod
from modhub.db import Databases
from modhub.declarations import Declarations
from modhub.ops import migrate
from modhub.service_registry import find_service
from modhub_sync.snapshots import SnapshotMaker

HOURS = 24
INSTALLED = 200
ROUNDS = 15


class Counted:
    """A client that counts requests and bytes, and remembers the ETag of each address."""

    def __init__(self, port: int) -> None:
        self.client = Client(port)
        self.etags: dict[str, str] = {}
        self.requests = self.bytes = 0

    def ask(self, path: str, body: Any = None) -> Any:
        """The JSON of the answer; None for a 304."""
        known = self.etags.get(path)
        headers = (f"If-None-Match: {known}",) if known and body is None else ()
        sent = b"" if body is None else json.dumps(body).encode()
        self.client.send("GET" if body is None else "POST", path, headers, sent)
        status, _, answer = self.client.receive(keep_body=True)
        self.requests += 1
        self.bytes += len(answer)
        if status not in {200, 304}:
            raise AssertionError(f"{path} answered {status}")
        head, _, content = answer.partition(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"etag:"):
                self.etags[path] = line[5:].strip().decode()
        if status == 304:
            return None
        return content if path.startswith("/Modhub/") else json.loads(content)

    def spent(self) -> tuple[int, int]:
        """Requests and bytes since the last call."""
        spent = self.requests, self.bytes
        self.requests = self.bytes = 0
        return spent


def follow(client: Counted, since: int) -> int:
    """Ask for the changes and look up the changed mods; the next serial."""
    while True:
        page = client.ask(f"/api/modhub/changes?since={since}&limit=1000")
        if page is None:
            return since
        guids = [entry["guid"] for entry in page["changes"]]
        for start in range(0, len(guids), 500):
            client.ask("/api/modhub/lookup", {"guids": guids[start : start + 500]})
        since = page["serial"]
        if not page["more"]:
            # What is asked next time has an answer that can be the same.
            client.ask(f"/api/modhub/changes?since={since}&limit=1000")
            return since


def page_all(client: Counted, mods: int) -> None:
    """Read the whole list."""
    for page in range(1, -(-mods // 100) + 1):
        client.ask(f"/api/modhub?size=100&page={page}")


def first_syncs(port: int, mods: int) -> dict[str, tuple[int, int]]:
    """Requests and bytes until a new client has everything."""
    rows = {}
    client = Counted(port)
    follow(client, 0)
    rows["first sync, changes and lookups"] = client.spent()
    pointer = client.ask("/api/modhub/snapshot")
    client.ask(pointer["url"])
    follow(client, pointer["serial"])
    rows["first sync, snapshot"] = client.spent()
    page_all(client, mods)
    rows["first sync, paging the list"] = client.spent()
    return rows


def days(port: int, databases: Databases, mods: int) -> dict[str, tuple[int, int]]:
    """Requests and bytes of a day without changes, and of one in which a hundredth of the mods change."""
    rows = {}
    for name, share in (("idle day", 0), ("day with 1 % changes", mods // 100)):
        follower, pager = Counted(port), Counted(port)
        since = follow(follower, mods)
        page_all(pager, mods)
        follower.spent(), pager.spent()
        for hour in range(HOURS):
            first = 1 + share * hour // HOURS
            edit(databases, range(first, 1 + share * (hour + 1) // HOURS))
            since = follow(follower, since)
            page_all(pager, mods)
        rows[f"{name}, changes"], rows[f"{name}, paging the list"] = follower.spent(), pager.spent()
    return rows


def edit(databases: Databases, numbers: range) -> None:
    with databases.write_session.begin() as session:
        for mod in session.scalars(select(Mod).where(Mod.id.in_(list(numbers)))):
            mod.title += "."
            touch_mod(session, mod)
            session.flush()


def median_ms(act: Callable[[], Any]) -> float:
    spent = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        act()
        spent.append(time.perf_counter() - started)
    return 1000 * statistics.median(spent)


def times(port: int, guids: list[str]) -> dict[str, float]:
    """Milliseconds of an update check and of a plan, and of the chain that the plan is made from."""
    client = Counted(port)
    have = [{"guid": guid, "version": "1.0"} for guid in guids[:INSTALLED]]
    return {
        f"update check of {INSTALLED}": median_ms(lambda: client.ask("/api/modhub/updates", {"have": have})),
        f"plan of {CHAIN}": median_ms(lambda: client.ask("/api/modhub/plan", {"want": guids[:1], "have": []})),
        # An address of its own each time: kept responses would cost nothing.
        f"chain of {CHAIN}": median_ms(lambda: client.ask(f"/api/modhub/1?{time.perf_counter()}")),
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.sync")
    parser.add_argument("--mods", type=int, default=20_000)
    mods = parser.parse_args().mods
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        port = servers.free_port()
        ini = servers.write_ini(folder, port, f"sqlite:///{folder}/bench.sqlite", "modhub_sync")
        registry = application.configure(get_appsettings(str(ini))).registry
        databases = find_service(registry, Databases)
        migrate.upgrade(databases, find_service(registry, Declarations).migrations)
        seed(databases, mods)
        find_service(registry, SnapshotMaker).make(application.open_store(registry, make=True))
        with databases.readonly_session() as session:
            guids = list(session.scalars(select(Mod.guid).where(Mod.id <= CHAIN).order_by(Mod.id)))
        with servers.modhub(folder, ini, port):
            measured = times(port, guids)
            counts = first_syncs(port, mods) | days(port, databases, mods)
        databases.dispose()
    for name, (requests, size) in counts.items():
        beside = counts[name.partition(",")[0] + ", paging the list"]
        print(f"{name:40} {requests:6} requests {size:11,} bytes   {size / beside[1]:.4f} of paging")
    chain = measured[f"chain of {CHAIN}"]
    for name, milliseconds in measured.items():
        print(f"{name:40} {milliseconds:8.1f} ms   {milliseconds / chain:.2f} of the chain")


if __name__ == "__main__":
    main()
