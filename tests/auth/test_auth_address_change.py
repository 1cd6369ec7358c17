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
from modhub_auth.services import delete_account, lock_account
from modhub_auth.signin.registration import change_address
from modhub_testing.pages import messages_on, new_visitor
from tests.people import read, write
from tests.races import at_once

from .conftest import register, send

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
NEW = "ada.new@example.org"


def registered(app, person):
    browser = new_visitor(app)
    register(browser, person)
    return browser


def ask(browser, person, email=NEW, status=200):
    return send(browser.get(f"{HOME}/email"), status, email=email, currentPassword=person["password"])


def subjects(app):
    with app.databases.readonly_session() as session:
        return [(login.subject, login.verified) for login in session.scalars(select(Login).order_by(Login.id))]


def sign_in(app, person, status=200):
    return app.post_json("/api/auth/login", {"email": person["email"], "password": person["password"]}, status=status)


def subject(template):
    return EMAIL_TEMPLATES[template].subject


def to(mail):
    return sorted((message["To"], message["Subject"]) for message in mail.read())


def links(mail):
    texts = [str(message.get_body(("plain",)).get_content()) for message in mail.read()]
    return {link for text in texts for link in re.findall(r"/Modhub/account/confirm\?token=\w+", text)}


def link_for(browser, person, mail, email=NEW):
    """Ask for the change; the link in the email to the new address."""
    before = links(mail)
    ask(browser, person, email)
    [link] = links(mail) - before
    return link


def test_the_address_changes_once_the_new_one_is_confirmed(app, person, mail):
    # C-ACC-22
    browser = registered(app, person)
    link = link_for(browser, person, mail)
    assert to(mail) == [
        (NEW, subject("change")),
        (person["email"], subject("change asked")),
        (person["email"], subject("confirm")),
    ]
    sign_in(app, person)
    page = browser.get(link)
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert subjects(app) == [(person["email"], False)]  # Opening it changes nothing.
    assert send(page, 303).headers["Location"] == f"{HOME}?done=email"
    assert "email" in messages_on(browser.get(f"{HOME}?done=email"))
    assert subjects(app) == [(NEW, True)]
    notices = [message for message in mail.read() if message["Subject"] == subject("email changed")]
    assert [message["To"] for message in notices] == [person["email"]]
    assert NEW not in notices[0].as_string()
    sign_in(app, person, 401)
    sign_in(app, {**person, "email": NEW})
    browser.get(link, status=410)
    with app.databases.readonly_session() as session:
        actions = set(session.scalars(select(AuditEntry.action)))
        assert {"email address change requested", "email address changed"} <= actions
        assert NEW not in "".join(map(str, session.execute(AuditEntry.__table__.select())))


@pytest.mark.parametrize("is_sent_before", [True, False])
def test_a_deleted_account_leaves_no_earlier_address(app, person, mail, is_sent_before):
    # C-ACC-18
    browser = registered(app, person)
    send(browser.get(link_for(browser, person, mail)), 303)
    if is_sent_before:
        mail.read()
    with app.databases.write_session.begin() as session:
        delete_account(session, app.registry, lock_account(session, 1))
        kept = list(session.execute(select(OutgoingEmail.kind, OutgoingEmail.recipient)))
    assert kept == [("email changed", "" if is_sent_before else person["email"])]
    assert (person["email"], subject("email changed")) in to(mail)
    assert read(app, select(OutgoingEmail.recipient)) == [""]


def test_the_link_alone_is_not_enough(app, person, mail):
    # C-ACC-22
    link = link_for(registered(app, person), person, mail)
    stranger = registered(app, {**person, "email": "grace@example.org"})
    for browser in (new_visitor(app), stranger):
        page = browser.get(link)
        assert page.html.find("input", {"name": "password", "type": "password"}) is not None
        send(page, 403, password="not the password")
    assert subjects(app)[0] == (person["email"], False)
    page = send(new_visitor(app).get(link), 200, password=person["password"])
    assert messages_on(page) == ["address_changed"]
    assert subjects(app)[0] == (NEW, True)


def test_a_taken_address_does_not_show(app, person, mail):
    # C-ACC-24
    taken = {**person, "email": "grace@example.org"}
    registered(app, taken)
    browser = registered(app, person)
    free, used = (ask(browser, person, email).text for email in (NEW, taken["email"].upper()))
    assert free == used
    assert to(mail) == [
        (NEW, subject("change")),
        (person["email"], subject("change asked")),
        (person["email"], subject("change asked")),
        (person["email"], subject("confirm")),
        (taken["email"], subject("confirm")),
        (taken["email"], subject("taken")),
    ]
    assert len(links(mail)) == 3
    assert subjects(app) == [(taken["email"], False), (person["email"], False)]


def test_what_is_refused(app, person, mail):
    # C-ACC-22
    browser = registered(app, person)
    assert messages_on(ask(browser, person, "nowhere", 400)) == ["invalid_input"]
    assert messages_on(ask(browser, person, person["email"].upper(), 400)) == ["same_address"]
    assert len(mail.read()) == 1


def test_a_link_ends_after_an_hour_and_by_another_request(app, person, mail):
    # C-ACC-22
    browser = registered(app, person)
    first = link_for(browser, person, mail)
    second = link_for(browser, person, mail, "other@example.org")
    browser.get(first, status=410)
    browser.get(second)
    [expires_at] = read(app, select(Link.expires_at).where(Link.purpose == "change"))
    assert abs(expires_at - now() - timedelta(hours=1)) < timedelta(minutes=1)
    write(app, update(Link).where(Link.purpose == "change").values(expires_at=now() - timedelta(seconds=1)))
    browser.get(second, status=410)
    assert subjects(app) == [(person["email"], False)]


def test_requests_are_limited_by_account(auth, person, mail):
    # C-ACC-24
    app = mail.app = auth(modhub_auth__forgot_limit="2")
    browser = registered(app, person)
    for number in range(2):
        ask(browser, person, f"ada{number}@example.org")
    app.extra_environ = {**app.extra_environ, "REMOTE_ADDR": "192.0.2.7"}
    refused = ask(browser, person, status=429)
    assert refused.headers["Retry-After"]
    assert len(mail.read()) == 5


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.usefixtures("patience")
def test_races_have_one_winner(app, person, mail):
    # C-ACC-24
    others = [{**person, "email": f"person{number}@example.org"} for number in range(3)]
    browsers = [registered(app, other) for other in others]
    pages = [browser.get(link_for(browser, other, mail)) for browser, other in zip(browsers, others, strict=True)]
    answers = at_once([lambda page=page: send(page, "*").status_int for page in pages])
    assert sorted(answers) == [303, 409, 409]
    assert sorted(subject for subject, _ in subjects(app)).count(NEW) == 1


def test_a_session_or_password_that_ended_meanwhile_changes_nothing(app, person, mail):
    # C-ACC-22
    secret = link_for(registered(app, person), person, mail).partition("token=")[2]
    request = Request.blank("/")
    request.registry = app.registry
    for ended in ({"session_id": 999}, {"password_hash": "an earlier one"}, {}):
        with app.databases.write_session() as session:
            request.dbsession = session
            with pytest.raises(ApiError) as error:
                change_address(request, secret, **ended)
        assert error.value.status == 401
    assert subjects(app) == [(person["email"], False)]
