"""Account pages."""

from datetime import timedelta

import pyotp
import pytest
from sqlalchemy import select, update

from modhub.db import now
from modhub.plugins.events import AccountDeleted
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import Link, PageSession
from modhub_auth.signin import totp
from modhub_auth.signin.session_cookies import label_of, safe_next
from modhub_testing.pages import messages_on
from tests import people
from tests.people import actions, read, write

from .conftest import bearer, forgot, log_in, me, refresh, register, send, sign_in, sign_up, token_of

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"


def sessions(app):
    return read(app, select(PageSession))


def signed_in(app):
    return bool(app.get(HOME, expect_errors=True).status_int == 200)


def test_signing_in_and_out(app, person):
    # C-HTTP-5, T-H5
    made = sign_up(app, person)
    app.get(HOME, headers=bearer(made), status=303)
    sign_in(app, person)
    app.get(HOME, status=200)
    app.get("/api/auth/me", status=401)
    held = app.cookies["modhub"]
    answer = send(app.get(f"{HOME}/logout"), 303)
    assert answer.headers["Clear-Site-Data"] == '"cache", "cookies", "storage"'
    assert not signed_in(app)
    app.set_cookie("modhub", held)
    assert not signed_in(app)
    assert sessions(app) == []


def test_a_page_that_needs_an_account_leads_to_the_sign_in_page(app, person):
    # C-PAGE-7
    sign_up(app, person)
    answer = app.get(f"{HOME}/password?x=1", status=303)
    assert answer.headers["Location"] == "/Modhub/account/login?next=/Modhub/account/password%3Fx%3D1"
    page = app.get(answer.headers["Location"])
    assert send(page, 303, **person).headers["Location"] == "/Modhub/account/password?x=1"


def test_next_leads_nowhere_else():
    # C-PAGE-7, T-C14
    elsewhere = ["//evil.example.org", "/\\evil.example.org", "https://evil.example.org", "javascript:alert(1)"]
    elsewhere += ["/a\r\nSet-Cookie: x=y", "/\tevil", "/a b", "/é", "", "/" + "x" * 3000]
    assert [path for path in elsewhere if safe_next(path) is not None] == []
    for path in ("/", "/Modhub/12", "/Modhub?q=%20x&page=2", "/Modhub/mine/3#x"):
        assert safe_next(path) == path


def test_session_and_token_change_at_sign_in(app, person):
    # T-C12, T-H6
    sign_up(app, person)
    app.set_cookie("modhub", "0" * 64)
    page = app.get(f"{HOME}/login")
    send(page, 303, **person)
    first = app.cookies["modhub"]
    assert first != "0" * 64
    send(page, 400, **person)
    sign_in(app, person)
    assert app.cookies["modhub"] != first
    assert len(sessions(app)) == 1


@pytest.mark.parametrize(
    ("values", "alive"),
    [
        ({"used_at": timedelta(hours=11)}, True),
        ({"used_at": timedelta(hours=12, seconds=1)}, False),
        ({"created_at": timedelta(days=13)}, True),
        ({"created_at": timedelta(days=14, seconds=1)}, False),
    ],
)
def test_sessions_end(app, person, values, alive):
    # T-H6
    register(app, person)
    write(app, update(PageSession).values({name: now() - ago for name, ago in values.items()}))
    assert signed_in(app) is alive


def test_resetting_a_password(app, person, mail):
    # C-ACC-17, C-MAIL-4
    old = sign_up(app, person)
    sign_in(app, person)
    assert messages_on(send(app.get(f"{HOME}/forgot"), 200, email=" ADA@example.org")) == ["check_email"]
    page = app.get(mail.link())
    done = send(page, 200, password="another password")
    assert messages_on(done) == ["password_set"]
    assert app.count_rows(Link) == 0, "of the address, too"
    # Its navigation is that of a visitor: this session has ended too.
    assert done.html.select(f"header nav a[href='{HOME}/login']")
    assert not signed_in(app)
    refresh(app, old, 401)
    log_in(app, person, 401)
    made = log_in(app, person, password="another password")
    assert me(app, made)["verified"] is True
    assert mail.read()[-1]["Subject"] == EMAIL_TEMPLATES["password changed"].subject
    send(page, 410, password="yet another password")


