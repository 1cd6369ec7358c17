"""Accounts and moderation on a fresh database of each kind, with people who publish, report and decide."""

import email.policy
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from modhub.db import now
from modhub_auth import container
from modhub_auth.container import AuthServices
from modhub_auth.models import Authenticator, Login
from modhub_auth.signin.passwords import HashingGate, QueuedHasher
from modhub_moderation.models import Moderator
from modhub_testing import Site, Start
from modhub_testing.pages import form_at, new_visitor

AS_SENT = email.policy.default.clone(refold_source="none")
PASSWORD = "correct horse battery"
PNG = b"\x89PNG\r\n\x1a\n"
FEATURES = "modhub_auth modhub_profiles modhub_moderation"
SETTINGS = {"modhub__mail_dir": "{folder}/mail", "modhub_auth__register_limit": "99"}


@dataclass
class Person:
    """An account, as a program and as a visitor of pages."""

    site: Site
    id: int
    address: str
    token: str

    @cached_property
    def pages(self) -> Site:
        """A visitor who has signed in: few tests need one for each person."""
        visitor = new_visitor(self.site)
        login = visitor.get("/Modhub/account/login")
        form = next(candidate for candidate in login.forms.values() if "email" in candidate.fields)
        form["email"], form["password"] = self.address, PASSWORD
        form.submit(status=303)
        return visitor

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, method: str, path: str, **options: Any) -> Any:
        return getattr(self.site, method)(path, headers=self.bearer, **options)

    def draft(self, title: str = "Tool", **fields: Any) -> Any:
        return self.call("post_json", "/api/modhub", params={"title": title, **fields}, status=201).json

    def upload(self, mod: Any, version: str, data: bytes | None = None) -> None:
        body = f"code {version}".encode() if data is None else data
        self.call("post", f"/api/modhub/{mod['id']}/code?version={version}", params=body, status=201)

    def publish(self, title: str = "Tool", version: str = "1", images: int = 0, **fields: Any) -> Any:
        mod = self.draft(title, **fields)
        self.upload(mod, version)
        for number in range(images):
            headers = {**self.bearer, "Content-Type": "image/png"}
            self.site.post(f"/api/modhub/{mod['id']}/images?name={number}.png", PNG, headers=headers, status=201)
        return self.call("post", f"/api/modhub/{mod['id']}/publish").json

    def press(self, page: str, action: str, status: int = 303, **fields: Any) -> Any:
        """Send the form of a page."""
        form = form_at(self.pages.get(page), action)
        for name, value in fields.items():
            form[name] = value
        return form.submit(status=status)

    def emails(self) -> list[EmailMessage]:
        """The emails that the person got, after sending all that waits; oldest first."""
        return emails_to(self.site, self.address)


def emails_to(site: Site, address: str, subject: str = "") -> list[EmailMessage]:
    """The emails to an address with this in their subject, after sending all that waits; oldest first."""
    worker = site.find_service(AuthServices).mail_sender
    while worker.send_due():
        pass
    folder = Path(site.registry.settings["modhub.mail_dir"])
    files = sorted(folder.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)
    # Parsing takes much longer than reading, and most are to others.
    theirs = [data for data in (path.read_bytes() for path in files) if address.encode() in data]
    messages: Any = [message_from_bytes(data, policy=AS_SENT) for data in theirs]
    return [message for message in messages if message["To"] == address and subject in message["Subject"]]


def text_of(message: EmailMessage) -> str:
    """The plain text of an email."""
    part: Any = message.get_body(("plain",))
    return str(part.get_content())


def register(site: Site, name: str, *, confirmed: bool = True) -> Person:
    """An account that is signed in, as a program and on pages."""
    address = f"{name.lower()}@example.org"
    sent = {"email": address, "password": PASSWORD, "displayName": name}
    session = site.post_json("/api/auth/register", sent, status=201).json
    if confirmed:
        with site.databases.write_session.begin() as writing:
            writing.execute(update(Login).where(Login.account_id == session["accountId"]).values(verified=True))
    return Person(site, session["accountId"], address, session["accessToken"])


def make_moderator(site: Site, name: str) -> Person:
    """An account that is signed in, has a second factor and may decide."""
    person = register(site, name)
    # Signed in now: later it would take a code.
    _ = person.pages
    with site.databases.write_session.begin() as session:
        session.add(Authenticator(account_id=person.id, sealed="x", last_step=0, created_at=now()))
        session.add(Moderator(account_id=person.id, since=now()))
    return person


def begin(start: Start, monkeypatch: pytest.MonkeyPatch, features: str = FEATURES, **settings: str) -> Site:
    """An application with cheap password hashing and its emails in a folder."""
    # From the start: a hasher makes a hash of its own when it is made.
    with monkeypatch.context() as patch:
        patch.setattr(container, "QueuedHasher", lambda _gate: QueuedHasher(HashingGate(), memory_kib=8, time_cost=1))
        return start(features, **{**SETTINGS, **settings})


@pytest.fixture
def site(start: Start, monkeypatch: pytest.MonkeyPatch) -> Site:
    return begin(start, monkeypatch)


@pytest.fixture
def ada(site: Site) -> Person:
    """Publishes."""
    return register(site, "Ada")


@pytest.fixture
def bob(site: Site) -> Person:
    """Reports."""
    return register(site, "Bob")


@pytest.fixture
def mo(site: Site) -> Person:
    """Decides."""
    return make_moderator(site, "Mo")
