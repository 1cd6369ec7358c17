"""Accounts and moderation on a fresh database of each kind, with people who publish, report and decide."""

import pytest

from modhub.db import now
from modhub_auth.models import Authenticator
from modhub_moderation.moderators import Moderator
from modhub_testing import Site, Start
from tests.people import Person, ada, bob, cheap_hashes, register

__all__ = ["ada", "bob"]

FEATURES = "modhub_auth modhub_profiles modhub_moderation"
SETTINGS = {"modhub__mail_dir": "{folder}/mail", "modhub_auth__register_limit": "99"}


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
    with cheap_hashes(monkeypatch):
        return start(features, **{**SETTINGS, **settings})


@pytest.fixture
def site(start: Start, monkeypatch: pytest.MonkeyPatch) -> Site:
    return begin(start, monkeypatch)


@pytest.fixture
def mo(site: Site) -> Person:
    """Decides."""
    return make_moderator(site, "Mo")