def test_a_link_is_for_one_purpose_until_there_is_a_newer_one(app, person, mail):
    # C-PAGE-10, T-C8
    sign_up(app, person)
    confirm = mail.secret()
    forgot(app, person["email"])
    reset = mail.secret()
    app.get(f"{HOME}/confirm?token={reset}", status=410)
    for dead in (confirm, "", "x", "0" * 64, "%00%C3%A9", "x" * 5000):
        app.get(f"{HOME}/reset?token={dead}", status=410)
    forgot(app, person["email"])
    app.get(mail.link(), status=200)
    app.get(f"{HOME}/reset?token={reset}", status=410)


def test_changing_the_password(app, person, mail):
    # C-MAIL-4, C-PAGE-10
    register(app, person)
    send(app.get(f"{HOME}/forgot"), 200, email=person["email"])
    reset = mail.link()
    program = log_in(app, person)
    held = app.cookies["modhub"]
    page = app.get(f"{HOME}/password")
    send(page, 400, currentPassword=person["password"], password="short")
    send(page, 303, currentPassword=person["password"], password="another password")
    assert signed_in(app)
    assert app.cookies["modhub"] != held
    log_in(app, person, 401)
    log_in(app, person, password="another password")
    app.get(reset, status=410)
    refresh(app, program)
    app.set_cookie("modhub", held)
    assert not signed_in(app)


def test_guessing_the_current_password_is_limited(auth, person):
    app = auth(modhub_auth__failures="2")
    register(app, person)
    page = app.get(f"{HOME}/password")
    for status in (403, 403, 429):
        send(page, status, currentPassword="wrong horse battery", password="another password")


def test_password_managers_find_the_page(app):
    # C-PAGE-4
    assert app.get("/.well-known/change-password", status=303).headers["Location"] == f"{HOME}/password"


def test_adding_and_removing_an_authenticator(app, person):
    # C-PAGE-9
    register(app, person)
    page = app.get(f"{HOME}/authenticator")
    secret = page.html.select_one("#authenticator-secret").text
    assert page.html.select_one(".qr svg path") is not None
    right = {"currentPassword": person["password"]}
    assert send(page, 400, code="000000", **right).html.select_one("#authenticator-secret").text == secret
    held = app.cookies["modhub"]
    done = send(page, 200, code=pyotp.TOTP(secret).now(), **right)
    codes = [code.text for code in done.html.select("#recovery-codes code")]
    assert len(codes) == 10
    assert app.cookies["modhub"] != held
    log_in(app, person, 401)
    log_in(app, person, code=codes[0])
    page = app.get(f"{HOME}/authenticator")
    assert page.html.select_one("#authenticator-secret") is None
    send(page, 303, currentPassword=person["password"])
    log_in(app, person)
    assert app.get(f"{HOME}/authenticator").html.select_one("#authenticator-secret").text != secret


def test_clients_are_listed_and_signed_out(app, person):
    laptop = sign_up(app, person, client="laptop")
    phone = log_in(app, person, client="phone")
    sign_in(app, person, headers={"User-Agent": "Old browser"})
    app.reset()
    sign_in(app, person, headers={"User-Agent": "New browser"})
    listed = app.get(HOME).html.select_one("#signed-in").text
    assert all(name in listed for name in ("laptop", "phone", "Old browser", "New browser"))

    def end(label):
        [button] = [button for button in app.get(HOME).html.select("#signed-in button") if button.text.endswith(label)]
        fields = {field["name"]: field["value"] for field in button.find_parent("form").select("input")}
        app.post(f"{HOME}/sign-out", fields, status=303)

    end("laptop")
    refresh(app, laptop, 401)
    end("Old browser")
    assert len(sessions(app)) == 1
    phone = refresh(app, phone)
    app.post(f"{HOME}/sign-out", {"csrf_token": token_of(app)}, status=303)
    refresh(app, phone, 401)
    assert signed_in(app)
    assert actions(app)[-1] == "signed out everywhere else"


