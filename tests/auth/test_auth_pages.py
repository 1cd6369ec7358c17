"""Account pages."""

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pyotp
import pytest
from sqlalchemy import select, update

from modhub.catalogue.moderating import hiding
from modhub.db import now
from modhub.plugins.events import AccountDeleted
from modhub_auth.container import AuthServices
from modhub_auth.mail import link_tokens
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import Account, ClientSession, Link, Login, PageSession
from modhub_auth.signin import totp
from modhub_auth.signin.session_cookies import safe_next
from modhub_testing.pages import messages_on

pytestmark = pytest.mark.slow

Person = dict[str, str]
HOME = "/Modhub/account"
HERE = "http://127.0.0.1:6543"


def send(page: Any, status: int | None = None, headers: dict[str, str] | None = None, **fields: str) -> Any:
    """Fill the page's form in and send it."""
    form = next(form for form in page.forms.values() if form.method.upper() == "POST")
    for name, value in fields.items():
        form[name] = value
    return form.submit(status=status, headers=headers, expect_errors=status is None)


def register(app: Any, person: Person) -> Any:
    return send(app.get(f"{HOME}/register"), 303, **person)


def login(app: Any, person: Person, **more: str) -> Any:
    return send(app.get(f"{HOME}/login"), None, **person, **more)


def sessions(app: Any) -> list[PageSession]:
    with app.databases.readonly_session() as session:
        return list(session.scalars(select(PageSession)).all())


def signed_in(app: Any) -> bool:
    return bool(app.get(HOME, expect_errors=True).status_int == 200)


def test_registering_signs_in(app: Any, person: Person, mail: Any) -> None:
    # C-PAGE-6
    answer = register(app, {**person, "displayName": "Ada"})
    assert answer.headers["Location"] == HOME
    assert "Ada" in app.get(HOME).text
    assert len(mail.read()) == 1
    assert app.post_json("/api/auth/login", person).json["displayName"] == "Ada"


def test_the_cookie(app: Any, auth: Any, person: Person) -> None:
    # T-H6
    cookie = next(value for value in register(app, person).headers.getall("Set-Cookie") if value.startswith("modhub="))
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Max-Age" not in cookie
    assert "Domain" not in cookie
    secret = cookie.partition("=")[2].partition(";")[0]
    assert len(secret) == 64
    assert secret not in {page_session.secret_hash for page_session in sessions(app)}
    app = auth(modhub__base_url="https://mods.example.org")
    app.extra_environ = {"wsgi.url_scheme": "https", "HTTP_HOST": "localhost:443"}
    answer = register(app, {**person, "email": "eve@example.org"})
    cookie = next(value for value in answer.headers.getall("Set-Cookie") if value.startswith("__Host-modhub="))
    assert "secure" in cookie.lower().split("; ")


def test_signing_in_and_out(app: Any, person: Person) -> None:
    # T-H5
    app.post_json("/api/auth/register", person)
    assert not signed_in(app)
    assert login(app, person).status_int == 303
    page = app.get(HOME)
    assert page.headers["Cache-Control"] == "no-store"
    held = app.cookies["modhub"]
    answer = send(app.get(f"{HOME}/logout"), 303)
    assert answer.headers["Clear-Site-Data"] == '"cache", "cookies", "storage"'
    assert not signed_in(app)
    app.set_cookie("modhub", held)
    assert not signed_in(app)
    assert sessions(app) == []


def test_a_page_that_needs_an_account_leads_to_the_sign_in_page(app: Any, person: Person) -> None:
    # C-PAGE-7
    app.post_json("/api/auth/register", person)
    answer = app.get(f"{HOME}/password?x=1", status=303)
    assert answer.headers["Location"] == "/Modhub/account/login?next=/Modhub/account/password%3Fx%3D1"
    page = app.get(answer.headers["Location"])
    assert send(page, 303, **person).headers["Location"] == "/Modhub/account/password?x=1"


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example.org",
        "/\\evil.example.org",
        "https://evil.example.org",
        "evil.example.org",
        "javascript:alert(1)",
        "/a\r\nSet-Cookie: x=y",
        "/\tevil",
        "/a b",
        "/é",
        "",
        "/" + "x" * 3000,
    ],
)
def test_next_leads_nowhere_else(app: Any, person: Person, path: str) -> None:
    # C-PAGE-7, T-C14
    assert safe_next(path) is None
    app.post_json("/api/auth/register", person)
    page = app.get(f"{HOME}/login", {"next": path})
    assert send(page, 303, **person).headers["Location"] == HOME


