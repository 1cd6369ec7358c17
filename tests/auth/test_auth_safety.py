"""Account forms that are cross-site, repeated or incomplete."""

import pytest

from modhub_auth.models import OutgoingEmail

from .conftest import forgot, register, send, sign_up, token_of

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
OPEN = ("login", "register", "forgot", "reset", "confirm", "logout", "platform/steam")
OWN = (
    *("name", "sign-out", "unlink", "letter", "password", "authenticator", "recovery-codes", "delete"),
    "platform/steam/link",
    "device",
)


def test_no_form_takes_what_comes_from_elsewhere(auth, person):
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


def test_links_in_emails_do_not_leak(app, person, mail):
    # T-C8
    register(app, person)
    page = app.get(mail.link())
    pages = [page, page.forms[0].submit(status=200), app.get(mail.link(), status=410)]
    forgot(app, person["email"])
    page = app.get(mail.link())
    page.forms[0]["password"] = "short"
    pages += [page, page.forms[0].submit(status=400)]
    for answer in pages:
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"


def test_what_is_wrong_stands_beside_each_field_and_what_was_typed_stays(app):
    # C-PAGE-6
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


def test_a_lost_email_is_sent_again(app, person, mail):
    register(app, person)
    lost = mail.link()
    for sent in (2, 3, 4, 4):
        app.post(f"{HOME}/letter", {"csrf_token": token_of(app)}, status=303)
        assert app.count_rows(OutgoingEmail) == sent, "at most three an address and window"
    app.get(lost, status=410)
    app.get(mail.link()).forms[0].submit(status=200)


@pytest.mark.parametrize("name", ["login", "register"])
def test_the_way_on_is_in_the_form_and_outlives_a_refusal(app, person, name):
    if name == "login":
        sign_up(app, person)
    page = app.get(f"{HOME}/{name}?next=/Modhub/mine")
    again = send(page, "4*", email=person["email"], password="x")
    assert send(again, 303, **person).headers["Location"] == "/Modhub/mine"
    # The field is not believed either.
    app.reset()
    evil = {"csrf_token": token_of(app), "next": "//evil.example.org", "email": "eve@example.org"}
    answer = app.post(f"{HOME}/register", {**evil, "password": person["password"]}, status=303)
    assert answer.headers["Location"] == HOME


HERE = "http://127.0.0.1:6543"
LOGIN = f"{HOME}/login"


def test_the_way_back_is_the_page_of_the_form(app):
    """Of one that was sent after the session has ended."""
    for path, referer, location in (
        ("/Modhub/mine/26/code", f"{HERE}/Modhub/mine/26?done=code", f"{LOGIN}?next=/Modhub/mine/26%3Fdone%3Dcode"),
        ("/Modhub/mine/26/code", "", f"{LOGIN}?next=/Modhub/mine/26/code"),
        ("/Modhub/mine/26/code", "https://evil.example/Modhub/mine/1", f"{LOGIN}?next=/Modhub/mine/26/code"),
        ("/Modhub/mine/26/code", f"{HERE}//evil.example", LOGIN),
        ("/Modhub/account/name", "", LOGIN),
        ("/Modhub/account/name", f"{HERE}.evil.example.org/x", LOGIN),
    ):
        answer = app.post(path, {}, headers={"Referer": referer} if referer else {}, status=303)
        assert answer.headers["Location"] == location
