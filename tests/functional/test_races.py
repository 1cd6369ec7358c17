"""Races between two processes on one database.

What the database alone decides is raced by two applications of one process: tests/core/test_catalogue_races.py and
tests/auth/test_auth_races.py.
"""

import hashlib
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from modhub_testing.caller import Caller
from tests.races import patiently_at_once

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def own(service):
    return service.register("racer")


def statuses(answers):
    return dict(Counter(answer.status for answer in answers))


def digest(content):
    return hashlib.sha256(content).hexdigest()


def test_of_eight_uploads_of_one_version_one_is_taken(service, own):
    # C-UP-4, T-E1
    mod = own.published("One version")
    path = f"/api/modhub/{mod['id']}"
    for turn in range(3):
        version = f"2.{turn}"
        before = len(service.stored())
        contents = [random.Random(number).randbytes(300_000 + number) for number in range(8)]
        sent = patiently_at_once(
            [lambda c=c, v=version: own.send_file(mod["id"], "code", c, version=v) for c in contents]
        )
        assert statuses(sent) == {201: 1, 409: 7}
        assert len(service.stored()) == before + 1, "what was refused is not kept"
        won = contents[[answer.status for answer in sent].index(201)]
        assert own.ask("GET", f"{path}/download").body == won
        for answer in sent:
            if answer.status == 409:
                named = answer.json["version"], answer.json["bytes"], answer.json["sha256"]
                assert named == (version, len(won), digest(won))
        notes = own.need(200, "GET", f"{path}/changelog")["notes"]
        assert [note["title"] for note in notes].count(version) == 1
    assert len(notes) == 4


class VersionReader:
    """Reads a mod again and again, and knows what the bytes of each version are."""

    def __init__(self, caller, path, contents):
        self.caller, self.path, self.contents = caller, path, contents

    def read(self):
        """(when the mod changed last, the bytes of the version that it names)"""
        seen = self.caller.need(200, "GET", self.path)
        content = self.contents[seen["version"]]
        assert seen["assets"][0]["bytes"] == len(content)
        return seen["updatedAt"], content

    def run(self, done):
        rounds = 0
        while not (done.is_set() and rounds):
            before = self.read()
            download = self.caller.ask("GET", f"{self.path}/download")
            after = self.read()
            assert download.status == 200
            assert download.headers["ETag"] == f'"{digest(download.body)}"'
            assert int(download.headers["Content-Length"]) == len(download.body)
            assert download.body in self.contents.values()
            if before[0] == after[0]:  # nothing was uploaded in between
                assert download.body == before[1] == after[1]
            rounds += 1
        return rounds


def test_different_versions_at_once_are_all_taken_and_belong_together(service, own):
    # T-E1
    """At every read `version`, size and bytes are of one upload, whatever is uploaded meanwhile."""
    contents = {f"v{number}": random.Random(number).randbytes(200_000 + number) for number in range(16)}
    names = list(contents)
    contents["1"] = b"the code of a mod"
    mod = own.published("Versions", contents["1"])
    path = f"/api/modhub/{mod['id']}"
    done = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        readers = [VersionReader(Caller([process.port]), path, contents) for process in service.processes]
        reading = [pool.submit(reader.run, done) for reader in readers]
        sent = []
        try:
            for eight in (names[:8], names[8:]):
                calls = [lambda n=n: own.send_file(mod["id"], "code", contents[n], version=n) for n in eight]
                sent += patiently_at_once(calls)
        finally:
            done.set()
        assert all(future.result() for future in reading)
    assert statuses(sent) == {201: 16}
    for answer in sent:
        assert answer.json["assets"][0]["bytes"] == len(contents[answer.json["version"]])
    assert own.need(200, "GET", f"{path}/changelog")["count"] == 17


def test_nothing_is_left_over_when_all_is_over(service, own):
    # T-E4
    """Runs after any number of the others: no file without a row, no row without its file."""
    assert service.admin("sweep", "--older-than", "0").returncode == 0
    assert service.stored() == service.named()
    assert service.admin("verify").returncode == 0