@pytest.mark.parametrize("path", ["/", "/Modhub/12", "/Modhub?q=%20x&page=2", "/Modhub/mine/3#x"])
def test_next_leads_to_our_own_pages(path: str) -> None:
    assert safe_next(path) == path


def test_wrong_sign_ins_are_one_page(app: Any, person: Person) -> None:
    app.post_json("/api/auth/register", person)
    texts = set()
    for credentials in ({**person, "password": "wrong horse battery"}, {**person, "email": "eve@example.org"}):
        answer = login(app, credentials)
        assert answer.status_int == 401
        assert 'value="wrong' not in answer.text
        texts.add(answer.text.replace(credentials["email"], ""))
    assert len(texts) == 1
    assert not signed_in(app)


def test_what_was_typed_stays(app: Any, person: Person) -> None:
    answer = send(app.get(f"{HOME}/register"), 400, email="ada@example.org", password="short", displayName="<b>Ada")
    assert 'value="ada@example.org"' in answer.text
    assert 'value="&lt;b&gt;Ada"' in answer.text
    assert "short" not in answer.text
    assert 'aria-invalid="true"' in answer.text


@pytest.mark.parametrize("page", ["register", "login"])
def test_a_password_of_other_bytes_is_refused_and_not_mended(app: Any, person: Person, page: str) -> None:
    # Mended, another one would be kept than the one that was typed, and many others would be as good as it.
    token = app.get(f"{HOME}/{page}").forms[0]["csrf_token"].value
    typed = urlencode({"csrf_token": token, "email": person["email"]}) + "&password=" + "%ff" * 20
    assert messages_on(app.post(f"{HOME}/{page}", typed, status=400)) == ["invalid_input"]
    app.post_json("/api/auth/register", person, status=201)


def test_limits_hold_on_pages_too(auth: Any, person: Person) -> None:
    app = auth(modhub_auth__failures="2")
    for _ in range(2):
        assert login(app, {**person, "password": "wrong horse battery"}).status_int == 401
    answer = login(app, person)
    assert answer.status_int == 429
    assert int(answer.headers["Retry-After"]) >= 1
    assert app.post_json("/api/auth/login", person, expect_errors=True).status_int == 429


