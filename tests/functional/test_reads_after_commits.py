"""Two processes, kept responses: a read after an acknowledged write sees it, whichever process wrote.

Meanwhile others vote, edit and sign in, up to fifty times a second. ``MODHUB_LONG_RACES=1`` makes 10,000 rounds.
"""

import itertools
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from modhub_testing.caller import Caller
from modhub_testing.service import PASSWORD

pytestmark = pytest.mark.postgres

ROUNDS = 10_000 if os.environ.get("MODHUB_LONG_RACES") == "1" else 25
PAUSE_SECONDS = 0.02
"""Between the commits of the others."""
SIGN_IN_AGAIN = 500
"""Rounds after which everybody gets a new access token: it is valid for half an hour."""


@pytest.fixture(scope="module")
def ports(service):
    running = [process.port for process in service.processes if process.popen.poll() is None]
    return [running[0], running[-1]]


@pytest.fixture(scope="module", autouse=True)
def accounts(service):
    for name in ("writer", "fan"):
        service.register(name)


def sign_in(port, name):
    credentials = {"email": f"{name}@example.org", "password": PASSWORD}
    return Caller([port], Caller([port]).need(200, "POST", "/api/auth/login", credentials)["accessToken"])


def title_of(port, mod_id):
    return Caller([port]).ask("GET", f"/api/modhub/{mod_id}").json["title"]


def listed(port, word):
    """The titles that a search finds; its address stays the same."""
    return [mod["title"] for mod in Caller([port]).ask("GET", f"/api/modhub?q={word}&size=100").json["mods"]]


@contextmanager
def meanwhile(jobs):
    """Repeat each job in a thread of its own; yields whether all of them go on."""
    ended = threading.Event()

    def repeat(job):
        while not ended.is_set():
            job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        running = [pool.submit(repeat, job) for job in jobs]
        try:
            yield lambda: not any(each.done() for each in running)
        finally:
            ended.set()
    for each in running:
        each.result()


def others(ports, mod_id):
    """Votes, edits of another mod, and sign-ins, in turn; each step is one commit that was acknowledged."""
    own, fan = sign_in(ports[0], "writer"), sign_in(ports[1], "fan")
    another = own.published("another mod")["id"]
    pause = threading.Event()
    for number in itertools.count():
        if number % 10 == 9:
            own, fan = sign_in(ports[number % 2], "writer"), sign_in(ports[0], "fan")
        elif number % 3 == 2:
            own.need(200, "PUT", f"/api/modhub/{another}", {"title": f"another mod {number}"})
            assert title_of(ports[number % 2], another) == f"another mod {number}"
        else:
            fan.need(200, "PUT", f"/api/modhub/{mod_id}/vote", {"value": number % 2})
        pause.wait(PAUSE_SECONDS)
        yield


def test_every_read_after_an_acknowledged_write_shows_it(ports):
    # C-READ-1, T-E9
    own = sign_in(ports[0], "writer")
    word = os.urandom(4).hex()  # a second try finds only its own
    mod = own.published(f"{word} 0")
    rng = random.Random(14)
    newest = [0]

    def read(port):
        acknowledged = newest[0]
        shown = int(title_of(port, mod["id"]).split()[1])
        assert shown >= acknowledged, (port, acknowledged, shown)

    commits = others(ports, mod["id"])
    with meanwhile([lambda: read(ports[0]), lambda: read(ports[1]), lambda: next(commits)]) as all_go_on:
        for number in range(1, ROUNDS + 1):
            if number % SIGN_IN_AGAIN == 0:
                own = sign_in(rng.choice(ports), "writer")
            title = f"{word} {number}"
            Caller([rng.choice(ports)], own.token).need(200, "PUT", f"/api/modhub/{mod['id']}", {"title": title})
            newest[0] = number
            assert [title_of(port, mod["id"]) for port in ports] == [title] * len(ports)
            assert [listed(port, word) for port in ports] == [[title]] * len(ports)
            assert all_go_on()