def test_neither_ids_of_others_nor_what_is_no_id_end_a_session(app, person):
    other = sign_up(app, person, email="eve@example.org")
    sign_up(app, person)
    sign_in(app, person)
    token = token_of(app)
    for sent in ({"clientId": "1"}, {"clientId": "abc"}, {"clientId": "9" * 23}, {"sessionId": "9" * 23}):
        app.post(f"{HOME}/sign-out", {"csrf_token": token, **sent}, status=303)
    assert signed_in(app)
    refresh(app, other)


@pytest.mark.postgres
def test_an_account_is_deleted_in_one_transaction(app):
    # C-ACC-18, C-MOD-2, C-TOK-2, T-B5, T-C2
    ada = people.register(app, "Ada")
    ada.publish("The first mod")

    def fail(_event):
        raise RuntimeError("another feature cannot let go")

    app.registry.registerHandler(fail, (AccountDeleted,))
    page = ada.pages.get(f"{HOME}/delete")
    assert "The first mod" in page.html.select_one("#mods").text
    send(page, 500, currentPassword=people.PASSWORD)
    ada.pages.get(HOME, status=200)
    (kept,) = ada.call("get", "/api/modhub/mine").json["mods"]
    assert len(kept["assets"]) == 1
    app.registry.unregisterHandler(fail, (AccountDeleted,))
    answer = send(page, 303, currentPassword=people.PASSWORD)
    assert answer.headers["Clear-Site-Data"]
    assert "account_deleted" in messages_on(answer.follow())
    ada.pages.get(HOME, status=303)
    ada.call("get", "/api/auth/me", status=401)
    app.post_json("/api/auth/login", {"email": ada.address, "password": people.PASSWORD}, status=401)
    assert people.register(app, "Ada").id > ada.id


def test_browsers_are_named():
    agents = {
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox on Linux",
        "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0": "Edge on Windows",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1": "Safari on iOS",
    }
    assert {agent: label_of(agent) for agent in agents} == agents


@pytest.mark.parametrize(("name", "life"), [("confirm", timedelta(days=7)), ("reset", timedelta(minutes=60))])
def test_links_expire(app, person, mail, name, life):
    # C-MAIL-4
    sign_up(app, person)
    if name == "reset":
        forgot(app, person["email"])
    link = mail.link()
    app.get(link, status=200)
    [expires_at] = read(app, select(Link.expires_at).where(Link.purpose == name))
    assert abs(expires_at - now() - life) < timedelta(minutes=1)
    # At its end, and made before a clock was set back.
    for moved in (now(), now() + life + timedelta(minutes=1)):
        write(app, update(Link).values(expires_at=moved))
        app.get(link, status=410)


def test_registration_can_be_closed(app, person, monkeypatch):
    # C-ACC-2
    page = app.get(f"{HOME}/register")
    monkeypatch.setitem(app.registry.settings, "modhub_auth.registration", False)
    send(page, 403, **person)
    app.get(f"{HOME}/register", status=403)
    assert "register" not in app.get(f"{HOME}/login").text
    assert sign_up(app, person, 403)["error"] == "registration_closed"


def test_a_proposed_secret_expires(app, person, monkeypatch):
    """It is good for the period of its form and the next one."""
    register(app, person)
    page = app.get(f"{HOME}/authenticator")
    later = now() + timedelta(seconds=2 * totp.PROPOSAL_SECONDS)
    monkeypatch.setattr(totp, "now", lambda: later)
    code = pyotp.TOTP(page.html.select_one("#authenticator-secret").text).at(later)
    expired = send(page, 400, code=code, currentPassword=person["password"])
    assert messages_on(expired) == ["proposal_expired"]


def test_the_workshop_says_how_a_script_signs_in(app):
    ada = people.register(app, "Ada")
    script = ada.pages.get(f"/Modhub/mine/{ada.draft()['id']}?part=publish").html.find(id="script")
    assert script.find("a")["href"] == "/Modhub/account/publisher-key"
    assert "http://127.0.0.1:6543/api/auth/exchange" in script.text
