"""Races between two processes on one database."""

import hashlib
import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from modhub_testing.caller import Caller, CallerResponse
from modhub_testing.service import PASSWORD
from tests.races import patiently_at_once

pytestmark = pytest.mark.postgres

MB = 1024 * 1024


@pytest.fixture(scope="module")
def own(service) -> Caller:
    return service.register("racer")


def statuses(answers: list[CallerResponse]) -> dict[int, int]:
    return dict(Counter(answer.status for answer in answers))


def new_name() -> str:
    """A name that no earlier try has registered."""
    return os.urandom(6).hex()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_of_eight_uploads_of_one_version_one_is_taken(service, own):
    # C-UP-13, T-E1
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


def test_images_never_pass_ten_megabytes(service, own):
    # T-E3
    mod = own.published("Images")
    for _ in range(4):
        assert own.send_file(mod["id"], "images", bytes(2 * MB), "image/png").status == 201
    before = len(service.stored())
    sent = patiently_at_once([lambda: own.send_file(mod["id"], "images", bytes(2 * MB), "image/png")] * 8)
    assert statuses(sent) == {201: 1, 413: 7}
    assert len(service.stored()) == before + 1
    assert {answer.json["limitBytes"] for answer in sent if answer.status == 413} == {10 * MB}
    assets = own.need(200, "GET", f"/api/modhub/{mod['id']}")["assets"]
    assert sum(asset["bytes"] for asset in assets if asset["kind"] == "image") == 10 * MB


class VersionReader:
    """Reads a mod again and again, and knows what the bytes of each version are."""

    def __init__(self, caller: Caller, path: str, contents: dict[str, bytes]) -> None:
        self.caller, self.path, self.contents = caller, path, contents

    def read(self) -> tuple[str, bytes]:
        """(when the mod changed last, the bytes of the version that it names)"""
        seen = self.caller.need(200, "GET", self.path)
        content = self.contents[seen["version"]]
        assert seen["assets"][0]["bytes"] == len(content)
        return seen["updatedAt"], content

    def run(self, done: threading.Event) -> int:
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
    # T-E2
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


def test_of_eight_refreshes_of_one_token_one_is_answered(service):
    # C-ACC-14, T-C1
    caller = service.caller()
    credentials = {"email": f"{new_name()}@example.org", "password": PASSWORD}
    session = caller.need(201, "POST", "/api/auth/register", credentials)
    for _ in range(5):
        token = {"refreshToken": session["refreshToken"]}
        sent = patiently_at_once([lambda token=token: caller.ask("POST", "/api/auth/refresh", token)] * 8)
        assert statuses(sent) == {200: 1, 401: 7}
        session = next(answer.json for answer in sent if answer.status == 200)
        bearer = {"Authorization": f"Bearer {session['accessToken']}"}
        assert caller.ask("GET", "/api/auth/me", headers=bearer).status == 200


def test_of_eight_registrations_of_one_address_one_is_made(service):
    # C-ACC-4, T-E8
    caller = service.caller()
    for _ in range(3):
        # The same address, however it is written.
        name = new_name()
        spellings = [f"Twin{name}@example.org", f" twin{name}@EXAMPLE.org "] * 4
        registrations = [{"email": spelling, "password": PASSWORD} for spelling in spellings]
        sent = patiently_at_once(
            [partial(caller.ask, "POST", "/api/auth/register", fields) for fields in registrations]
        )
        assert statuses(sent) == {201: 1, 409: 7}
        assert caller.ask("POST", "/api/auth/login", registrations[1]).status == 200


