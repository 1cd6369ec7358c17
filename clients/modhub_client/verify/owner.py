"""Who changes something in a run, and removes it again; and the account of the part ``own``: its session and mods."""

import json
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import uuid4

from modhub_client.output import WrongUse
from modhub_client.verify.replies import Absent, Broken, Interrupted, LeftBehind, Reply, Skipped, Unreachable
from modhub_client.verify.run import Run
from modhub_client.verify.service import VerifiedService

MARK: Final = "modhub-verify"
CLEANING_SECONDS: Final = 60.0
"""How long a run tries to delete its mods from a service that does not answer."""
DECLARED_SECONDS: Final = 3.0
"""How long an answer to a body that is only declared is waited for."""
CLEANING_PAUSE: Final = 0.5
"""Seconds before the second attempt to clean up."""
_LONGEST_WAIT: Final = 8.0


class Editor(ABC):
    """A credential at work. ``nonce`` is in all that it makes, which the end of the run removes."""

    def __init__(self, run: Run) -> None:
        self.service = run.service
        self.nonce = secrets.token_hex(5)
        run.undo.append(self.leave)

    @property
    @abstractmethod
    def credential(self) -> Mapping[str, str]:
        """The header that every call has."""

    @abstractmethod
    def try_to_leave(self) -> str:
        """One attempt to remove everything; returns what is left, in a sentence, empty if nothing is."""

    def call(self, method: str, path: str, value: Any = None, **options: Any) -> Reply:
        """A call with the credential; ``value`` is sent as JSON."""
        headers = {**self.credential, **options.pop("headers", {})}
        return self.service.call(method, path, value, headers=headers, **options)

    def leave(self) -> None:
        """Remove what the run has made; tries for a while. `LeftBehind` if something remains."""
        deadline, wait = time.monotonic() + CLEANING_SECONDS, CLEANING_PAUSE
        # A service of its own: the run's one takes no more calls once it is interrupted.
        self.service.close()
        with VerifiedService(self.service.url) as service:
            self.service = service
            while problem := self.try_to_leave():
                if time.monotonic() + wait > deadline:
                    raise LeftBehind(problem)
                time.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT)


