"""Who gets an account registered with somebody else's address: confirmation, first reset, later reset."""

from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from modhub.base.errors import ApiError
from modhub.db import Base, now
from modhub_auth import services
from modhub_auth.container import AuthServices
from modhub_auth.mail import link_tokens
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import Authenticator, ClientSession, Link, Login, PageSession
from modhub_auth.signin import platform_logins, sessions
from modhub_auth.signin.openid import Assertion
from modhub_testing.pages import messages_on, new_visitor
from tests.people import add_authenticator, read, write
from tests.races import at_once

from .conftest import confirm, forgot, log_in, refresh, register, reset_password, send, sign_in, sign_up, token_of

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
THEIRS = "the password of the victim"


def all_of(app, model):
    return read(app, select(model))


def rows(app):
    """Everything that accounts store."""
    with app.databases.readonly_session() as session:
        tables = [table for name, table in sorted(Base.metadata.tables.items()) if name.startswith("auth_")]
        return [str(row) for table in tables for row in session.execute(table.select()).all()]


def link_steam(app, subject):
    """Link this login of a platform to the first account."""
    with app.databases.write_session.begin() as session:
        platform_logins.link_login(session, services.lock_account(session, 1), Assertion("steam", subject, ""))


def furnish(app):
    """A linked login and an authenticator; returns the recovery codes."""
    link_steam(app, "7")
    return add_authenticator(app)[1]


def is_verified(app):
    return all(login.verified for login in all_of(app, Login))


def test_registering_a_strangers_address_locks_out_the_registrant_not_the_owner(app, person, mail):
    # C-MAIL-5, C-MAIL-6, T-C16
    """The attacker registers the address first, signs in and adds an authenticator; its owner then sets a password."""
    attacker, victim = new_visitor(app), new_visitor(app)
    register(attacker, person)
    program = log_in(app, person)
    link = mail.link()
    page = victim.get(link, status=200)
    # Following the link and pressing the button confirms nothing: the victim has neither session nor password.
    send(page, 403)
    assert not is_verified(app)
    codes = furnish(app)
    page = page.click("I did not create this account")
    assert page.html.select_one("input[type=checkbox]") is None
    assert messages_on(send(page, 200, password=THEIRS)) == ["password_set"]
    assert is_verified(app)
    attacker.get(HOME, status=303)
    for code in ("", codes[0]):
        log_in(app, person, 401, code=code)
    refresh(app, program, 401)
    assert [login.kind for login in all_of(app, Login)] == ["Password"]
    assert [app.count_rows(model) for model in (Authenticator, PageSession, ClientSession, Link)] == [0] * 4
    log_in(app, person, password=THEIRS)
    victim.get(link, status=410)


def test_confirming_in_ones_own_browser_keeps_one_signed_in_everywhere(app, person, mail):
    # C-MAIL-5
    browser, other = new_visitor(app), new_visitor(app)
    register(browser, person)
    program = log_in(app, person)
    sign_in(other, person)
    furnish(app)
    page = browser.get(mail.link())
    assert page.html.select_one(".field") is None
    assert messages_on(send(page, 200)) == ["address_confirmed"]
    assert is_verified(app)
    for visitor in (browser, other):
        visitor.get(HOME, status=200)
    refresh(app, program)
    assert (app.count_rows(Login), app.count_rows(Authenticator)) == (2, 1)


def test_confirming_by_the_password_keeps_everything_and_signs_nobody_in(app, person, mail):
    # C-MAIL-5, T-C8
    program = sign_up(app, person)
    link, eve = mail.link(), new_visitor(app)
    page = app.get(link)
    assert send(page, 403, password="wrong horse battery").html.select_one("#password")["aria-invalid"] == "true"
    register(eve, {"email": "eve@example.org", "password": THEIRS})
    send(eve.get(link), 403, password=THEIRS)
    assert not any(login.verified for login in all_of(app, Login))
    assert messages_on(send(page, 200, password=person["password"])) == ["address_confirmed"]
    assert sorted(login.verified for login in all_of(app, Login)) == [False, True]
    assert {login.verified for login in all_of(app, Login) if login.subject == person["email"]} == {True}
    app.get(link, status=410)
    send(page, 410)
    app.get(HOME, status=303)
    refresh(app, program)


