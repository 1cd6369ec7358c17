"""A blocked account reads why after a sign-in that was refused: it may have no address that was confirmed."""

from datetime import timedelta

import pytest

from modhub.db import now
from modhub_auth import tokens
from modhub_testing.pages import form_at, messages_on, new_visitor
from tests import people
from tests.people import PASSWORD, delete_person, register, text_of

from .cases_kit import FACTS, make_case, rule

pytestmark = pytest.mark.slow
LOGIN = "/Modhub/account/login"


@pytest.fixture
def eve(site):
    """Has never confirmed her address."""
    return register(site, "Eve", confirmed=False)


def sign_in(visitor, person, password=PASSWORD, status=403):
    form = next(form for form in visitor.get(LOGIN).forms.values() if "email" in form.fields)
    form["email"], form["password"] = person.address, password
    return form.submit(status=status)


def links_on(page):
    return [link["href"] for link in page.html.select("a[href*='/Modhub/appeal']")]


def block(site, eve, mo, mod=None):
    rule(site, make_case(site, eve, mod), "block", mo)


def test_who_signs_in_reads_why_and_appeals(site, eve, mo):
    # C-APL-4
    block(site, eve, mo)
    assert "token=" not in text_of(eve.emails()[-1])
    browser = new_visitor(site)
    assert links_on(sign_in(browser, eve, "not her password", status=401)) == []
    refused = sign_in(browser, eve)
    assert messages_on(refused) == ["account_blocked"]
    (link,) = links_on(refused)
    # What the page is, and the appeal: test_cases_pages.py.
    assert FACTS in browser.get(link)
    session = {"email": eve.address, "password": PASSWORD}
    told = site.post_json("/api/auth/login", session, status=403).json
    assert told.keys() == {"error", "message"}, "programs get the sentence alone"


def test_a_block_that_was_not_appealed_comes_first(site, eve, mo):
    # C-APL-4
    mod = eve.publish("Tool")
    block(site, eve, mo)
    block(site, eve, mo, mod)
    for _ in range(2):
        browser = new_visitor(site)
        (link,) = links_on(sign_in(browser, eve))
        form = form_at(browser.get(link), "/Modhub/appeal")
        form["text"] = "It is a test."
        form.submit(status=303)


def test_the_link_is_of_this_browser_and_ends(site, eve, mo, monkeypatch):
    # C-APL-4
    block(site, eve, mo)
    browser, stranger = new_visitor(site), new_visitor(site)
    (link,) = links_on(sign_in(browser, eve))
    stranger.get(LOGIN)
    for visitor, path in ((browser, link[:-2]), (browser, "/Modhub/appeal?token=é"), (stranger, link)):
        assert messages_on(visitor.get(path, status=404)) == ["dead_link"]
    with monkeypatch.context() as later:
        later.setattr(tokens, "now", lambda: now() + timedelta(hours=11, minutes=59))
        browser.get(link)
        later.setattr(tokens, "now", lambda: now() + timedelta(hours=12, seconds=1))
        assert messages_on(browser.get(link, status=404)) == ["dead_link"]
    delete_person(site, eve.id)
    assert messages_on(browser.get(link, status=404)) == ["dead_link"]


def test_there_is_a_link_for_decisions_alone(site, eve):
    # C-APL-4
    people.block(site, eve.id)
    refused = sign_in(new_visitor(site), eve)
    assert (messages_on(refused), links_on(refused)) == (["account_blocked"], [])