class Owner(Editor):
    """The account at work. ``mark`` is in the titles of its mods, and in nothing that others wrote."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.credentials = run.credentials
        self.mark = f"{MARK} {self.nonce}"
        self.session: Mapping[str, Any] = {}
        self.made: dict[int, str] = {}
        """The titles of the mods that this run has made and not deleted, by number."""
        self.deleted: set[int] = set()
        self.votes: dict[str, int] = {}
        """The account's vote before the run changed it, by address."""
        self._token = run.credentials.token
        self._refusal = ""

    def sign_in(self) -> Reply:
        """Begin a session, which the next calls use."""
        key = self.credentials.publisher_key
        if key:
            reply = self.service.call("POST", "/api/auth/exchange", {"key": key}, patient=False)
        else:
            sent = {"email": self.credentials.email, "password": self.credentials.password, "client": MARK}
            reply = self.service.call("POST", "/api/auth/login", sent, patient=False)
        if reply.status == 200:
            self.adopt(reply.document())
        return reply

    def adopt(self, session: Mapping[str, Any]) -> None:
        """Go on with the session of a sign-in or a refresh."""
        self.session = session
        self._token = str(session.get("accessToken", ""))

    @property
    def token(self) -> str:
        """An access token; signs in first. `Skipped` if the service refuses."""
        if not self._token and not self._refusal:
            reply = self.sign_in()
            self._refusal = f"the service refuses the account ({reply.status} {reply.error})"
        if not self._token:
            raise Skipped(self._refusal)
        return self._token

    @property
    def account_id(self) -> int:
        """The number of the account."""
        if "accountId" not in self.session:
            self.session = {**self.session, **self.call("GET", "/api/auth/me").expect_document()}
        number: int = self.session["accountId"]
        return number

    def require_password(self) -> None:
        """`Skipped` without an address and password: a token alone begins no session."""
        if not self.credentials.password:
            raise Skipped("needs the account's address and password")
        self.require_whole()

    def require_whole(self) -> None:
        """`Skipped` with a publisher key, which cannot delete what it makes."""
        if self.credentials.publisher_key:
            raise Skipped("a publisher key cannot delete the mod that it makes")
        _ = self.token

    @property
    def credential(self) -> Mapping[str, str]:
        """The account's token."""
        return {"Authorization": f"Bearer {self.token}"}

    def create(self, fields: Mapping[str, Any], key: str = "", title: str = "draft") -> Reply:
        """``POST /api/modhub``. What it makes, wanted or not, is deleted at the end."""
        self.require_whole()
        headers = {"Idempotency-Key": key or uuid4().hex}
        body = {"title": f"{self.mark} {title}", **fields}
        reply = self.call("POST", "/api/modhub", body, headers=headers, repeatable=True)
        if reply.status in {200, 201}:
            mod = reply.document()
            if isinstance(mod.get("id"), int) and mod["id"] not in self.deleted:
                self.made[mod["id"]] = str(mod.get("title", ""))
        return reply

    def mine(self) -> list[dict[str, Any]]:
        """The account's mods."""
        mods: list[dict[str, Any]] = self.call("GET", "/api/modhub/mine").expect_document()["mods"]
        return mods

    def remove(self, number: int) -> Reply:
        """Delete one of the run's mods."""
        reply = self.call("DELETE", f"/api/modhub/{number}")
        if reply.status == 204:
            self.deleted.add(number)
            self.made.pop(number, None)
        return reply

    def vote(self, path: str, value: int) -> Reply:
        """Cast a vote. Until it is as in ``votes`` again, the end of the run casts that one."""
        reply = self.call("PUT", path, {"value": value})
        if reply.status == 404 or (reply.status == 200 and value == self.votes.get(path)):
            self.votes.pop(path, None)
        return reply

    def try_to_leave(self) -> str:
        """Delete the mods, put votes back, and end the session."""
        if not self._token:
            return ""
        try:
            if self.credentials.password and self._is_signed_out():
                self.sign_in()
            self.made = {number: title for number, title in self._remaining() if self.remove(number).status != 204}
            self.made = dict(self._remaining()) if self.made else {}
            for path, value in dict(self.votes).items():
                self.vote(path, value)
            if not (self.made or self.votes) and self.session.get("refreshToken"):
                sent = {"refreshToken": self.session["refreshToken"]}
                self.service.call("POST", "/api/auth/logout", sent, repeatable=True)
        except (Unreachable, Interrupted, Broken, Skipped) as problem:
            reason = f" ({problem})"
        else:
            reason = ""
        if self.votes and not self.made:
            return f"A vote could not be put back{reason}: {self.votes}. Vote so by hand."
        if not self.made:
            return "" if not reason else f"It is not known whether mods titled {self.mark} are left{reason}."
        named = ", ".join(f"{number} “{title}”" for number, title in self.made.items())
        return f"These mods could not be deleted{reason}: {named}. Delete them by hand."

    def _is_signed_out(self) -> bool:
        return self.call("GET", "/api/auth/me").status == 401

    def _remaining(self) -> Iterator[tuple[int, str]]:
        """The run's mods that are there, also those of whose creation no answer arrived."""
        if self.credentials.publisher_key:
            return
        for mod in self.mine():
            if mod["id"] in self.made or self.mark in json.dumps(mod):
                yield mod["id"], mod["title"]


def owner_of(run: Run) -> Owner:
    """The account of this run; `Skipped` if none was given."""
    if not run.credentials.has_account:
        raise Skipped("no account was given")
    if "modhub_auth" not in run.features and not run.credentials.token:
        raise Absent("the deployment has no modhub_auth")
    if "owner" not in run.notes:
        run.notes["owner"] = Owner(run)
    owner: Owner = run.notes["owner"]
    return owner


def foreign_mod(run: Run) -> int:
    """The number of somebody else's published mod."""
    own_ids = {mod["id"] for mod in owner_of(run).mine()}
    number: int = run.find_mod("another owner", lambda mod: mod["id"] not in own_ids)["id"]
    return number


def require_account(run: Run) -> None:
    """`WrongUse` if the service refuses the account: a run that could try nothing must not look like a good one."""
    owner = owner_of(run)
    refused = owner.sign_in() if not run.credentials.token else owner.call("GET", "/api/modhub/mine")
    if refused.status != 200:
        raise WrongUse(f"The service refuses the account ({refused.status} {refused.error}).")


def declare_body(run: Run, path: str, size: int, headers: Mapping[str, str]) -> Reply:
    """``POST`` the head of a request with a large body, and none of the body; `Skipped` if the server waits for it."""
    sent = {"Content-Length": str(size), "Content-Type": "application/octet-stream", **headers}
    run.service.close()
    with VerifiedService(run.service.url, DECLARED_SECONDS) as service:
        try:
            return service.call("POST", path, headers=sent, repeatable=False)
        except Broken:
            raise Skipped("the server takes a body before it says that it is too large") from None