def test_registration_can_be_closed(auth: Any, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    app = auth()
    page = app.get(f"{HOME}/register")
    monkeypatch.setitem(app.registry.settings, "modhub_auth.registration", False)
    assert send(page, 403, **person).status_int == 403
    app.get(f"{HOME}/register", status=403)
    assert "register" not in app.get(f"{HOME}/login").text


def test_forms_need_their_token_and_our_origin(app: Any, person: Person) -> None:
    # C-PAGE-8, T-C12
    app.post_json("/api/auth/register", person)
    app.post(f"{HOME}/login", person, status=400)
    page = app.get(f"{HOME}/login")
    assert send(page, 403, {"Origin": "https://evil.example.org"}, **person).status_int == 403
    assert send(page, 303, {"Origin": HERE}, **person).status_int == 303


def test_the_token_changes_at_sign_in(app: Any, person: Person) -> None:
    app.post_json("/api/auth/register", person)
    page = app.get(f"{HOME}/login")
    assert send(page, 303, **person).status_int == 303
    assert send(page, 400, **person).status_int == 400


def test_the_session_changes_at_sign_in(app: Any, person: Person) -> None:
    # T-C12, T-H6
    app.post_json("/api/auth/register", person)
    app.set_cookie("modhub", "0" * 64)
    login(app, person)
    first = app.cookies["modhub"]
    assert first != "0" * 64
    login(app, person)
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
def test_sessions_end(app: Any, person: Person, values: dict[str, timedelta], alive: bool) -> None:
    # T-H6
    register(app, person)
    with app.databases.write_session.begin() as session:
        session.execute(update(PageSession).values({name: now() - ago for name, ago in values.items()}))
    assert signed_in(app) is alive


def test_use_is_noted(app: Any, person: Person) -> None:
    register(app, person)
    before = now() - timedelta(hours=1)
    with app.databases.write_session.begin() as session:
        session.execute(update(PageSession).values(used_at=before))
    app.get(HOME)
    assert sessions(app)[0].used_at > before


def test_programs_and_pages_do_not_mix(app: Any, person: Person) -> None:
    # C-HTTP-5, T-C12
    register(app, person)
    app.get("/api/auth/me", status=401)
    token = app.post_json("/api/auth/login", person).json["accessToken"]
    app.reset()
    app.get(HOME, headers={"Authorization": f"Bearer {token}"}, status=303)
    assert "Set-Cookie" not in app.post_json("/api/auth/login", person).headers


def test_a_second_factor_holds_on_pages(app: Any, person: Person) -> None:
    account_id = app.post_json("/api/auth/register", person).json["accountId"]
    own = app.find_service(AuthServices)
    with own.databases.write_session.begin() as session:
        secret = pyotp.random_base32()
        [code, *_] = totp.add_authenticator(session, own.secret_box, account_id, secret, pyotp.TOTP(secret).now())
    assert login(app, person).status_int == 401
    assert not signed_in(app)
    assert login(app, person, code=code).status_int == 303
    assert signed_in(app)


def test_resetting_a_password(app: Any, person: Person, mail: Any) -> None:
    # C-ACC-17, C-MAIL-4
    old = app.post_json("/api/auth/register", person).json
    login(app, person)
    other = app.get(f"{HOME}/forgot")
    assert messages_on(send(other, 200, email=" ADA@example.org")) == ["check_email"]
    page = app.get(mail.link())
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "no-store"
    assert send(page, 400, password="short").status_int == 400
    done = send(page, 200, password="another password")
    assert messages_on(done) == ["password_set"]
    # Its navigation is that of a visitor: this session has ended too.
    assert done.html.select(f"header nav a[href='{HOME}/login']")
    assert not signed_in(app)
    app.post_json("/api/auth/refresh", {"refreshToken": old["refreshToken"]}, status=401)
    app.post_json("/api/auth/login", person, status=401)
    token = app.post_json("/api/auth/login", {**person, "password": "another password"}).json["accessToken"]
    answer = app.get("/api/auth/me", headers={"Authorization": f"Bearer {token}"})
    assert answer.json["verified"] is True
    assert mail.read()[-1]["Subject"] == EMAIL_TEMPLATES["password changed"].subject
    assert send(page, 410, password="yet another password").status_int == 410


def test_a_reset_does_not_skip_the_second_factor(app: Any, person: Person, mail: Any) -> None:
    # T-C8
    account_id = app.post_json("/api/auth/register", person).json["accountId"]
    send(app.get(mail.link()), 200, password=person["password"])
    own = app.find_service(AuthServices)
    with own.databases.write_session.begin() as session:
        secret = pyotp.random_base32()
        totp.add_authenticator(session, own.secret_box, account_id, secret, pyotp.TOTP(secret).now())
    send(app.get(f"{HOME}/forgot"), 200, email=person["email"])
    send(app.get(mail.link()), 200, password="another password")
    answer = app.post_json("/api/auth/login", {**person, "password": "another password"}, status=401)
    assert answer.json["twoFactorRequired"] is True


def test_confirming_an_address(person: Person, mail: Any, app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(app.registry.settings, "modhub_auth.require_verified", True)
    app.post_json("/api/auth/register", person)
    app.post_json("/api/auth/login", person, status=403)
    link = mail.link()
    page = app.get(link)
    app.post_json("/api/auth/login", person, status=403)
    assert messages_on(send(page, 200, password=person["password"])) == ["address_confirmed"]
    app.post_json("/api/auth/login", person, status=200)
    app.get(link, status=410)
    assert send(page, 410).status_int == 410


def test_a_link_that_is_followed_twice_says_that_the_address_is_confirmed(app: Any, person: Person, mail: Any) -> None:
    send(app.get(f"{HOME}/register"), 303, **person)
    link = mail.link()
    dead = f"{HOME}/confirm?token=x"
    # Who is signed in asks for another link on the account's page.
    page = app.get(dead, status=410)
    assert person["email"] not in page
    assert [a["href"] for a in page.html.select("main a")] == [HOME]
    send(app.get(link), 200)
    page = app.get(link, status=410)
    assert messages_on(page) == ["dead_link"]
    assert person["email"] in page.html.main.text
    app.reset()
    assert person["email"] not in app.get(link, status=410)


@pytest.mark.parametrize("proof", ["confirm", "reset"])
def test_registering_a_strangers_address_gains_nothing(app: Any, person: Person, mail: Any, proof: str) -> None:
    made = app.post_json("/api/auth/register", person).json
    register_link = mail.link()
    own = app.find_service(AuthServices)
    with own.databases.write_session.begin() as session:
        secret = pyotp.random_base32()
        totp.add_authenticator(session, own.secret_box, made["accountId"], secret, pyotp.TOTP(secret).now())
        session.add(Login(account_id=made["accountId"], kind="Platform", subject="7", verified=True, created_at=now()))
    if proof == "reset":
        app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
        send(app.get(mail.link()), 200, password=person["password"])
    else:
        page = app.get(register_link).click("I did not create this account")
        send(page, 200, password=person["password"])
    app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}, status=401)
    app.post_json("/api/auth/login", person, status=200)
    with app.databases.readonly_session() as session:
        assert [login.kind for login in session.scalars(select(Login))] == ["Password"]


