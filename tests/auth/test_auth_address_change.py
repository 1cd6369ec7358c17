"""Changing the email address: asked for with fresh proof, done by the link sent to the new one."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from modhub.audit.models import AuditEntry
from modhub.base.errors import ApiError
from modhub.db import now
from modhub.web.request import Request
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import Link, Login, OutgoingEmail
from modhub_auth.signin.registration import change_address
from modhub_testing.pages import messages_on, new_visitor
from tests import people
from tests.people import PASSWORD, actions, delete_person, emails_to, read, text_of, write
from tests.races import at_once

from .conftest import log_in, send

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
OLD, NEW = "ada@example.org", "ada.new@example.org"


def register(app, name="Ada"):
    return people.register(app, name, confirmed=False)


@pytest.fixture
def ada(app):
    return register(app)


def ask(ada, email=NEW, status=200):
    return send(ada.pages.get(f"{HOME}/email"), status, email=email, currentPassword=PASSWORD)


def link_for(ada, email=NEW):
    """Ask for the change; the link in the email to the new address."""
    ask(ada, email)
    return re.search(r"/Modhub/account/confirm\?token=\w+", text_of(emails_to(ada.site, email)[-1]))[0]


def subjects(app):
    with app.databases.readonly_session() as session:
        return [(login.subject, login.verified) for login in session.scalars(select(Login).order_by(Login.id))]


def told(app):
    """Which emails there are to whom."""
    with app.databases.readonly_session() as session:
        return sorted(map(tuple, session.execute(select(OutgoingEmail.recipient, OutgoingEmail.kind))))


def test_the_address_changes_once_the_new_one_is_confirmed(app, ada):
    # C-ACC-22
    link = link_for(ada)
    assert told(app) == [(NEW, "change"), (OLD, "change asked"), (OLD, "confirm")]
    log_in(app, {"email": OLD, "password": PASSWORD})
    page = ada.pages.get(link)
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert subjects(app) == [(OLD, False)]  # Opening it changes nothing.
    assert send(page, 303).headers["Location"] == f"{HOME}?done=email"
    assert "email" in messages_on(ada.pages.get(f"{HOME}?done=email"))
    assert subjects(app) == [(NEW, True)]
    (notice,) = emails_to(app, OLD, EMAIL_TEMPLATES["email changed"].subject)
    assert NEW not in notice.as_string()
    log_in(app, {"email": OLD, "password": PASSWORD}, 401)
    log_in(app, {"email": NEW, "password": PASSWORD})
    ada.pages.get(link, status=410)
    assert {"email address change requested", "email address changed"} <= set(actions(app))
    with app.databases.readonly_session() as session:
        assert NEW not in "".join(map(str, session.execute(AuditEntry.__table__.select())))


@pytest.mark.parametrize("is_sent_before", [True, False])
def test_a_deleted_account_leaves_no_earlier_address(app, ada, is_sent_before):
    # C-ACC-18
    send(ada.pages.get(link_for(ada)), 303)
    if is_sent_before:
        emails_to(app, OLD)
    delete_person(app, ada.id)
    assert told(app) == [("" if is_sent_before else OLD, "email changed")]
    assert len(emails_to(app, OLD, EMAIL_TEMPLATES["email changed"].subject)) == 1
    assert told(app) == [("", "email changed")]


def test_the_link_alone_is_not_enough(app, ada):
    # C-ACC-22
    link = link_for(ada)
    for browser in (new_visitor(app), register(app, "Grace").pages):
        page = browser.get(link)
        assert page.html.find("input", {"name": "password", "type": "password"}) is not None
        send(page, 403, password="not the password")
    assert subjects(app)[0] == (OLD, False)
    page = send(new_visitor(app).get(link), 200, password=PASSWORD)
    assert messages_on(page) == ["address_changed"]
    assert subjects(app)[0] == (NEW, True)


def test_a_taken_address_does_not_show(app, ada):
    # C-ACC-24
    taken = register(app, "Grace").address
    free, used = (ask(ada, email).text for email in (NEW, taken.upper()))
    assert free == used
    hers = [(OLD, "change asked"), (OLD, "change asked"), (OLD, "confirm")]
    assert told(app) == [(NEW, "change"), *hers, (taken, "confirm"), (taken, "taken")]
    assert subjects(app) == [(OLD, False), (taken, False)]


def test_what_is_refused(app, ada):
    # C-ACC-22
    assert messages_on(ask(ada, "nowhere", 400)) == ["invalid_input"]
    assert messages_on(ask(ada, OLD.upper(), 400)) == ["same_address"]
    assert told(app) == [(OLD, "confirm")]


def test_a_link_ends_after_an_hour_and_by_another_request(app, ada):
    # C-ACC-22
    first, second = link_for(ada), link_for(ada, "other@example.org")
    ada.pages.get(first, status=410)
    ada.pages.get(second)
    [expires_at] = read(app, select(Link.expires_at).where(Link.purpose == "change"))
    assert abs(expires_at - now() - timedelta(hours=1)) < timedelta(minutes=1)
    write(app, update(Link).where(Link.purpose == "change").values(expires_at=now() - timedelta(seconds=1)))
    ada.pages.get(second, status=410)
    assert subjects(app) == [(OLD, False)]


def test_requests_are_limited_by_account(auth):
    # C-ACC-24
    app = auth(modhub_auth__forgot_limit="2")
    ada = register(app)
    for number in range(2):
        ask(ada, f"ada{number}@example.org")
    ada.pages.extra_environ["REMOTE_ADDR"] = "192.0.2.7"
    assert ask(ada, status=429).headers["Retry-After"]
    assert len(told(app)) == 5


@pytest.mark.postgres
@pytest.mark.usefixtures("patience")
def test_races_have_one_winner(app):
    # C-ACC-24
    others = [register(app, f"Person{number}") for number in range(3)]
    pages = [other.pages.get(link_for(other)) for other in others]
    answers = at_once([lambda page=page: send(page, "*").status_int for page in pages])
    assert sorted(answers) == [303, 409, 409]
    assert sorted(subject for subject, _ in subjects(app)).count(NEW) == 1


def test_a_session_or_password_that_ended_meanwhile_changes_nothing(app, ada):
    # C-ACC-22
    secret = link_for(ada).partition("token=")[2]
    request = Request.blank("/")
    request.registry = app.registry
    for ended in ({"session_id": 999}, {"password_hash": "an earlier one"}, {}):
        with app.databases.write_session() as session:
            request.dbsession = session
            with pytest.raises(ApiError) as error:
                change_address(request, secret, **ended)
        assert error.value.status == 401
    assert subjects(app) == [(OLD, False)]
