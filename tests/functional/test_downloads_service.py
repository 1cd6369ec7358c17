"""Download counts of two processes: exactly what the definition says, whatever callers do.

``MODHUB_LONG_RACES=1`` makes 10,000 downloads.
"""

import os
import random
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Any, Final, NamedTuple

import pytest

from modhub_testing.caller import Caller, patiently
from modhub_testing.service import SERVICE_STOP_SECONDS, Installation

pytestmark = pytest.mark.long

DOWNLOADS: Final = 10_000 if os.environ.get("MODHUB_LONG_RACES") == "1" else 400
MODS: Final = 5
LARGE: Final = 600_000
"""Bytes of a file that is in no buffer as a whole when its reader leaves."""
KINDS: Final = {
    "whole": 6,
    "repeated": 2,
    "first range": 4,
    "first bytes": 2,
    "later range": 4,
    "HEAD": 2,
    "known": 2,
    "aborted": 4,
}
COUNTED: Final = frozenset({"whole", "repeated", "first range", "aborted"})


class Act(NamedTuple):
    """One request."""

    kind: str
    mod: int
    caller: str
    port: int
    by_asset: bool


@pytest.fixture
def installation(services: Any, kind: str) -> Installation:
    made: Installation = services(
        kind,
        2,
        includes="modhub_auth modhub_downloads",
        server={
            "trusted_proxy": "127.0.0.1",
            "trusted_proxy_count": 1,
            "trusted_proxy_headers": "x-forwarded-for",
            "connections_per_peer": 2000,
        },
    )
    return made


def network(caller: str) -> str:
    """What counts as one caller, written down a second time."""
    address = ip_address(caller)
    mapped = getattr(address, "ipv4_mapped", None)
    if address.version == 4 or mapped:
        return str(mapped or address)
    return str(ip_network(f"{address}/64", strict=False))


def callers(rng: random.Random, count: int) -> list[str]:
    ipv4 = [f"198.18.{number // 250}.{number % 250 + 1}" for number in range(count)]
    ipv6 = [f"2001:db8:0:{number % (count // 3):x}::{rng.randrange(1, 2**16):x}" for number in range(count)]
    return [*ipv4, *ipv6, *(f"::ffff:{address}" for address in ipv4[::7])]


def plan(rng: random.Random, size: int, ports: list[int]) -> list[Act]:
    people = callers(rng, size // 10)
    acts = []
    for kind in rng.choices(list(KINDS), list(KINDS.values()), k=size):
        act = Act(kind, rng.randrange(MODS), rng.choice(people), rng.choice(ports), rng.random() < 0.3)
        acts.append(act)
    return acts


def send(act: Act, mods: list[Any], tags: list[str]) -> None:
    mod, headers = mods[act.mod], {"X-Forwarded-For": act.caller}
    code = next(asset["url"] for asset in mod["assets"] if asset["kind"] == "code")
    path = code if act.by_asset else f"/api/modhub/{mod['id']}/download"
    if act.kind == "aborted":
        abort(act.port, path, act.caller)
        return
    headers |= {
        "first range": {"Range": f"bytes=0-{LARGE // 10 - 1}"},
        "first bytes": {"Range": f"bytes=0-{LARGE // 10 - 2}"},
        "later range": {"Range": "bytes=10-"},
        "known": {"If-None-Match": tags[act.mod]},
    }.get(act.kind, {})
    expected = {"first range": 206, "first bytes": 206, "later range": 206, "known": 304}.get(act.kind, 200)
    method = "HEAD" if act.kind == "HEAD" else "GET"
    for _ in range(2 if act.kind == "repeated" else 1):
        answer = patiently(lambda: Caller([act.port]).ask(method, path, headers=headers))
        assert answer.status == expected, (act, answer.status)


def abort(port: int, path: str, caller: str) -> None:
    """Leave as soon as the answer begins."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {caller}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(12).startswith(b"HTTP/1.1 200")


def stop_once(service: Installation) -> None:
    """A clean stop, which writes what waits; a second signal would cut it short."""
    for process in service.processes:
        process.popen.terminate()
    assert [process.popen.wait(SERVICE_STOP_SECONDS) for process in service.processes] == [0, 0]


def downloads_of(service: Installation, mods: list[Any]) -> list[dict[str, int]]:
    answers = [service.caller().need(200, "GET", f"/api/modhub/{mod['id']}/downloads") for mod in mods]
    downloads = [{row["version"]: row["downloads"] for row in answer["versions"]} for answer in answers]
    assert [answer["total"] for answer in answers] == [sum(by_version.values()) for by_version in downloads]
    return downloads


@pytest.mark.slow
@pytest.mark.postgres
def test_mixed_downloads_give_exactly_the_defined_number(installation: Installation) -> None:
    # C-DL-1, C-DL-2, C-DL-7
    rng, began = random.Random(16), time.monotonic()
    day = datetime.now(UTC).date()
    author = installation.register("author")
    mods = [author.published(f"Mod {number}", rng.randbytes(LARGE)) for number in range(MODS)]
    ports = [process.port for process in installation.processes]
    expected: set[tuple[str, int, str]] = set()
    for version in ("1", "2"):
        if version == "2":
            for mod in mods:
                content = rng.randbytes(LARGE)
                sent = patiently(lambda m=mod, c=content: author.send_file(m["id"], "code", c, version="2", name="a"))
                assert sent.status == 201
        heads = [author.ask("HEAD", f"/api/modhub/{mod['id']}/download") for mod in mods]
        tags = [answer.headers["ETag"] for answer in heads]
        acts = plan(rng, DOWNLOADS // 2, ports)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda act, t=tags: send(act, mods, t), acts))
        expected |= {(network(act.caller), act.mod, version) for act in acts if act.kind in COUNTED}
    stop_once(installation)
    installation.start()
    if datetime.now(UTC).date() != day:
        pytest.skip("midnight UTC: the callers of two days count twice")
    expected_counts = [Counter(version for _, mod, version in expected if mod == number) for number in range(MODS)]
    assert downloads_of(installation, mods) == [dict(counted) for counted in expected_counts]
    assert installation.admin("verify").returncode == 0
    print(f"{DOWNLOADS} requests, {len(expected)} downloads, {time.monotonic() - began:.0f} s")  # noqa: T201