def test_a_second_proof_takes_nothing_away(app: Any, person: Person, mail: Any) -> None:
    app.post_json("/api/auth/register", person)
    send(app.get(mail.link()), 200, password=person["password"])
    made = app.post_json("/api/auth/login", person).json
    login(app, person)
    own = app.find_service(AuthServices)
    with own.databases.write_session.begin() as session:
        secret = pyotp.random_base32()
        totp.add_authenticator(session, own.secret_box, made["accountId"], secret, pyotp.TOTP(secret).now())
    app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
    send(app.get(mail.link()), 200, password=person["password"])
    app.post_json("/api/auth/login", person, status=401)
    app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}, status=401)
    assert sessions(app) == []


@pytest.mark.parametrize(
    "query", ["", "?token=", "?token=x", "?token=" + "0" * 64, "?token=%00%C3%A9", "?token=" + "x" * 5000]
)
@pytest.mark.parametrize("name", ["reset", "confirm"])
def test_dead_links_are_410(app: Any, name: str, query: str) -> None:
    # C-PAGE-10
    app.get(f"{HOME}/{name}{query}", status=410)


def test_a_link_is_for_one_purpose(app: Any, person: Person, mail: Any) -> None:
    # T-C8
    app.post_json("/api/auth/register", person)
    confirm = mail.secret()
    app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
    reset = mail.secret()
    app.get(f"{HOME}/reset?token={confirm}", status=410)
    app.get(f"{HOME}/confirm?token={reset}", status=410)


def test_an_older_link_dies_with_a_newer(app: Any, person: Person, mail: Any) -> None:
    # T-C8
    app.post_json("/api/auth/register", person)
    app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
    first = mail.link()
    app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
    newer = mail.link()
    app.get(first, status=410)
    app.get(newer, status=200)


def test_deleted_accounts_have_no_session(app: Any, person: Person) -> None:
    register(app, person)
    with app.databases.write_session.begin() as session:
        session.delete(session.scalars(select(Account)).one())
    assert not signed_in(app)


@pytest.mark.parametrize("name", ["login", "register", "forgot", "logout"])
def test_every_form_has_labels_and_is_never_stored(app: Any, name: str) -> None:
    # C-PAGE-6
    page = app.get(f"{HOME}/{name}")
    assert page.headers["Cache-Control"] == "no-store"
    for field in page.html.select("form.sheet input:not([type=hidden])"):
        assert page.html.select_one(f"label[for={field['id']}]") is not None
    assert page.html.select_one("form.sheet input[name=csrf_token]") is not None
    assert len(page.html.select("h1")) == 1


def test_the_name(app: Any, person: Person) -> None:
    register(app, person)
    page = app.get(HOME)
    form = next(form for form in page.forms.values() if form.action.endswith("/name"))
    form["displayName"] = " Ada\u202e Lovelace "
    form.submit(status=303)
    assert 'value="Ada Lovelace"' in app.get(HOME).text
    assert app.post_json("/api/auth/login", person).json["displayName"] == "Ada Lovelace"


