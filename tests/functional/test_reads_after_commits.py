"""Two processes, kept responses: a read after an acknowledged write sees it, whichever process wrote.

``MODHUB_LONG_RACES=1`` makes 10,000 rounds.
"""

import os
import random
import threading
from typing import Any

import pytest

from modhub.testing.caller import Caller
from modhub.testing.service import Installation

ROUNDS = 10_000 if os.environ.get("MODHUB_LONG_RACES") == "1" else 60


@pytest.fixture(scope="module")
def ports(service: Installation) -> list[int]:
    return [process.port for process in service.processes if process.popen.poll() is None][:2]


@pytest.fixture(scope="module")
def own(service: Installation) -> Caller:
    return service.register("writer")


@pytest.fixture(scope="module")
def fan(service: Installation) -> Caller:
    return service.register("fan")


def title_of(port: int, mod_id: int) -> str:
    title: str = Caller([port]).ask("GET", f"/api/modhub/{mod_id}").json["title"]
    return title


def listed(port: int) -> list[str]:
    """The titles that a search finds; its address stays the same."""
    return [mod["title"] for mod in Caller([port]).ask("GET", "/api/modhub?q=afterwards&size=100").json["mods"]]


def test_every_read_after_an_acknowledged_write_shows_it(ports: list[int], own: Caller, fan: Caller) -> None:
    # C-READ-1
    mod = own.published("afterwards 0")
    rng = random.Random(14)
    stopped, wrong = threading.Event(), list[Any]()
    newest = [0]

    def read(port: int) -> None:
        while not stopped.is_set():
            acknowledged = newest[0]
            shown = int(title_of(port, mod["id"]).split()[1])
            if shown < acknowledged:
                wrong.append((port, acknowledged, shown))

    readers = [threading.Thread(target=read, args=(port,)) for port in ports]
    for reader in readers:
        reader.start()
    try:
        for number in range(1, ROUNDS + 1):
            writer = rng.choice(ports)
            if number % 3 == 0:
                # A commit that changes nothing that is kept.
                Caller([writer], fan.token).need(200, "PUT", f"/api/modhub/{mod['id']}/vote", {"value": number % 2})
                continue
            title = f"afterwards {number}"
            Caller([writer], own.token).need(200, "PUT", f"/api/modhub/{mod['id']}", {"title": title})
            newest[0] = number
            assert [title_of(port, mod["id"]) for port in ports] == [title] * len(ports)
            assert [listed(port) for port in ports] == [[title]] * len(ports)
            assert not wrong
    finally:
        stopped.set()
        for reader in readers:
            reader.join()
    assert not wrong
