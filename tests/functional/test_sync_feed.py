"""Eight writers and four readers of the change feed over two processes: each reader ends with the list itself.

``MODHUB_LONG_RACES=1`` makes 200 rounds (``make test-machines LONG=1``).
"""

import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from modhub_testing.caller import patiently

pytestmark = [pytest.mark.long, pytest.mark.postgres]

ROUNDS = 200 if os.environ.get("MODHUB_LONG_RACES") else 2
WRITERS, ACTS = 8, 4


class Writer:
    """An owner who publishes, edits, replaces and deletes mods, and keeps drafts; drafts and deleted GUIDs are told."""

    def __init__(self, caller, number):
        self.caller = caller
        self.rng = random.Random(number)
        self.mods = []
        self.drafts = set()
        self.deleted = set()
        self.versions = 1

    def act(self):
        act = self.rng.random()
        if not self.mods or act < 0.3:
            self.mods.append(self.caller.published(f"mod {self.rng.random()}", os.urandom(20)))
        elif act < 0.6:
            self.caller.need(200, "PUT", self.address(), {"title": f"title {self.rng.random()}"})
        elif act < 0.75:
            self.versions += 1
            number, version = self.rng.choice(self.mods)["id"], f"v{self.versions}"
            sent = patiently(lambda: self.caller.send_file(number, "code", os.urandom(20), version=version))
            assert sent.status == 201, sent
        elif act < 0.9:
            mod = self.mods.pop(self.rng.randrange(len(self.mods)))
            self.caller.need(204, "DELETE", f"/api/modhub/{mod['id']}")
            self.deleted.add(mod["guid"])
        else:
            self.drafts.add(self.caller.new_mod("A draft")["guid"])

    def address(self):
        return f"/api/modhub/{self.rng.choice(self.mods)['id']}"


class Reader:
    """A client that keeps a copy of the catalogue by the feed and lookups."""

    def __init__(self, caller, limit):
        self.caller = caller
        self.limit = limit
        self.since = 0
        self.mods = {}
        self.seen = set()
        self.tombstones = set()

    def read_page(self):
        """Read one page; False at the end."""
        page = self.caller.need(200, "GET", f"/api/modhub/changes?since={self.since}&limit={self.limit}")
        serials = [entry["serial"] for entry in page["changes"]]
        assert serials == sorted(set(serials))
        assert all(self.since < serial <= page["serial"] for serial in serials)
        changed = []
        for entry in page["changes"]:
            self.seen.add(entry["guid"])
            if entry["what"] == "deleted":
                self.tombstones.add(entry["guid"])
                self.mods.pop(entry["guid"], None)
            else:
                # Nobody restores a mod here: what is deleted stays so.
                assert entry["guid"] not in self.tombstones
                changed.append(entry["guid"])
        if changed:
            answer = self.caller.need(200, "POST", "/api/modhub/lookup", {"guids": changed})
            # What is missing has been deleted since; its tombstone comes in a later page.
            self.mods |= {mod["guid"]: mod for mod in answer["mods"]}
        self.since = page["serial"]
        return bool(changed or page["more"])

    def follow(self, done):
        while not done.wait(0.01):
            self.read_page()
        while self.read_page():
            pass


def listed(caller):
    mods = {}
    page = 1
    while True:
        answer = caller.need(200, "GET", f"/api/modhub?size=100&page={page}")
        mods |= {mod["guid"]: mod for mod in answer["mods"]}
        if not answer["more"]:
            return mods
        page += 1


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_readers_of_the_feed_end_with_the_list(services, kind):
    # C-SYNC-4, C-SYNC-5
    service = services(kind, 2, includes="modhub_auth modhub_sync")
    writers = [Writer(service.register(f"writer{number}"), number) for number in range(WRITERS)]
    readers = [Reader(service.caller(), limit) for limit in (1, 3, 20, 1000)]
    with ThreadPoolExecutor(WRITERS + len(readers)) as pool:
        for _ in range(ROUNDS):
            done = threading.Event()
            following = [pool.submit(reader.follow, done) for reader in readers]
            writing = [pool.submit(lambda writer=writer: [writer.act() for _ in range(ACTS)]) for writer in writers]
            try:
                for future in writing:
                    future.result()
            finally:
                done.set()
            for future in following:
                future.result()
            catalogue = listed(service.caller())
            for reader in readers:
                assert reader.mods == catalogue
    drafts = set().union(*(writer.drafts for writer in writers))
    deleted = set().union(*(writer.deleted for writer in writers))
    late = Reader(service.caller(), 50)
    while late.read_page():
        pass
    assert late.mods == catalogue
    assert late.tombstones == deleted
    for reader in (*readers, late):
        assert not reader.seen & drafts
        assert reader.since == late.since
