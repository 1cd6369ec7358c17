"""Emails about changes to an account: what, when, by which client, and what to do about it."""

import re

import pytest
from sqlalchemy import update

from modhub_auth.models import Login
from tests.people import text_of, write

from .conftest import confirm, register, token_of

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PASSWORD = "correct horse battery"
ACTIONS = {"password": "Your password was changed", "delete": "Your account was deleted"}
"""The others: tests/auth/test_auth_proof.py."""


@pytest.fixture
def owner(app, person):
    """Somebody who is signed in, with a confirmed address."""
    register(app, person)
    confirm(app)
    return app


def do(app, action, agent, **proof):
    fields = {"currentPassword": PASSWORD, "password": "another password", "csrf_token": token_of(app), **proof}
    return app.post(f"{HOME}/{action}", fields, headers={"User-Agent": agent}, expect_errors=True)


@pytest.mark.parametrize("action", ACTIONS)
def test_changes_to_an_account_are_reported_by_email(owner, mail, action):
    # C-MAIL-9
    before = len(mail.read())
    assert do(owner, action, FIREFOX, currentPassword="wrong horse battery").status_int == 403
    assert len(mail.read()) == before, "what was refused is told to nobody"
    assert do(owner, action, FIREFOX).status_int in {200, 303}
    [*_, message] = mail.read()
    assert len(mail.read()) == before + 1
    assert (message["To"], message["Subject"]) == ("ada@example.org", ACTIONS[action])
    text = text_of(message)
    assert "at 127.0.0.1:6543" in text
    assert re.search(r"^When: 20\d\d-\d\d-\d\d \d\d:\d\d UTC$", text, re.MULTILINE)
    assert "\nBrowser or program: Firefox on Linux\n" in text
    assert "If this wasn't you, " in text
    assert ("/Modhub/account/forgot" in text) == (action != "delete")


def test_a_browser_does_not_write_the_email(owner, mail):
    """The client chooses its User-Agent, and the client may be a thief."""
    do(owner, "password", "Your account is blocked, go to https://evil.example.org")
    text = text_of(mail.read()[-1])
    assert "evil" not in text
    assert "\nBrowser or program: A browser\n" in text


def test_an_unconfirmed_address_gets_no_notice(owner, mail):
    write(owner, update(Login).values(verified=False))
    before = len(mail.read())
    do(owner, "password", FIREFOX)
    assert len(mail.read()) == before