def test_changing_the_password(app: Any, person: Person, mail: Any) -> None:
    # C-MAIL-4, C-PAGE-10
    register(app, person)
    send(app.get(mail.link()), 200)
    login(app, person)
    send(app.get(f"{HOME}/forgot"), 200, email=person["email"])
    reset = mail.link()
    program = app.post_json("/api/auth/login", person).json
    held = app.cookies["modhub"]
    page = app.get(f"{HOME}/password")
    assert send(page, 403, currentPassword="wrong horse battery", password="another password").status_int == 403
    assert send(page, 400, currentPassword=person["password"], password="short").status_int == 400
    assert send(page, 303, currentPassword=person["password"], password="another password").status_int == 303
    assert signed_in(app)
    assert app.cookies["modhub"] != held
    app.post_json("/api/auth/login", person, status=401)
    app.post_json("/api/auth/login", {**person, "password": "another password"}, status=200)
    app.get(reset, status=410)
    app.post_json("/api/auth/refresh", {"refreshToken": program["refreshToken"]}, status=200)
    assert mail.read()[-1]["Subject"] == EMAIL_TEMPLATES["password changed"].subject
    app.set_cookie("modhub", held)
    assert not signed_in(app)


def test_guessing_the_current_password_is_limited(auth: Any, person: Person) -> None:
    app = auth(modhub_auth__failures="2")
    register(app, person)
    page = app.get(f"{HOME}/password")
    passwords = {"currentPassword": "wrong horse battery", "password": "another password"}
    assert [send(page, **passwords).status_int for _ in range(3)] == [403, 403, 429]


def test_password_managers_find_the_page(app: Any) -> None:
    # C-PAGE-4
    assert app.get("/.well-known/change-password", status=303).headers["Location"] == f"{HOME}/password"


def test_adding_and_removing_an_authenticator(app: Any, person: Person) -> None:
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
    assert app.get(f"{HOME}/authenticator").html.select_one("#authenticator-secret") is None
    app.post_json("/api/auth/login", person, status=401)
    app.post_json("/api/auth/login", {**person, "code": codes[0]}, status=200)
    page = app.get(f"{HOME}/authenticator")
    assert send(page, 403, currentPassword="wrong horse battery").status_int == 403
    assert send(page, 303, currentPassword=person["password"]).status_int == 303
    app.post_json("/api/auth/login", person, status=200)
    assert app.get(f"{HOME}/authenticator").html.select_one("#authenticator-secret").text != secret


def test_recovery_codes_run_out_in_sight(app: Any, person: Person) -> None:
    register(app, person)
    page = app.get(f"{HOME}/authenticator")
    totp_now = pyotp.TOTP(page.html.select_one("#authenticator-secret").text).now()
    done = send(page, 200, code=totp_now, currentPassword=person["password"])
    codes = [code.text for code in done.html.select("#recovery-codes code")]

    def left() -> str:
        return str(app.get(HOME).html.select_one("#recovery-codes-left").text)

    assert left() == "10 recovery codes are left."
    for code in codes[:9]:
        app.post_json("/api/auth/login", {**person, "code": code}, status=200)
    assert left() == "1 recovery code is left."
    assert "no_recovery_codes" not in messages_on(app.get(HOME))
    app.post_json("/api/auth/login", {**person, "code": codes[9]}, status=200)
    assert left().startswith("No recovery codes are left. Create new ones")
    assert "no_recovery_codes" in messages_on(app.get(HOME))
    send(app.get(f"{HOME}/recovery-codes"), 200, currentPassword=person["password"])
    assert left() == "10 recovery codes are left."


