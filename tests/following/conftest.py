"""Accounts and following on a fresh database of each kind, with people who publish and people who read."""

import email.policy
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from modhub_auth import container
from modhub_auth.container import AuthServices
from modhub_auth.models import Login
from modhub_auth.signin.passwords import HashingGate, QueuedHasher
from modhub_testing import Site, Start
from modhub_testing.pages import form_at, new_visitor

AS_SENT = email.policy.default.clone(refold_source="none")
PASSWORD = "correct horse battery"
FEATURES = "modhub_auth modhub_following"


@dataclass
class Person:
    """An account, as a program and as a visitor of pages."""

    site: Site
    id: int
    address: str
    token: str
    pages: Site

    def call(self, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        return getattr(self.site, method)(path, headers=headers, **options).json

    def draft(self, title: str = "Tool", **fields: Any) -> Any:
        return self.call("post_json", "/api/modhub", params={"title": title, **fields}, status=201)

    def upload(self, mod: Any, version: str, changes: str = "") -> None:
        here = f"/api/modhub/{mod['id']}"
        self.call("post", f"{here}/code?version={version}", params=f"code {version}".encode(), status=201)
        if changes:
            note = self.site.get(f"{here}/changelog").json["notes"][0]["id"]
            self.call("put_json", f"{here}/changelog/{note}", params={"text": changes})

    def publish(self, title: str = "Tool", version: str = "1", **fields: Any) -> Any:
        mod = self.draft(title, **fields)
        self.upload(mod, version)
        return self.call("post", f"/api/modhub/{mod['id']}/publish")

    def press(self, page: str, action: str, **fields: str) -> Any:
        """Send the form of a page."""
        form = form_at(self.pages.get(page), action)
        for name, value in fields.items():
            form[name] = value
        return form.submit("follow" if "follow" in form.fields else None, status=303)

    def another(self, name: str, *, confirmed: bool = True) -> "Person":
        return register(self.site, name, confirmed=confirmed)

    def digests(self) -> list[EmailMessage]:
        """The digests that the person got, after sending all that waits; oldest first."""
        worker = self.site.find_service(AuthServices).mail_sender
        while worker.send_due():
            pass
        folder = Path(self.site.registry.settings["modhub.mail_dir"])
        files = sorted(folder.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)
        messages: Any = [message_from_bytes(path.read_bytes(), policy=AS_SENT) for path in files]
        return [message for message in messages if message["To"] == self.address and message["List-Unsubscribe"]]

    def get_digests(self, frequency: str) -> None:
        self.press("/Modhub/following", "/Modhub/following", frequency=frequency)


@pytest.fixture
def site(start: Start, monkeypatch: pytest.MonkeyPatch) -> Site:
    # From the start: a hasher makes a hash of its own when it is made.
    with monkeypatch.context() as patch:
        hasher = lambda _gate: QueuedHasher(HashingGate(), memory_kib=8, time_cost=1)  # noqa: E731
        patch.setattr(container, "QueuedHasher", hasher)
        settings = {"modhub__mail_dir": "{folder}/mail", "modhub_following__most": "4"}
        return start(FEATURES, modhub_auth__register_limit="99", **settings)


def register(site: Site, name: str, *, confirmed: bool = True) -> Person:
    address = f"{name.lower()}@example.org"
    sent = {"email": address, "password": PASSWORD, "displayName": name}
    session = site.post_json("/api/auth/register", sent, status=201).json
    if confirmed:
        with site.databases.write_session.begin() as writing:
            writing.execute(update(Login).where(Login.account_id == session["accountId"]).values(verified=True))
    pages = new_visitor(site)
    form = next(
        candidate for candidate in pages.get("/Modhub/account/login").forms.values() if "email" in candidate.fields
    )
    form["email"], form["password"] = address, PASSWORD
    form.submit(status=303)
    return Person(site, session["accountId"], address, session["accessToken"], pages)


@pytest.fixture
def ada(site: Site) -> Person:
    """Publishes."""
    return register(site, "Ada")


@pytest.fixture
def bob(site: Site) -> Person:
    """Reads."""
    return register(site, "Bob")