@pytest.mark.long  # in one process: tests/core/test_catalogue_races.py
def test_whatever_meets_a_deletion_is_done_before_it_or_refused(service, own):
    # T-E4
    for turn in range(6):
        mod = own.published(f"Doomed {turn}") if turn % 2 else own.new_mod(f"Doomed {turn}")
        path, mod_id = f"/api/modhub/{mod['id']}", mod["id"]
        if not turn % 2:
            assert own.send_file(mod_id, "code", b"x", version="1").status == 201
        sent = patiently_at_once(
            [
                lambda m=mod_id: own.send_file(m, "code", bytes(50_000), version="2"),
                lambda m=mod_id: own.send_file(m, "images", bytes(50_000), "image/png"),
                lambda p=path: own.ask("POST", f"{p}/publish"),
                lambda p=path: own.ask("PUT", p, {"title": "Edited"}),
                lambda p=path: own.ask("DELETE", p),
                lambda p=path: own.ask("DELETE", p),
            ]
        )
        assert {answer.status for answer in sent} <= {200, 201, 204, 401}
        assert [answer.status for answer in sent[4:]].count(204) == 1
        for gone in (path, f"{path}/download", f"{path}/changelog", *[asset["url"] for asset in mod["assets"]]):
            assert own.ask("GET", gone).status == 404
        assert own.ask("PUT", path, {"title": "Edited"}).status == 401
    titles = {mod["title"] for mod in own.need(200, "GET", "/api/modhub/mine")["mods"]}
    assert not {title for title in titles if title.startswith(("Doomed", "Edited"))}


def test_two_edits_that_contradict_each_other_never_both_pass(service, own):
    # T-E6
    """Each by itself is right, both together are the same GUID in both lists (write skew)."""
    other = own.new_mod("Other")["guid"]
    for turn in range(8):
        path = f"/api/modhub/{own.new_mod(f'Skew {turn}')['id']}"
        sent = patiently_at_once(
            [
                lambda p=path: own.ask("PUT", p, {"requires": [other]}),
                lambda p=path: own.ask("PUT", p, {"conflictsWith": [other]}),
            ]
        )
        assert statuses(sent) == {200: 1, 400: 1}


class Register:
    """The history of a title that many write and read: Jepsen's register test (T-E9)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.done = threading.Event()
        self.started: dict[str, float] = {}
        self.acknowledged: list[tuple[float, str, str]] = []
        self.reads: list[tuple[float, float, str, str]] = []

    def write(self, own: Caller, writer: int) -> None:
        for number in range(12):
            title = f"w{writer} n{number}"
            self.started[title] = time.monotonic()
            answer = own.need(200, "PUT", self.path, {"title": title})
            assert answer["title"] == title
            self.acknowledged.append((time.monotonic(), answer["updatedAt"], title))

    def read(self, caller: Caller, address: str) -> None:
        while not self.done.is_set():
            began = time.monotonic()
            seen = caller.need(200, "GET", address)
            seen = seen["mods"][0] if "mods" in seen else seen
            self.reads.append((began, time.monotonic(), seen["updatedAt"], seen["title"]))

    def check(self) -> None:
        """No read shows what nobody wrote, or is older than what was acknowledged before it began."""
        assert len({when for _, when, _ in self.acknowledged}) == 96
        written = {title: when for _, when, title in self.acknowledged}
        for began, ended, when, title in self.reads:
            if title == "Register":
                assert not any(acknowledged < began for acknowledged, _, _ in self.acknowledged)
                continue
            assert (written[title], self.started[title] < ended) == (when, True)
            newest = max((stamp for ack, stamp, _ in self.acknowledged if ack < began), default="")
            assert when >= newest, f"read {title} of {when}, but {newest} had been acknowledged"


@pytest.mark.long  # one writer and both processes: test_reads_after_commits.py
def test_a_read_is_never_older_than_what_was_acknowledged_before_it(service, own):
    # T-E9
    """Eight writers put titles of their own; readers of both processes look at the mod and at the list."""
    mod = own.published("Register")
    register = Register(f"/api/modhub/{mod['id']}")
    callers = [Caller([process.port]) for process in service.processes]
    ways = [(caller, address) for caller in callers for address in (register.path, "/api/modhub?size=1")]
    readers = [threading.Thread(target=register.read, args=way) for way in ways]
    for reader in readers:
        reader.start()
    try:
        patiently_at_once([partial(register.write, own, writer) for writer in range(8)])
    finally:
        register.done.set()
        for reader in readers:
            reader.join()
    assert len(register.reads) > 20
    register.check()
    last = max(register.acknowledged, key=lambda entry: entry[1])
    assert own.need(200, "GET", register.path)["title"] == last[2]


def test_nothing_is_left_over_when_all_is_over(service, own):
    # T-E4
    """Runs after any number of the others: no file without a row, no row without its file."""
    assert service.admin("sweep", "--older-than", "0").returncode == 0
    assert service.stored() == service.named()
    assert service.admin("verify").returncode == 0
