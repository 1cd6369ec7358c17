"""``kill -9`` at many points: acknowledged writes are complete, others are all or nothing."""

import hashlib
import http.client
import os
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from modhub_testing.caller import Caller, patiently
from modhub_testing.service import PASSWORD

pytestmark = [pytest.mark.long, pytest.mark.postgres]

NO_ANSWER = (OSError, http.client.HTTPException)


def digest(content):
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class State:
    """A published mod as anybody can see it; files by their SHA-256."""

    title: str
    version: str
    code: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A call, and the mod after it (None: deleted)."""

    method: str
    path: str
    body: Any
    after: State | None
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/zip"),)


class Author:
    """One account with one mod at a time, which knows what the service has acknowledged."""

    def __init__(self, service, name):
        self.service = service
        self.name = name
        self.random = random.Random(name)
        self.numbers = 0
        self.begin(self.caller.need(201, "POST", "/api/auth/register", self.credentials(name)))
        self.open_mod()

    @property
    def caller(self):
        return self.service.caller(getattr(self, "token", ""))

    def credentials(self, name):
        return {"email": f"{name}@example.org", "password": PASSWORD}

    def begin(self, session):
        self.token, self.refresh = session["accessToken"], session["refreshToken"]

    def number(self):
        self.numbers += 1
        return self.numbers

    def open_mod(self):
        content = self.random.randbytes(1000)
        title = f"{self.name} {self.number()}"
        self.mod = self.caller.published(title, content)["id"]
        self.state = State(title, "1", digest(content), notes=("1",))

    # What an author does

    def code(self, size=300_000):
        content = self.random.randbytes(size)
        version = f"v{self.number()}"
        after = replace(self.state, version=version, code=digest(content), notes=(version, *self.state.notes))
        return Change("POST", f"/api/modhub/{self.mod}/code?version={version}", content, after)

    def delete(self):
        return Change("DELETE", f"/api/modhub/{self.mod}", None, None, ())

    def change(self, change, crash=""):
        """Make a change; return whether it was acknowledged."""
        headers = dict(change.headers) | ({"X-Crash": crash} if crash else {})
        try:
            answer = patiently(lambda: self.caller.ask(change.method, change.path, change.body, headers))
        except NO_ANSWER:
            return False
        assert answer.status in (200, 201, 204), answer
        self.state = change.after
        return True

    # What must hold after a restart

    def accept(self, seen):
        """Go on from what is there; with another mod, if this one was deleted."""
        self.state = seen
        listed = self.caller.need(200, "GET", "/api/modhub/mine")["mods"]
        assert [mod["id"] for mod in listed] == [self.mod] * (seen is not None)
        if seen is None:
            self.open_mod()

    def seen(self):
        caller = self.service.caller()
        read = caller.ask("GET", f"/api/modhub/{self.mod}")
        if read.status == 404:
            return None
        (asset,) = read.json["assets"]
        answer = caller.ask("GET", asset["url"])
        assert (answer.status, len(answer.body)) == (200, asset["bytes"])
        code = digest(answer.body)
        assert answer.headers["ETag"] == f'"{code}"'
        assert digest(caller.ask("GET", f"/api/modhub/{self.mod}/download").body) == code
        notes = caller.need(200, "GET", f"/api/modhub/{self.mod}/changelog")["notes"]
        return State(read.json["title"], read.json["version"], code, tuple(note["title"] for note in notes))


def check_store(service, author):
    """``verify`` is clean, ``sweep`` leaves the files that rows name, and rows name what the mod has."""
    for words in (("verify",), ("sweep", "--older-than", "0")):
        done = service.admin(*words)
        assert done.returncode == 0, done
    assert service.stored() == service.named()
    assert len(service.stored()) == 1
    assert author.seen() == author.state


MOD_POINTS = [
    *[("code", point, False) for point in ("staged", "rename-before", "rename-after", "commit-before")],
    *[("code", point, True) for point in ("commit-after", "answer")],
    *[("delete", "commit-before", False), ("delete", "commit-after", True)],
]


class Relay:
    """Two processes on one database: one that is about to die, one that is ready to take over."""

    def __init__(self, service):
        self.service = service
        self.current = service.processes[-1]
        self.spare = service.launch()
        self.service.caller = self.caller

    def caller(self, token=""):
        return Caller([self.current.port], token)

    def died(self):
        """Wait until the process has been killed, and go on with the spare one."""
        assert self.current.popen.wait(60) == -9
        self.spare.wait()
        self.current, self.spare = self.spare, self.service.launch()


@pytest.fixture
def relay(services, kind):
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    service = services(kind, includes="modhub_auth crashing", schema="modhub_auth", environ={"PYTHONPATH": path})
    yield Relay(service)
    service.stop()


@pytest.mark.skipif("MODHUB_TEST_OBJECT_STORE" in os.environ, reason="its steps are those of a folder of files")
def test_kill_at_every_step_of_a_transaction(relay):
    # T-F1
    author = Author(relay.service, "ada")
    for name, point, done in MOD_POINTS:
        before = author.state
        change = getattr(author, name)()
        assert not author.change(change, crash=point), (name, point)
        relay.died()
        seen = author.seen()
        assert seen == (change.after if done else before), (name, point)
        author.accept(seen)
    account_points(relay, author)
    check_store(relay.service, author)


def account_points(relay, author):
    """Register and refresh: the account, or the next token, is there exactly when the commit was."""
    for name, point, done in (("bob", "commit-before 2", False), ("eve", "commit-after 2", True)):
        credentials = author.credentials(name)
        with pytest.raises(NO_ANSWER):
            relay.caller().ask("POST", "/api/auth/register", credentials, {"X-Crash": point})
        relay.died()
        assert relay.caller().ask("POST", "/api/auth/login", credentials).status == (200 if done else 401)
        assert relay.caller().ask("POST", "/api/auth/register", credentials).status == (409 if done else 201)
        relay.caller().need(200, "POST", "/api/auth/login", credentials)
    for point, done in (("commit-before", False), ("commit-after", True)):
        with pytest.raises(NO_ANSWER):
            relay.caller().ask("POST", "/api/auth/refresh", {"refreshToken": author.refresh}, {"X-Crash": point})
        relay.died()
        answer = relay.caller().ask("POST", "/api/auth/refresh", {"refreshToken": author.refresh})
        assert answer.status == (401 if done else 200)
        if not done:
            author.begin(answer.json)
            assert relay.caller(author.token).ask("GET", "/api/auth/me").status == 200
