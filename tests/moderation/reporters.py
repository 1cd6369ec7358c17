"""People who publish and people who report, with real accounts and the emails that they get."""

import email.policy
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from modhub_auth import container
from modhub_auth.container import AuthServices
from modhub_auth.models import Login
from modhub_auth.signin.passwords import HashingGate, QueuedHasher
from modhub_moderation.cases.models import Case, Notice
from modhub_testing import Site, Start
from modhub_testing.pages import form_at, new_visitor

PASSWORD = "correct horse battery"
FEATURES = "modhub_auth modhub_moderation"
PNG = b"\x89PNG\r\n\x1a\n"
STRANGER = {"name": "Sam Stranger", "email": "sam@example.org"}
AS_SENT = email.policy.default.clone(refold_source="none")


def start_moderated(start: Start, monkeypatch: pytest.MonkeyPatch, **settings: str) -> Site:
    """An application with moderation and emails in a folder, whose hashes take no time."""
    with monkeypatch.context() as patch:
        hasher = lambda _gate: QueuedHasher(HashingGate(), memory_kib=8, time_cost=1)  # noqa: E731
        patch.setattr(container, "QueuedHasher", hasher)
        settings = {"modhub_auth__register_limit": "99", "modhub_moderation__notices": "50", **settings}
        return start(FEATURES, modhub__mail_dir="{folder}/mail", **settings)


@dataclass
class Person:
    """An account, as a program and as a visitor of pages."""

    site: Site
    id: int
    address: str
    token: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, method: str, path: str, **options: Any) -> Any:
        return getattr(self.site, method)(path, headers=self.bearer, **options).json

    def visit(self) -> Site:
        """The pages, signed in."""
        pages = new_visitor(self.site)
        form = form_at(pages.get("/Modhub/account/login"), "")
        form["email"], form["password"] = self.address, PASSWORD
        form.submit(status=303)
        return pages

    def draft(self, title: str = "Tool") -> Any:
        return self.call("post_json", "/api/modhub", params={"title": title}, status=201)

    def publish(self, title: str = "Tool", images: int = 0) -> Any:
        mod = self.draft(title)
        here = f"/api/modhub/{mod['id']}"
        self.call("post", f"{here}/code?version=1", params=b"code", status=201)
        for number in range(images):
            headers = {**self.bearer, "Content-Type": "image/png"}
            self.site.post(f"{here}/images?name={number}.png", PNG, headers=headers, status=201)
        return self.call("post", f"{here}/publish")


def register(site: Site, name: str, *, confirmed: bool = True) -> Person:
    address = f"{name.lower()}@example.org"
    sent = {"email": address, "password": PASSWORD, "displayName": name}
    session = site.post_json("/api/auth/register", sent, status=201).json
    if confirmed:
        with site.databases.write_session.begin() as writing:
            writing.execute(update(Login).where(Login.account_id == session["accountId"]).values(verified=True))
    return Person(site, session["accountId"], address, session["accessToken"])


def report(
    site: Site, mod: Any, ground: str = "malware", *, by: Person | None = None, status: int = 201, **fields: Any
) -> Any:
    """Report a mod, as a stranger or as ``by``; the answer."""
    path = f"/api/modhub/{mod['id'] if isinstance(mod, dict) else mod}/reports"
    who = {} if by else STRANGER
    sent = {"ground": ground, "text": "It steals the save files.", "goodFaith": True, **who, **fields}
    return site.post_json(path, sent, headers=by.bearer if by else {}, status=status)


def emails_to(site: Site, address: str, subject: str = "") -> list[EmailMessage]:
    """The emails to an address with this in their subject, after sending all that waits; oldest first."""
    worker = site.find_service(AuthServices).mail_sender
    while worker.send_due():
        pass
    folder = Path(site.registry.settings["modhub.mail_dir"])
    files = sorted(folder.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)
    messages: Any = [message_from_bytes(path.read_bytes(), policy=AS_SENT) for path in files]
    return [message for message in messages if message["To"] == address and subject in message["Subject"]]


def text_of(message: EmailMessage) -> str:
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


def notices_of(site: Site) -> list[Notice]:
    with site.databases.readonly_session() as session:
        return list(session.scalars(select(Notice).order_by(Notice.id)))


def cases_of(site: Site) -> list[Case]:
    with site.databases.readonly_session() as session:
        return list(session.scalars(select(Case).order_by(Case.id)))