def test_a_link_that_confirms_sets_no_password_once_the_address_is_confirmed(app, person, mail):
    sign_up(app, person)
    link = mail.link()
    page = app.get(f"{link}&new=1", status=200)
    confirm(app)
    send(page, 410, password=THEIRS)
    # Also where the address is confirmed between the look and the lock.
    with app.databases.write_session() as session, pytest.raises(ApiError, match="link"):
        reset_password(app, session, link.partition("token=")[2], purpose=link_tokens.CONFIRM_LINK)
    log_in(app, person)


def ask_for_a_password(app, mail):
    """Ask for a password in an account of a platform login; return its browser, and the link in the email."""
    own = app.find_service(AuthServices)
    with own.databases.write_session.begin() as session:
        arrived = platform_logins.sign_in_or_register(session, Assertion("steam", "7", ""), registration=True)
        cookie = sessions.begin_page_session(session, *arrived, "", proved=True)
    browser = new_visitor(app)
    browser.set_cookie("modhub", cookie)
    send(browser.get(f"{HOME}/password"), 200, email="ada@example.org", password="attackers password")
    return browser, mail.link()


def test_a_password_is_added_in_a_session_of_its_account_alone(app, person, mail):
    # C-MAIL-5
    """The attacker adds the victim's address to an account; the link sent to the victim must not help them."""
    attacker, link = ask_for_a_password(app, mail)
    stranger, other = new_visitor(app), new_visitor(app)
    register(other, {**person, "email": "eve@example.org"})
    for browser in (stranger, other):
        page = browser.get(link, status=403)
        assert page.html.select_one("main .ways a")["href"].startswith(f"{HOME}/login?next={HOME}/confirm")
        browser.post(link, {"csrf_token": token_of(browser)}, status=403)
    assert [login.kind for login in all_of(app, Login)] == ["Platform", "Password"]
    assert messages_on(send(attacker.get(link), 200)) == ["address_confirmed"]
    app.post_json("/api/auth/login", {"email": "ada@example.org", "password": "attackers password"}, status=200)


def test_opening_a_link_changes_nothing(app, person, mail):
    """As the scanner of a mail server does, and a browser that looks ahead."""
    owner, add = ask_for_a_password(app, mail)
    browser = new_visitor(app)
    register(browser, {**person, "email": "eve@example.org"})
    confirm = mail.link()
    forgot(app, "eve@example.org")
    reset = mail.link()
    before = rows(app)
    for link in (add, confirm, f"{confirm}&new=1", reset):
        for visitor in (new_visitor(app), browser, owner):
            for ask in (visitor.get, visitor.head):
                assert ask(link, expect_errors=True).status_int in {200, 403}
    assert rows(app) == before


@pytest.fixture
def reset_page(app, person, mail):
    """The page of a later reset, of an account with a linked login (2) and an authenticator."""
    sign_up(app, person)
    confirm(app)
    furnish(app)
    forgot(app, person["email"])
    return app.get(mail.link())


def test_a_later_reset_removes_what_is_unticked(app, mail, reset_page):
    # C-MAIL-6
    boxes = {box["value"]: box for box in reset_page.html.select("input[type=checkbox]")}
    assert {key: box.has_attr("checked") for key, box in boxes.items()} == {"2": True, "authenticator": True}
    assert "7 (steam)" in reset_page.html.select_one("fieldset").text
    form = reset_page.forms[0]
    for at, key in enumerate(boxes):
        form.set("keep", key == "2", index=at)
    # What is wrong with the password changes no tick.
    form["password"] = "short"
    again = form.submit(status=400)
    ticked = {box["value"] for box in again.html.select("input[type=checkbox]") if box.has_attr("checked")}
    assert ticked == {"2"}
    send(again, 200, password=THEIRS)
    assert (app.count_rows(Login), app.count_rows(Authenticator)) == (2, 0)
    subjects = {str(message["Subject"]) for message in mail.read()}
    assert {EMAIL_TEMPLATES[kind].subject for kind in ("factor removed", "password changed")} <= subjects
    assert EMAIL_TEMPLATES["login unlinked"].subject not in subjects


