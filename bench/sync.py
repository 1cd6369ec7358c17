"""``python -m bench.sync [--mods N]``: following the catalogue beside paging its list, in requests and bytes.

Bytes are those of whole responses, heads included. A day is 24 checks, one an hour; both clients send
``If-None-Match``. Times are medians, beside the read of the mod whose chain is planned: 1,000 mods one behind the
other, or 50 requirements with 50 of their own. Everything once per database.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import select

import modhub as application
from bench import servers
from bench.client import Client
from bench.pages import database
from bench.seed import CHAIN, seed
from modhub.base.service_registry import find_service
from modhub.catalogue.models import Mod
from modhub.catalogue.owning.services import touch_mod
from modhub.db import Databases
from modhub_sync.snapshots import SnapshotMaker

HOURS = 24
INSTALLED = 200
ROUNDS = 15
FAN = 50
ROOT = CHAIN + 1
"""The mod with 50 requirements that have 50 of their own; they follow it in the order of their ids."""
MODS_AT_LEAST = ROOT + FAN + FAN * FAN


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


def fan_out(databases: Databases) -> None:
    """Give the mod ``ROOT`` its 2,550 requirements."""
    with databases.write_session.begin() as session:
        mods = session.scalars(select(Mod).where(Mod.id >= ROOT, Mod.id < ROOT + 1 + FAN + FAN * FAN).order_by(Mod.id))
        root, *others = mods.all()
        branches, leaves = others[:FAN], others[FAN:]
        root.requires = [mod.guid for mod in branches]
        for place, mod in enumerate(branches):
            mod.requires = [leaf.guid for leaf in leaves[place * FAN : (place + 1) * FAN]]


def seconds(act: Callable[[], Any]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def beside(act: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """Median milliseconds of both, measured alternately, so that other load affects both."""
    pairs = [(seconds(act), seconds(other)) for _ in range(ROUNDS)]
    return 1000 * statistics.median(first for first, _ in pairs), 1000 * statistics.median(last for _, last in pairs)


def plan_beside_chain(client: Counted, guid: str, mod_id: int, size: int) -> tuple[float, float]:
    """The plan of a mod beside the read of that mod with its chain, nothing kept of either."""
    ask_plan(client, guid)  # as the first chain: statements are prepared
    steps = ask_plan(client, guid)["steps"]
    if len(steps) != size:
        raise AssertionError(f"the plan has {len(steps)} steps, not {size}")
    return beside(lambda: ask_plan(client, guid), lambda: read_chain(client, mod_id))


def ask_plan(client: Counted, guid: str) -> Any:
    have = [{"guid": guid, "version": "0"}]
    return client.ask("/api/modhub/plan", {"want": [guid], "have": have})


def read_chain(client: Counted, mod_id: int) -> None:
    # An address of its own each time: kept responses would cost nothing.
    client.ask(f"/api/modhub/{mod_id}?{time.perf_counter()}")


def times(port: int, guids: list[str]) -> dict[str, tuple[float, float]]:
    """Milliseconds of an update check and of plans, each beside the read of a mod with its chain."""
    client = Counted(port)
    have = [{"guid": guid, "version": "1.0"} for guid in guids[:INSTALLED]]
    return {
        f"update check of {INSTALLED}": beside(
            lambda: client.ask("/api/modhub/updates", {"have": have}), lambda: read_chain(client, 1)
        ),
        f"plan of {CHAIN}": plan_beside_chain(client, guids[0], 1, CHAIN),
        f"plan of {FAN} with {FAN} each": plan_beside_chain(client, guids[ROOT - 1], ROOT, 1 + FAN + FAN * FAN),
    }


def measure(folder: Path, url: str, mods: int) -> None:
    """Print the tables of one database."""
    ini = servers.write_ini(folder, "sync", url, includes="modhub_sync")
    registry = servers.prepare(ini)
    databases = find_service(registry, Databases)
    seed(databases, mods)
    fan_out(databases)
    SnapshotMaker(registry).make(application.open_store(registry, make=True))
    with databases.readonly_session() as session:
        guids = list(session.scalars(select(Mod.guid).where(Mod.id <= ROOT).order_by(Mod.id)))
    with servers.pserve(folder, ini, core=None) as (_, port):
        measured = times(port, guids)
        counts = first_syncs(port, mods) | days(port, databases, mods)
    databases.dispose()
    show(counts, measured)


def show(counts: dict[str, tuple[int, int]], measured: dict[str, tuple[float, float]]) -> None:
    write = sys.stdout.write
    for name, (requests, size) in counts.items():
        beside = counts[name.partition(",")[0] + ", paging the list"]
        write(f"{name:40} {requests:6} requests {size:11,} bytes   {size / beside[1]:.4f} of paging\n")
    for name, (spent, chain) in measured.items():
        write(f"{name:40} {spent:8.1f} ms, chain {chain:.1f} ms   {spent / chain:.2f} of the chain\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sync")
    parser.add_argument("--mods", type=int, default=20_000)
    mods = max(parser.parse_args().mods, MODS_AT_LEAST)
    for kind in ("sqlite", "postgresql"):
        sys.stdout.write(f"{kind}, {mods:,} mods\n")
        with tempfile.TemporaryDirectory() as folder, database(kind, Path(folder)) as url:
            measure(Path(folder), url, mods)


if __name__ == "__main__":
    main()
