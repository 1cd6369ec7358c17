"""Signing in on the page asks for the authenticator's code only after the password was right."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from modhub.db import now
from modhub_auth import tokens
from modhub_auth.models import Login
from tests.people import add_authenticator, write

from .conftest import log_in, send, sign_in, sign_up, token_of

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
LOGIN = f"{HOME}/login"


def registered(app, person):
    """Register with an authenticator; the recovery codes."""
    return add_authenticator(app, sign_up(app, person)["accountId"])[1]


def signed_in(app):
    return bool(app.get("/Modhub/account", expect_errors=True).status_int == 200)


def password_step(app, person, **more):
    return send(app.get(LOGIN, more), 401, **person)


def test_the_code_is_a_second_step_with_nothing_secret_in_it(app, person):
    # C-PAGE-28
    codes = registered(app, person)
    page = password_step(app, person, next="/Modhub/mine?x=1")
    assert not signed_in(app)
    assert page.html.find(id="errors") is None
    hidden = {field["name"] for field in page.html.select("main input[type=hidden]")}
    assert hidden == {"csrf_token", "next"}
    assert person["email"] not in page.text
    assert person["password"] not in page.text
    answer = send(page, 303, code=f" {codes[0]} ")
    assert answer.headers["Location"] == "/Modhub/mine?x=1"
    assert signed_in(app)


def test_over_https_every_cookie_is_bound_to_this_host(auth, person):
    # C-SEC-1, T-H6
    app = auth(modhub__base_url="https://mods.example.org")
    app.extra_environ = {"wsgi.url_scheme": "https", "HTTP_HOST": "localhost:443"}
    codes = registered(app, person)
    pages = [app.get(LOGIN)]
    pages.append(send(pages[0], 401, **person))
    assert "__Host-modhub-sign-in" in app.cookies
    pages.append(send(pages[1], 303, code=codes[0]))
    assert "__Host-modhub-sign-in" not in app.cookies
    assert signed_in(app)
    token = token_of(app)
    own = [app.post(f"{HOME}/{address}", {"csrf_token": token}, status=303) for address in ("hide-notice", "logout")]
    cookies = [cookie for page in (*pages, *own) for cookie in page.headers.getall("Set-Cookie")]
    names = {cookie.partition("=")[0] for cookie in cookies}
    assert names == {f"__Host-modhub{name}" for name in ("", "-form", "-sign-in", "-notice-hidden")}
    for cookie in cookies:
        assert {"secure", "httponly", "samesite=lax", "path=/"} <= set(cookie.lower().split("; ")), cookie
        assert "domain=" not in cookie.lower()
    (session,) = (cookie for cookie in pages[-1].headers.getall("Set-Cookie") if cookie.startswith("__Host-modhub="))
    assert "Max-Age" not in session, "it ends with the browser"
    assert not signed_in(app)


def test_wrong_passwords_look_the_same_with_and_without_an_authenticator(app, person):
    # C-PAGE-28, T-C6
    registered(app, person)
    other, nobody = {**person, "email": "eve@example.org"}, {**person, "email": "nobody@example.org"}
    sign_up(app, other)
    pages = set()
    for credentials in (person, other, nobody):
        page = sign_in(app, {**credentials, "password": "not the password"}, 401)
        assert "modhub-sign-in" not in str(page.headers.getall("Set-Cookie"))
        assert "not the password" not in page
        pages.add(page.text.replace(credentials["email"], ""))
    assert len(pages) == 1


def test_wrong_codes_count_as_failures(auth, person):
    # C-PAGE-28, C-LIM-1, C-LIM-3: a missing code is no failure
    app = auth(modhub_auth__failures="2")
    codes = registered(app, person)
    page = send(password_step(app, person), 401, code="")
    for _ in range(2):
        page = send(page, 401, code="000000")
        assert "wrong" in page.html.find(id="code-error").text
    send(page, 429, code=codes[0])
    log_in(app, person, 429, code=codes[0])


def test_the_first_step_expires(app, person, monkeypatch):
    # C-PAGE-28
    codes = registered(app, person)
    for minutes in (11, -1):
        page = password_step(app, person)
        with monkeypatch.context() as patch:
            patch.setattr(tokens, "now", lambda minutes=minutes: now() + timedelta(minutes=minutes))
            again = send(page, 403, code=codes[0])
        assert "expired" in again.html.find(id="errors").text
        assert again.html.find(id="password") is not None
    assert not signed_in(app)


def test_the_first_step_ends_with_its_password_and_its_browser(app, person):
    # C-PAGE-28
    codes = registered(app, person)
    password_step(app, person)
    stolen = app.cookies["modhub-sign-in"]
    app.reset()
    token = token_of(app)
    for cookie in (stolen, "nonsense"):
        app.set_cookie("modhub-sign-in", cookie)
        app.post(LOGIN, {"code": codes[0], "csrf_token": token}, status=403)
    app.reset()
    page = password_step(app, person)
    write(app, update(Login).values(password_hash="another"))
    send(page, 403, code=codes[0])