def test_a_form_that_has_shown_nothing_removes_nothing(app, reset_page):
    # C-MAIL-6
    fields = {"csrf_token": reset_page.forms[0]["csrf_token"].value, "password": THEIRS}
    app.post(reset_page.request.path_qs, fields, status=200)
    assert (app.count_rows(Login), app.count_rows(Authenticator)) == (2, 1)


def test_what_is_added_while_a_reset_is_open_is_looked_over_too(app, reset_page, mail):
    """Otherwise the present holder could link a login at the last moment and get back in."""
    link_steam(app, "666")
    page = send(reset_page, 409, password=THEIRS)
    assert messages_on(page) == ["changed_meanwhile"]
    assert "666 (steam)" in page.html.select_one("fieldset").text
    form, boxes = page.forms[0], page.html.select("input[type=checkbox]")
    assert all(box.has_attr("checked") for box in boxes)
    for at, box in enumerate(boxes):
        form.set("keep", box["value"] != "3", index=at)
    form["password"] = THEIRS
    form.submit(status=200)
    assert "666" not in {login.subject for login in all_of(app, Login)}
    assert EMAIL_TEMPLATES["login unlinked"].subject in {str(message["Subject"]) for message in mail.read()}


@pytest.mark.postgres
@pytest.mark.usefixtures("patience")
def test_a_login_that_is_linked_beside_a_first_reset_is_gone(app):
    """Whichever comes first: the account's row is locked, and the session is read after that."""
    for number in range(1, 9):
        address = f"ada{number}@example.org"
        with app.databases.write_session.begin() as session:
            login = Login(kind="Password", subject=address, password_hash="hash", created_at=now())
            account = services.register_account(session, login)
            sessions.begin_page_session(session, account, login, "")
            secret = link_tokens.create_link(session, link_tokens.RESET_LINK, account.id, login_id=login.id)
            account_id = account.id
        [session_id] = read(app, select(PageSession.id).where(PageSession.account_id == account_id))

        def reset(secret=secret):
            with app.databases.write_session.begin() as session:
                reset_password(app, session, secret)

        def link(account_id=account_id, session_id=session_id, subject=str(number)):
            with suppress(ApiError), app.databases.write_session.begin() as session:
                account = sessions.lock_session_account(session, account_id, session_id)
                platform_logins.link_login(session, account, Assertion("steam", subject, ""))

        at_once([reset, link])
        assert read(app, select(Login.kind).where(Login.account_id == account_id)) == ["Password"]


def test_the_notice_can_be_put_away(app, person, mail):
    # That it sends the email again: test_auth_safety.py.
    register(app, person)
    fields = {"csrf_token": token_of(app)}

    def is_shown(began=timedelta()):
        write(app, update(PageSession).values(created_at=now() - began))
        return "email_sent" in messages_on(app.get("/Modhub"))

    assert (is_shown(), is_shown(timedelta(minutes=61))) == (True, False)
    referer = {"Referer": "http://localhost/Modhub?sort=top"}
    hidden = app.post(f"{HOME}/hide-notice", fields, headers=referer, status=303)
    assert hidden.headers["Location"] == "/Modhub?sort=top"
    assert all(part in hidden.headers["Set-Cookie"] for part in ("HttpOnly", "SameSite=Lax", "Max-Age=3600"))
    # The account's page and the next sign-in show it all the same.
    assert "email_sent" not in messages_on(app.get("/Modhub"))
    assert "email_sent" in messages_on(app.get(HOME))
    assert is_shown()
    send(app.get(mail.link()), 200)
    assert not is_shown()
    app.post(f"{HOME}/hide-notice", {}, status=400)  # without the form's token