def test_a_proposed_secret_outlives_a_wrong_code_and_expires(
    app: Any, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is good for the period of its form and the next one."""
    began = datetime.fromtimestamp(now().timestamp() // totp.PROPOSAL_SECONDS * totp.PROPOSAL_SECONDS, UTC)
    seconds = [totp.PROPOSAL_SECONDS - 1]
    monkeypatch.setattr(totp, "now", lambda: began + timedelta(seconds=seconds[0]))
    register(app, person)

    def shown(page: Any) -> str:
        return str(page.html.select_one("#authenticator-secret").text)

    def answer(page: Any, secret: str, status: int) -> Any:
        code = pyotp.TOTP(secret).at(began + timedelta(seconds=seconds[0]))
        return send(page, status, code=code, currentPassword=person["password"])

    page = app.get(f"{HOME}/authenticator")
    secret = shown(page)
    assert shown(app.get(f"{HOME}/authenticator")) == secret
    seconds[0] += totp.PROPOSAL_SECONDS
    assert shown(app.get(f"{HOME}/authenticator")) != secret
    wrong = send(page, 400, code="000000", currentPassword=person["password"])
    assert shown(wrong) == secret
    seconds[0] += 1
    expired = answer(wrong, secret, 400)
    assert messages_on(expired) == ["proposal_expired"]
    assert shown(expired) != secret
    assert answer(expired, secret, 400).html.select_one("#code-error") is not None
    seconds[0] += totp.PROPOSAL_SECONDS - 1
    assert answer(expired, shown(expired), 200).html.select_one("#recovery-codes") is not None


def test_a_proposed_secret_is_good_until_the_end_of_the_next_period(
    app: Any, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, began = register(app, person) and app.get(f"{HOME}/authenticator"), now()
    proposals = app.find_service(AuthServices).proposals
    period = proposals.period()
    monkeypatch.setattr(totp, "now", lambda: began + timedelta(seconds=totp.PROPOSAL_SECONDS))
    for sent, expected in (("", 1), (str(period), 0), (str(period + 1), 1), (str(period - 1), 1), ("x", 1), ("٣", 1)):
        assert proposals.period(sent) - period == expected
    for foreign in (str(period + 2), str(period - 1), "x"):
        page.forms[0]["period"] = foreign
        assert "has expired" in send(page, 400, code="000000", currentPassword=person["password"]).text


@pytest.mark.parametrize(
    ("model", "column", "label"),
    [
        (ClientSession, "expires_at", "laptop"),
        (PageSession, "used_at", "Old browser"),
        (PageSession, "created_at", "Old browser"),
    ],
)
def test_what_has_ended_by_itself_is_not_listed(app: Any, person: Person, model: Any, column: str, label: str) -> None:
    app.post_json("/api/auth/register", {**person, "client": "laptop"})
    for browser in ("Old browser", "New browser"):
        app.reset()
        send(app.get(f"{HOME}/login"), 303, headers={"User-Agent": browser}, **person)
    assert label in app.get(HOME).html.select_one("#signed-in").text
    with app.databases.write_session.begin() as session:
        session.execute(update(model).where(model.label == label).values({column: now() - timedelta(days=15)}))
    listed = app.get(HOME).html.select_one("#signed-in").text
    assert label not in listed
    assert "New browser" in listed


def test_clients_are_listed_and_signed_out(app: Any, person: Person) -> None:
    laptop = app.post_json("/api/auth/register", {**person, "client": "laptop"}).json
    phone = app.post_json("/api/auth/login", {**person, "client": "phone"}).json
    send(app.get(f"{HOME}/login"), 303, headers={"User-Agent": "Old browser"}, **person)
    app.reset()
    send(app.get(f"{HOME}/login"), 303, headers={"User-Agent": "New browser"}, **person)
    listed = app.get(HOME).html.select_one("#signed-in").text
    assert all(name in listed for name in ("laptop", "phone", "Old browser", "New browser"))

    def end(label: str) -> None:
        page = app.get(HOME)
        [button] = [candidate for candidate in page.html.select("#signed-in button") if candidate.text.endswith(label)]
        fields = {field["name"]: field["value"] for field in button.find_parent("form").select("input")}
        app.post(f"{HOME}/sign-out", fields, status=303)

    end("laptop")
    app.post_json("/api/auth/refresh", {"refreshToken": laptop["refreshToken"]}, status=401)
    end("Old browser")
    assert len(sessions(app)) == 1
    phone = app.post_json("/api/auth/refresh", {"refreshToken": phone["refreshToken"]}).json
    page = app.get(HOME)
    everywhere = next(
        form for form in page.forms.values() if form.action.endswith("/sign-out") and len(form.fields) <= 2
    )
    everywhere.submit(status=303)
    app.post_json("/api/auth/refresh", {"refreshToken": phone["refreshToken"]}, status=401)
    assert signed_in(app)


def test_nobody_ends_the_sessions_of_others(app: Any, person: Person) -> None:
    other = app.post_json("/api/auth/register", {**person, "email": "eve@example.org"}).json
    register(app, person)
    token = app.get(HOME).html.select_one("input[name=csrf_token]")["value"]
    for number in range(20):
        app.post(f"{HOME}/sign-out", {"csrf_token": token, "clientId": str(number)}, status=303)
    app.post_json("/api/auth/refresh", {"refreshToken": other["refreshToken"]}, status=200)


@pytest.mark.parametrize("named", ["abc", "-1", " 1", "1.0", "٣", "9" * 23, "0"])
@pytest.mark.parametrize("field", ["clientId", "sessionId"])
def test_an_id_that_cannot_be_read_ends_nothing(app: Any, person: Person, field: str, named: str) -> None:
    made = app.post_json("/api/auth/register", person).json
    send(app.get(f"{HOME}/login"), 303, **person)
    token = app.get(HOME).html.select_one("input[name=csrf_token]")["value"]
    app.post(f"{HOME}/sign-out", {"csrf_token": token, field: named}, status=303)
    assert len(sessions(app)) == 1
    app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}, status=200)


def test_mods_that_others_require_are_listed_before_the_account_is_deleted(app: Any, person: Person) -> None:
    register(app, person)

    def bearer(credentials: Person) -> dict[str, str]:
        return {"Authorization": f"Bearer {app.post_json('/api/auth/login', credentials).json['accessToken']}"}

    def made(headers: dict[str, str], title: str, *requires: str) -> Any:
        mod = app.post_json("/api/modhub", {"title": title, "requires": requires}, headers=headers, status=201).json
        app.post(f"/api/modhub/{mod['id']}/code?version=1", b"x", headers=headers, status=201)
        return mod

    def publish(headers: dict[str, str], mod: Any) -> None:
        app.post(f"/api/modhub/{mod['id']}/publish", headers=headers, status=200)

    own = bearer(person)
    stranger = {**person, "email": "other@example.org"}
    app.post_json("/api/auth/register", stranger)
    other = bearer(stranger)
    base, hidden = made(own, "Base"), made(own, "Hidden", "0" * 8 + "-0000-0000-0000-" + "0" * 12)
    for mod in (base, hidden):
        publish(own, mod)
    with app.databases.write_session.begin() as session:
        hiding.hide_mods(session, [hiding.find_mod(session, str(hidden["id"]))])
    # Of their own, and drafts of others, are none that would be left behind.
    publish(own, made(own, "Own", base["guid"]))
    draft = made(other, "Draft", base["guid"])
    publish(other, made(other, "One", base["guid"].upper()))

    def told() -> list[str]:
        return [item.text for item in app.get(f"{HOME}/delete").html.select("#mods li")]

    warning = "Base: 1 published mod of others requires it"
    assert told() == ["Own", "Hidden (hidden by the operator)", warning]
    publish(other, draft)
    assert told()[-1] == "Base: 2 published mods of others require it"


def test_deleting_the_account(app: Any, person: Person) -> None:
    # C-ACC-18, T-C2
    register(app, person)
    made = app.post_json("/api/auth/login", person).json
    bearer = {"Authorization": f"Bearer {made['accessToken']}"}
    app.post_json("/api/modhub", {"title": "The first mod"}, headers=bearer, status=201)
    with app.counted() as statements:
        page = app.get(f"{HOME}/delete")
    assert [
        statement for statement in statements if "core_mod.description" in statement or "core_asset" in statement
    ] == []
    assert "The first mod" in page.html.select_one("#mods").text
    assert send(page, 403, currentPassword="wrong horse battery").status_int == 403
    answer = send(page, 303, currentPassword=person["password"])
    assert answer.headers["Clear-Site-Data"]
    shown = answer.follow()
    assert "account_deleted" in messages_on(shown)
    assert shown.html.select_one("header").find("a", href=f"{HOME}/login")
    app.get("/api/auth/me", headers=bearer, status=401)
    app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}, status=401)
    app.post_json("/api/auth/login", person, status=401)
    assert not signed_in(app)
    assert app.post_json("/api/auth/register", person).json["accountId"] > made["accountId"]


@pytest.mark.parametrize(
    ("agent", "label"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iOS"),
        ("curl/8.0\t", "curl/8.0"),
        ("x" * 300, "x" * 80),
    ],
)
def test_browsers_are_named(app: Any, person: Person, agent: str, label: str) -> None:
    send(app.get(f"{HOME}/register"), 303, headers={"User-Agent": agent}, **person)
    assert sessions(app)[0].label == label


@pytest.mark.parametrize(("name", "life"), [("reset", timedelta(minutes=60)), ("confirm", timedelta(days=7))])
def test_links_expire(app: Any, person: Person, mail: Any, name: str, life: timedelta) -> None:
    # C-MAIL-4
    app.post_json("/api/auth/register", person)
    if name == "reset":
        app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
    link = mail.link()
    with app.databases.write_session.begin() as session:
        link_row = session.scalars(select(Link).where(Link.purpose == name)).one()
        assert abs(link_row.expires_at - now() - life) < timedelta(minutes=1)
    app.get(link, status=200)
    with app.databases.write_session.begin() as session:
        session.execute(update(Link).values(expires_at=now()))
    app.get(link, status=410)
    with app.databases.write_session.begin() as session:
        link_tokens.delete_expired_links(session)
        assert session.scalars(select(Link)).all() == []


def test_forgot_is_limited_on_pages_too(auth: Any) -> None:
    app = auth(modhub_auth__forgot_limit="1")
    assert send(app.get(f"{HOME}/forgot"), 200, email="ada@example.org").status_int == 200
    assert send(app.get(f"{HOME}/forgot"), 429, email="ada@example.org").status_int == 429
    app.post_json("/api/auth/forgot", {"email": "ada@example.org"}, status=429)


def test_the_workshop_says_how_a_script_signs_in(app: Any, person: Person) -> None:
    register(app, person)
    new = app.get("/Modhub/mine/new")
    form = next(form for form in new.forms.values() if form.action == "/Modhub/mine/new")
    form["title"] = "Scripted"
    page = form.submit(status=303, headers={"Origin": HERE}).follow()
    script = page.html.find(id="script")
    assert script.find("a")["href"] == "/Modhub/account/publisher-key"
    publish, exchange, calls = (lines.text for lines in script.find_all("pre", class_="lines"))
    assert f" mod {page.request.path.rpartition('/')[2]} mod.zip --version 1.0 --publish" in publish
    assert "api/auth/login" not in script.text
    assert '-H "Authorization: Bearer $TOKEN"' in calls
    german = app.get(page.request.path, headers={"Accept-Language": "de"}).html.find(id="script")
    assert german.find("p").text.startswith("Gib deinem Skript einen")
    # The lines in a shell whose curl prints its last arguments, and what the service answers.
    answer = app.post_json("/api/auth/login", person).text
    shell = f"""curl() {{ echo "$5 $6" >&2; echo "$ANSWER"; }}\n{exchange}\necho "$TOKEN\""""
    environ = {**os.environ, "ANSWER": answer, "MODHUB_API_KEY": "mhk_1"}
    ended = subprocess.run(["sh", "-c", shell], env=environ, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == json.loads(answer)["accessToken"]
    body, address = ended.stderr.split("\n")[0].rsplit(" ", 1)
    assert (json.loads(body), address) == (
        {"key": "mhk_1"},
        f"{app.registry.settings['modhub.base_url']}/api/auth/exchange",
    )


def test_an_account_is_deleted_in_one_transaction(app: Any, person: Person) -> None:
    # C-ACC-18
    register(app, person)
    made = app.post_json("/api/auth/login", person).json
    bearer = {"Authorization": f"Bearer {made['accessToken']}"}
    mod = app.post_json("/api/modhub", {"title": "The first mod"}, headers=bearer, status=201).json
    app.post(f"/api/modhub/{mod['id']}/code?version=1", b"code", headers=bearer, status=201)

    def fail(_event: AccountDeleted) -> None:
        raise RuntimeError("another feature cannot let go")

    app.registry.registerHandler(fail, (AccountDeleted,))
    page = app.get(f"{HOME}/delete")
    send(page, 500, currentPassword=person["password"])
    assert signed_in(app)
    (kept,) = app.get("/api/modhub/mine", headers=bearer).json["mods"]
    assert (kept["title"], len(kept["assets"])) == ("The first mod", 1)
    app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}, status=200)
    app.registry.unregisterHandler(fail, (AccountDeleted,))
    send(page, 303, currentPassword=person["password"])
    assert not signed_in(app)


def test_no_form_asks_for_a_new_password_twice(app: Any, person: Person, mail: Any) -> None:
    # C-PAGE-10
    def asked(address: str) -> list[str]:
        return [field["name"] for field in app.get(address).html.select("main input[type=password]")]

    assert asked(f"{HOME}/register") == ["password"]
    register(app, person)
    assert asked(f"{HOME}/password") == ["currentPassword", "password"]
    app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
    assert asked(mail.link()) == ["password"]
