"""People with accounts, as programs and as visitors of pages: they publish, follow, report and decide."""

import email.policy
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes
from functools import cached_property
from pathlib import Path

import pyotp
import pytest
from sqlalchemy import select, update

from modhub.audit.models import AuditEntry
from modhub_auth import container
from modhub_auth.blocking import block_accounts
from modhub_auth.container import AuthServices
from modhub_auth.models import Login
from modhub_auth.publisher_keys import create_key
from modhub_auth.services import delete_account, lock_account
from modhub_auth.signin import totp
from modhub_auth.signin.passwords import HashingGate, QueuedHasher
from modhub_auth.signin.recovery import queue_requested_resets
from modhub_testing import Site
from modhub_testing.pages import form_at, new_visitor

AS_SENT = email.policy.default.clone(refold_source="none")
PASSWORD = "correct horse battery"
PNG = b"\x89PNG\r\n\x1a\n"


def cheap_hasher(_gate=None):
    """argon2id with the least that it takes."""
    return QueuedHasher(HashingGate(), memory_kib=8, time_cost=1)


@contextmanager
def cheap_hashes(monkeypatch):
    """Applications that start in the block hash passwords in no time.

    From the start: a hasher makes a hash of its own when it is made, which takes as long as a whole application.
    """
    with monkeypatch.context() as patch:
        patch.setattr(container, "QueuedHasher", cheap_hasher)
        yield


@dataclass
class Person:
    """An account, as a program and as a visitor of pages."""

    site: Site
    id: int
    address: str
    token: str

    @cached_property
    def pages(self):
        """A visitor who has signed in: few tests need one for each person."""
        visitor = new_visitor(self.site)
        login = visitor.get("/Modhub/account/login")
        form = next(candidate for candidate in login.forms.values() if "email" in candidate.fields)
        form["email"], form["password"] = self.address, PASSWORD
        form.submit(status=303)
        return visitor

    @property
    def bearer(self):
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, method, path, **options):
        return getattr(self.site, method)(path, headers=self.bearer, **options)

    def draft(self, title="Tool", **fields):
        return self.call("post_json", "/api/modhub", params={"title": title, **fields}, status=201).json

    def upload(self, mod, version, data=None, changes=""):
        here = f"/api/modhub/{mod['id']}"
        body = f"code {version}".encode() if data is None else data
        self.call("post", f"{here}/code?version={version}", params=body, status=201)
        if changes:
            note = self.site.get(f"{here}/changelog").json["notes"][0]["id"]
            self.call("put_json", f"{here}/changelog/{note}", params={"text": changes})

    def publish(self, title="Tool", version="1", images=0, **fields):
        mod = self.draft(title, **fields)
        self.upload(mod, version)
        for number in range(images):
            headers = {**self.bearer, "Content-Type": "image/png"}
            self.site.post(f"/api/modhub/{mod['id']}/images?name={number}.png", PNG, headers=headers, status=201)
        return self.call("post", f"/api/modhub/{mod['id']}/publish").json

    def press(self, page, action, status=303, **fields):
        """Send the form of a page."""
        form = form_at(self.pages.get(page), action)
        for name, value in fields.items():
            form[name] = value
        return form.submit("follow" if "follow" in form.fields else None, status=status)

    def follow(self, page):
        """Follow the mod or the author of a page."""
        return self.press(page, f"{page}/follow")

    def emails(self, subject=""):
        """The emails that the person got with this in their subject, after sending all that waits; oldest first."""
        return emails_to(self.site, self.address, subject)

    def digests(self):
        """Those of them that are digests."""
        return [message for message in self.emails() if message["List-Unsubscribe"]]

    def get_digests(self, frequency):
        self.press("/Modhub/following", "/Modhub/following", frequency=frequency)


def emails_of(site, about=""):
    """All emails, or those that have this address somewhere, after sending all that waits; oldest first."""
    queue_requested_resets(site.registry)
    while site.find_service(AuthServices).mail_sender.send_due():
        pass
    folder = Path(site.registry.settings["modhub.mail_dir"])
    files = sorted(folder.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)
    # Parsing takes much longer than reading.
    read = [data for data in (path.read_bytes() for path in files) if about.encode() in data]
    return [message_from_bytes(data, policy=AS_SENT) for data in read]


def emails_to(site, address, subject=""):
    """The emails to an address with this in their subject."""
    emails = emails_of(site, address)
    return [message for message in emails if message["To"] == address and subject in message["Subject"]]


def text_of(message):
    """The plain text of an email."""
    part = message.get_body(("plain",))
    return str(part.get_content())


def register(site, name, *, confirmed=True):
    """An account that is signed in, as a program and on pages."""
    address = f"{name.lower()}@example.org"
    sent = {"email": address, "password": PASSWORD, "displayName": name}
    session = site.post_json("/api/auth/register", sent, status=201).json
    if confirmed:
        write(site, update(Login).where(Login.account_id == session["accountId"]).values(verified=True))
    return Person(site, session["accountId"], address, session["accessToken"])


def write(site, statement):
    """Execute a statement in a transaction of its own."""
    with site.databases.write_session.begin() as session:
        session.execute(statement)


def actions(app):
    """The actions of the audit trail, oldest first."""
    return read(app, select(AuditEntry.action).order_by(AuditEntry.id))


def read(site, statement):
    """What a statement selects."""
    with site.databases.readonly_session() as session:
        return list(session.scalars(statement))


def delete_person(site, account_id):
    """Delete the account as its owner does."""
    with site.databases.write_session.begin() as session:
        account = lock_account(session, account_id)
        assert account is not None
        delete_account(session, site.registry, account)


def block(site, account_id):
    """Block the account as its moderators do."""
    with site.databases.write_session.begin() as session:
        block_accounts(session, [lock_account(session, account_id)])


def make_key(site, account_id, mod_id=None):
    """A publisher key of the account, for all its mods or for one."""
    with site.databases.write_session.begin() as session:
        lock_account(session, account_id)
        return create_key(session, account_id, "CI", mod_id, 365).key


def add_authenticator(site, account_id=1):
    """Add an authenticator to the account; its secret and the recovery codes."""
    secret, box = pyotp.random_base32(), site.find_service(AuthServices).secret_box
    with site.databases.write_session.begin() as session:
        return secret, totp.add_authenticator(session, box, account_id, secret, pyotp.TOTP(secret).now())


@pytest.fixture
def ada(site):
    """Publishes."""
    return register(site, "Ada")


@pytest.fixture
def bob(site):
    """Follows and reports."""
    return register(site, "Bob")


MAKE_DIGESTS = """
import sys
from pyramid.paster import get_app
from modhub_following.digests import make_digests
list(make_digests(get_app(sys.argv[1]).registry))
"""
"""A program that queues the digests of the service of an ini now: the service lets a version rest for ten minutes."""
