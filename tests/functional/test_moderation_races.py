"""Races of moderators, authors and uploads between two processes on one database."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from modhub_testing.caller import Caller, CallerResponse
from modhub_testing.clamd import FakeClamd
from modhub_testing.form_browser import Browser
from modhub_testing.service import PASSWORD, Installation
from tests.races import patiently_at_once

pytestmark = [pytest.mark.long, pytest.mark.postgres]

CASES = "/Modhub/moderation/cases"
RULING = {"ground": "malware", "basis": "terms", "clause": "4", "facts": "It holds a keylogger.", "after": ""}
CALLS = 16
PATIENCE = 60.0
MOST_SECONDS = 1.0
"""From a decision until no process shows the mod."""


@pytest.fixture(scope="module")
def clamd() -> Iterator[FakeClamd]:
    with FakeClamd(b"never") as clamd:
        yield clamd


@pytest.fixture(scope="module")
def service(services: Any, kind: str, clamd: FakeClamd) -> Installation:
    settings = {
        "modhub_moderation.scanner": clamd.url,
        "modhub_moderation.quota_mods": str(CALLS + 4),
        "modhub_moderation.quota_uploads": str(CALLS // 2),
        "modhub.lock_seconds": "60",
    }
    made: Installation = services(kind, 2, includes="modhub_auth modhub_profiles modhub_moderation", settings=settings)
    return made


class Moderator:
    """Signed in to the pages of one process, with an authenticator."""

    def __init__(self, service: Installation, name: str, port: int) -> None:
        credentials = {"email": f"{name}@example.org", "password": PASSWORD}
        session = service.caller().need(201, "POST", "/api/auth/register", credentials)
        self.browser = Browser(Caller([port]))
        assert self.browser.post("/Modhub/account/login", credentials).status == 303
        with closing(service.connect()) as connection:
            number = int(session["accountId"])
            connection.execute(
                "INSERT INTO auth_authenticator (account_id, sealed, last_step, created_at) "
                f"VALUES ({number}, 'x', 0, 0)"
            )
            connection.execute(f"INSERT INTO moderation_moderator (account_id, since) VALUES ({number}, 0)")

    def open_case(self, kind: str, number: int) -> str:
        """The path of a case about the mod or the account."""
        opened = self.browser.post(CASES, {"kind": kind, "number": str(number)})
        assert opened.status == 303, opened
        path: str = opened.headers["Location"]
        return path.removeprefix(f"http://127.0.0.1:{self.browser.caller.ports[0]}")

    def decide(self, case: str, kind: str) -> CallerResponse:
        """Send the form of a case in which nothing is decided."""
        return self.browser.post(case, {**RULING, "kind": kind})


@pytest.fixture(scope="module")
def moderators(service: Installation) -> tuple[Moderator, Moderator]:
    """Each at the other process."""
    here, there = (process.port for process in service.processes)
    return Moderator(service, "mo", here), Moderator(service, "otto", there)


def outcomes(answers: list[CallerResponse]) -> dict[Any, int]:
    """How many answers of each status and code there are."""
    return Counter((answer.status, answer.json.get("error")) for answer in answers)


def wait_until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def account_of(own: Caller) -> int:
    return int(own.need(200, "GET", "/api/auth/me")["accountId"])


def test_what_a_blocked_account_still_uploads_is_not_stored(
    service: Installation, moderators: tuple[Moderator, Moderator], clamd: FakeClamd
) -> None:
    # C-QUE-8
    own, (_, moderator) = service.register("late"), moderators
    mod = own.published("Tool", b"first")
    before, port = service.stored(), service.processes[0].port
    begun, blocked = threading.Event(), threading.Event()

    def slow_body() -> Iterator[bytes]:
        yield bytes(400_000)
        begun.set()
        assert blocked.wait(PATIENCE)
        yield bytes(400_000)

    def send(address: str, body: Any) -> CallerResponse:
        return own.ask("POST", f"/api/modhub/{mod['id']}/{address}", body, {"Content-Type": "image/png"}, port=port)

    scanned = len(clamd.streams)
    clamd.answers.clear()
    try:
        with ThreadPoolExecutor(4) as pool:
            sending = [pool.submit(send, address, b"late") for address in ("code?version=2", "css", "images")]
            sending.append(pool.submit(send, "code?version=3", slow_body()))
            try:
                wait_until(lambda: len(clamd.streams) == scanned + 3 and begun.is_set())
                case = moderator.open_case("account", account_of(own))
                assert moderator.decide(case, "block").status == 303
            finally:
                blocked.set()
                clamd.answers.set()
        answers = [future.result() for future in sending]
    finally:
        clamd.answers.set()
    assert outcomes(answers) == {(403, "account_blocked"): 4}
    shown = service.caller().need(200, "GET", f"/api/modhub/{mod['id']}")
    assert (shown["version"], len(shown["assets"])) == ("1", 1)
    wait_until(lambda: service.stored() == before == service.named())


def test_calls_at_two_processes_never_pass_a_quota(service: Installation) -> None:
    # C-QUO-2, C-QUO-4, C-QUO-6
    own = service.register("eager")
    mods = [own.new_mod(f"Mod {number}")["id"] for number in range(CALLS)]
    created = patiently_at_once([partial(own.ask, "POST", "/api/modhub", {"title": "One more"})] * CALLS)
    assert outcomes(created) == {(201, None): 4, (403, "quota"): CALLS - 4}
    assert own.need(200, "GET", "/api/modhub/mine")["count"] == CALLS + 4
    sent = patiently_at_once([partial(own.send_file, mod, "code", b"code", version="1") for mod in mods])
    assert outcomes(sent) == {(201, None): CALLS // 2, (429, "quota"): CALLS // 2}
    stored = [mod for mod in own.need(200, "GET", "/api/modhub/mine")["mods"] if mod["assets"]]
    assert len(stored) == CALLS // 2
    assert service.stored() == service.named()


def test_no_process_shows_a_mod_a_second_after_the_decision(
    service: Installation, moderators: tuple[Moderator, Moderator]
) -> None:
    # C-CAS-3, C-FILE-7
    own = service.register("shown")
    mod = own.published("Zqxjkvbp", b"the code", description="<p>Zqxjkvbp</p>")
    case = moderators[0].open_case("mod", mod["id"])
    named = re.compile(rb"/Modhub/%d\b" % mod["id"])
    [code] = mod["assets"]
    gone = [f"/api/modhub/{mod['id']}", f"/Modhub/{mod['id']}", f"/api/modhub/{mod['id']}/download", code["url"]]
    gone += [f"/api/modhub/{mod['id']}/changelog", f"/Modhub/{mod['id']}/feed"]
    lists = ["/api/modhub", "/Modhub", "/Modhub/feed", "/sitemap.xml", f"/Modhub/by/{account_of(own)}"]
    callers = [Caller([process.port]) for process in service.processes]

    def is_shown(caller: Caller, path: str) -> bool:
        answer = caller.ask("GET", path)
        assert answer.status in {200, 404}
        return answer.status == 200 and (path in gone or named.search(answer.body) is not None)

    ways = [(caller, path) for caller in callers for path in (*gone, *lists)]
    assert [way for way in ways if not is_shown(*way)] == []
    done = threading.Event()

    def last_seen(caller: Caller, path: str) -> float:
        """When the last call began that showed the mod; the caches are warm until then."""
        last = 0.0
        while True:
            is_last, began = done.is_set(), time.monotonic()
            if is_shown(caller, path):
                last = began
                assert not is_last or began < decided[0] + PATIENCE
            elif is_last:
                return last

    decided: list[float] = []
    with ThreadPoolExecutor(len(ways)) as pool:
        watching = [pool.submit(last_seen, *way) for way in ways]
        try:
            assert moderators[0].decide(case, "hide").status == 303
        finally:
            decided.append(time.monotonic())
            done.set()
        late = [future.result() - decided[0] for future in watching]
    assert max(late) <= MOST_SECONDS
