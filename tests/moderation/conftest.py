"""Accounts and moderation on a fresh database of each kind, with people who publish, report and decide."""

import pytest
from sqlalchemy import insert

from modhub.db import now
from modhub_moderation.moderators import Moderator
from tests.people import ada, add_authenticator, bob, cheap_hashes, register, write

from .cases_kit import make_case

__all__ = ["ada", "bob"]

FEATURES = "modhub_auth modhub_profiles modhub_moderation"
SETTINGS = {"modhub__mail_dir": "{folder}/mail", "modhub_auth__register_limit": "99"}


def make_moderator(site, name):
    """An account that is signed in, has a second factor and may decide."""
    person = register(site, name)
    # Signed in now: later it would take a code.
    _ = person.pages
    add_authenticator(site, person.id)
    write(site, insert(Moderator).values(account_id=person.id, since=now()))
    return person


def begin(start, monkeypatch, features=FEATURES, **settings):
    """An application with cheap password hashing and its emails in a folder."""
    with cheap_hashes(monkeypatch):
        return start(features, **{**SETTINGS, **settings})


@pytest.fixture
def site(start, monkeypatch):
    return begin(start, monkeypatch)


@pytest.fixture
def mo(site):
    """Decides."""
    return make_moderator(site, "Mo")


@pytest.fixture
def mod(ada):
    """What is decided about."""
    return ada.publish("Tool", description="What it is for")


@pytest.fixture
def case_id(site, ada, mod):
    """A case that a moderator opened about that mod."""
    return make_case(site, ada, mod)
