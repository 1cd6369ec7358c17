"""Account forms that are cross-site, repeated or incomplete."""

from typing import Any

import pyotp
import pytest
from sqlalchemy import select

from modhub_auth.models import Authenticator, Login, OutgoingEmail, PageSession

from .conftest import register, send

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
OPEN = ("login", "register", "forgot", "reset", "confirm", "logout", "platform/steam")
OWN = (
    *("name", "sign-out", "unlink", "letter", "password", "authenticator", "recovery-codes", "delete"),
    "platform/steam/link",
    "device",
)
Person = dict[str, str]


def token_of(app: Any) -> str:
    return str(app.get(f"{HOME}/logout").html.select_one("input[name=csrf_token]")["value"])


def count(app: Any, model: Any) -> int:
    with app.databases.readonly_session() as session:
        return len(session.scalars(select(model)).all())


def test_no_form_takes_what_comes_from_elsewhere(auth: Any, person: Person) -> None:
    # C-PAGE-4, C-PAGE-8, T-C12
    app = auth(modhub_auth__steam="true")
    register(app, person)
    token = token_of(app)
    for name in OPEN + OWN:
        address = f"{HOME}/{name}"
        for fields in ({}, {"csrf_token": ""}, {"csrf_token": "0" * 32}):
            assert app.post(address, fields, status=400).headers["Cache-Control"] == "no-store", name
        for origin in ("https://evil.example.org", "null", "http://127.0.0.1:6543.evil.example.org", ""):
            app.post(address, {"csrf_token": token}, headers={"Origin": origin}, status=403)
    assert app.get(HOME).status_int == 200, "nothing has happened"


def test_own_forms_are_for_those_who_are_signed_in(app: Any) -> None:
    token = token_of(app)
    for name in OWN:
        location = app.post(f"{HOME}/{name}", {"csrf_token": token}, status=303).headers["Location"]
        assert location.partition("?")[0] == f"{HOME}/login"


def test_a_browser_without_cookies_gets_a_page_that_says_so(app: Any, person: Person) -> None:
    token = token_of(app)
    app.reset()
    app.post(f"{HOME}/login", {**person, "csrf_token": token}, status=400)
    assert count(app, PageSession) == 0


def test_an_escaped_path_stays_on_this_site(app: Any, person: Person) -> None:
    app.post_json("/api/auth/register", person)
    answer = send(app.get(f"{HOME}/login?next=/%252f%252fevil.example.org"), 303, **person)
    assert answer.headers["Location"] == "/%2f%2fevil.example.org"
    app.get(answer.headers["Location"], status=404)


def test_links_in_emails_do_not_leak(app: Any, person: Person, mail: Any) -> None:
    # T-C8
    register(app, person)
    page = app.get(mail.link())
    pages = [
        page,
        page.forms[0].submit(status=200),
        app.get(mail.link(), status=410),
        app.get(f"{HOME}/reset", status=410),
    ]
    app.post_json("/api/auth/forgot", {"email": person["email"]})
    page = app.get(mail.link())
    page.forms[0]["password"] = "short"
    pages += [page, page.forms[0].submit(status=400)]
    for answer in pages:
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"


def test_an_authenticator_that_is_added_twice_is_not_removed(app: Any, person: Person) -> None:
    register(app, person)
    page = app.get(f"{HOME}/authenticator")
    code = pyotp.TOTP(page.html.select_one("#authenticator-secret").text).now()
    fields = {"code": code, "currentPassword": person["password"]}
    app.post(f"{HOME}/authenticator", {**fields, "csrf_token": token_of(app)}, status=200)
    again = app.post(f"{HOME}/authenticator", {**fields, "csrf_token": token_of(app)}, status=409)
    assert "already" in again.html.select_one("#errors").text
    assert count(app, Authenticator) == 1


def test_what_is_wrong_stands_beside_each_field_and_what_was_typed_stays(app: Any) -> None:
    answer = send(app.get(f"{HOME}/register"), 400, email="nobody", password="short", displayName="<b>Ada")
    assert 'value="&lt;b&gt;Ada"' in answer.text
    assert "short" not in answer.text
    html = answer.html
    assert html.select_one("#email")["value"] == "nobody"
    assert [link["href"] for link in html.select("#errors a")] == ["#email", "#password"]
    for name in ("email", "password"):
        field = html.select_one(f"#{name}")
        assert field["aria-invalid"] == "true"
        # In the order of reading.
        described = field["aria-describedby"].split()
        assert described == [text["id"] for text in field.find_next_siblings("p")]
        assert described[-1] == f"{name}-error"
    assert html.select_one("#displayName").get("aria-invalid") is None


def test_every_form_has_labels_and_is_never_stored_and_password_managers_know_its_fields(app: Any) -> None:
    # C-PAGE-6
    known = {
        "login": {"email": "username", "password": "current-password"},
        "register": {"email": "username", "password": "new-password", "displayName": "nickname"},
        "forgot": {"email": "username"},
        "logout": {},
    }
    for name, fields in known.items():
        page = app.get(f"{HOME}/{name}")
        assert page.headers["Cache-Control"] == "no-store"
        shown = page.html.select("form.sheet input:not([type=hidden])")
        assert {field["name"]: field["autocomplete"] for field in shown} == fields
        assert all(page.html.select_one(f"label[for={field['id']}]") for field in shown)
        assert len(page.html.select("h1")) == 1


def test_a_lost_email_is_sent_again(app: Any, person: Person, mail: Any) -> None:
    register(app, person)
    lost = mail.link()
    for sent in (2, 3, 4, 4):
        app.post(f"{HOME}/letter", {"csrf_token": token_of(app)}, status=303)
        assert count(app, OutgoingEmail) == sent, "at most three an address and window"
    app.get(lost, status=410)
    app.get(mail.link()).forms[0].submit(status=200)
    app.get(HOME, status=200)
    with app.databases.readonly_session() as session:
        assert session.scalars(select(Login)).one().verified


@pytest.mark.parametrize("name", ["login", "register"])
def test_the_way_on_is_in_the_form_and_outlives_a_refusal(app: Any, person: Person, name: str) -> None:
    if name == "login":
        app.post_json("/api/auth/register", person)
    page = app.get(f"{HOME}/{name}?next=/Modhub/mine")
    token = page.html.find("input", attrs={"name": "csrf_token"})["value"]
    fields = {"csrf_token": token, "next": page.html.find("input", attrs={"name": "next"})["value"]}
    again = app.post(f"{HOME}/{name}", {**fields, "email": person["email"], "password": "x"}, expect_errors=True)
    assert again.html.find("input", attrs={"name": "next"})["value"] == "/Modhub/mine"
    assert app.post(f"{HOME}/{name}", {**fields, **person}).headers["Location"] == "/Modhub/mine"
    for number, path in enumerate(("//evil.example.org", "/\\evil.example.org")):
        assert app.get(f"{HOME}/{name}", {"next": path}).html.find("input", attrs={"name": "next"}) is None
        token = app.get(f"{HOME}/login").html.find("input", attrs={"name": "csrf_token"})["value"]
        sent = {"csrf_token": token, "next": path, "email": f"{number}{name}@example.org"}
        answer = app.post(f"{HOME}/register", {**sent, "password": person["password"]}, status=303)
        assert answer.headers["Location"] == HOME
