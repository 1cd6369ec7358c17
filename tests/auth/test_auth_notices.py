"""Emails about changes to an account: what, when, by which client, and what to do about it."""

import re

import pytest

from tests.people import PASSWORD, register, text_of

from .conftest import token_of

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
ACTIONS = {"password": "Your password was changed", "delete": "Your account was deleted"}
"""The others: tests/auth/test_auth_proof.py."""


@pytest.fixture
def ada(app):
    return register(app, "Ada")


def do(person, action, agent, status="*", password=PASSWORD):
    fields = {"currentPassword": password, "password": "another password", "csrf_token": token_of(person.pages)}
    person.pages.post(f"{HOME}/{action}", fields, headers={"User-Agent": agent}, status=status)


@pytest.mark.parametrize("action", ACTIONS)
def test_changes_to_an_account_are_reported_by_email(ada, action):
    # C-MAIL-9
    assert len(ada.emails()) == 1
    do(ada, action, FIREFOX, 403, "wrong horse battery")
    do(ada, action, FIREFOX, 303)
    # What was refused is told to nobody.
    _, message = ada.emails()
    assert message["Subject"] == ACTIONS[action]
    text = text_of(message)
    assert "at 127.0.0.1:6543" in text
    assert re.search(r"^When: 20\d\d-\d\d-\d\d \d\d:\d\d UTC$", text, re.MULTILINE)
    assert "\nBrowser or program: Firefox on Linux\n" in text
    assert "If this wasn't you, " in text
    assert ("/Modhub/account/forgot" in text) == (action != "delete")


def test_a_browser_does_not_write_the_email(ada):
    """The client chooses its User-Agent, and the client may be a thief."""
    do(ada, "password", "Your account is blocked, go to https://evil.example.org")
    text = text_of(ada.emails()[-1])
    assert "evil" not in text
    assert "\nBrowser or program: A browser\n" in text


def test_an_unconfirmed_address_gets_no_notice(app):
    eve = register(app, "Eve", confirmed=False)
    do(eve, "password", FIREFOX, 303)
    assert len(eve.emails()) == 1
