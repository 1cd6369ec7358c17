"""Blocked accounts: no sign-in, and existing sessions change nothing."""

import pytest
from sqlalchemy import select, update

from modhub_auth import blocking
from modhub_auth.container import AuthServices
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import Account, ClientSession, PageSession
from modhub_auth.services import lock_account
from modhub_testing.pages import messages_on
from tests import people
from tests.people import add_authenticator, block, read, write

from .conftest import me, refresh, seen, sign_in, sign_up

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
BLOCKED = {"error": "account_blocked", "message": "The operator of this service has blocked this account."}
ABSENT = 987654321


def unblock(app, account_id):
    with app.databases.write_session.begin() as session:
        blocking.unblock_accounts(session, [lock_account(session, account_id)])


@pytest.fixture
def ada(app, person):
    """The session of a program that has signed in."""
    return sign_up(app, person)


def login(app, person, **more):
    return app.post_json("/api/auth/login", {**person, **more}, status="*")


def test_sign_in_is_refused_after_the_right_password_alone(app, person, ada):
    # C-ACC-20
    before = login(app, person, password="a wrong password")
    block(app, ada["accountId"])
    refused = login(app, person)
    assert (refused.status_int, refused.json) == (403, BLOCKED)
    for email in (person["email"], "nobody@example.org"):
        wrong = login(app, person, email=email, password="a wrong password")
        assert (wrong.status_int, wrong.body) == (401, before.body)
        assert {**wrong.headers, "X-Request-Id": ""} == {**before.headers, "X-Request-Id": ""}
    sign_up(app, person, 409)


def test_the_code_is_asked_for_first(app, person, ada):
    # C-ACC-20
    _, codes = add_authenticator(app, ada["accountId"])
    block(app, ada["accountId"])
    assert login(app, person).json["twoFactorRequired"] is True
    assert login(app, person, code="wrong").json["twoFactorRequired"] is True
    assert login(app, person, code=codes[0]).json == BLOCKED
    assert login(app, person, code=codes[0]).status_int == 401, "the code is used up"


OWNER_CALLS = [
    *(("PUT", f"/api/modhub/{{}}{rest}") for rest in ("", "/vote", "/changelog/1")),
    *(("DELETE", f"/api/modhub/{{}}{rest}") for rest in ("", "/images/1")),
    *(("POST", f"/api/modhub/{{}}/{name}") for name in ("code?name=a&version=1", "css", "images", "publish")),
]


def test_every_owner_call_is_refused_before_ownership(app):
    # C-OWN-13
    ada, eve = (people.register(app, name) for name in ("Ada", "Eve"))
    mine, hers = ada.publish()["id"], eve.publish()["id"]
    block(app, ada.id)
    calls = [(method, path.format(mod)) for method, path in OWNER_CALLS for mod in (mine, hers, ABSENT, "x")]
    calls += [("POST", "/api/modhub"), ("GET", "/api/modhub/mine")]
    answers = []
    for method, path in calls:
        for body in (b"",) if method in {"GET", "DELETE"} else (b"", b'{"title": "Changed", "value": 1}'):
            answers.append(app.request(path, method=method, body=body, headers=ada.bearer, status=403))
            assert answers[-1].json == BLOCKED, (method, path, body)
            assert seen(answers[-1]) == seen(answers[0]), (method, path, body)
    ada.call("get", f"/api/modhub/{mine}/vote", status=200)
    assert {mod["id"] for mod in app.get("/api/modhub").json["mods"]} == {mine, hers}
    with app.counted() as statements:
        ada.call("put_json", f"/api/modhub/{mine}", params={}, status=403)
    assert len(statements) == 1, "the token's login, which the call looks up anyway"
    unblock(app, ada.id)
    ada.call("put_json", f"/api/modhub/{mine}", params={"title": "Changed"}, status=200)


def test_page_sessions_end_and_stay_ended(app, person, ada):
    # C-ACC-20
    sign_in(app, person)
    app.get(HOME, status=200)
    block(app, ada["accountId"])
    assert app.get(HOME, status=303).headers["Location"].startswith(f"{HOME}/login")
    # Its access token reads the account until it expires.
    me(app, ada)
    unblock(app, ada["accountId"])
    app.get(HOME, status=303)
    refresh(app, ada, 401)


def test_a_session_that_is_there_all_the_same_opens_nothing(app, person, ada):
    """As after a block by SQL alone."""
    sign_in(app, person)
    write(app, update(Account).values(blocked_at=Account.created_at))
    for path in (HOME, "/Modhub/mine", f"/Modhub/mine/{ABSENT}"):
        assert app.get(path, status=303).headers["Location"].startswith(f"{HOME}/login")
    assert messages_on(sign_in(app, person, 403)) == ["account_blocked"]
    refresh(app, ada, 401)


def test_an_account_blocked_after_the_check_is_rejected(app, person, ada, monkeypatch):
    passwords = app.find_service(AuthServices).passwords
    verify = passwords.verify
    monkeypatch.setattr(passwords, "verify", lambda *given: block(app, ada["accountId"]) or verify(*given))
    assert login(app, person).json == BLOCKED
    unblock(app, ada["accountId"])
    assert messages_on(sign_in(app, person, 403)) == ["account_blocked"]
    assert read(app, select(ClientSession)) == read(app, select(PageSession)) == []


def test_the_commands_say_what_they_do(person, ada, run, caplog):
    # C-RUN-4
    number = str(ada["accountId"])

    def account(*words):
        code, output = run("account", *words)
        assert code == 0
        return str(output)

    caplog.set_level("INFO", logger="modhub.security")
    assert "is not blocked" in account("unblock", number)
    assert "is blocked and signed out everywhere" in account("block", " ADA@example.org")
    assert account("list").endswith(", blocked\n")
    assert "blocked already; the reason was replaced" in account("block", number, "--reason", f"spam\n{'x' * 300}")
    assert f"Z: spam {'x' * 195}\n" in account("show", number)
    account("block", number)
    assert "spam" in account("show", number), "the reason stays"
    assert "is no longer blocked" in account("unblock", person["email"])
    assert "blocked" not in account("show", number) + account("list")
    account("block", number)
    assert "spam" not in account("show", number), "an old reason does not return"
    events = [record.message.split('"')[3] for record in caplog.records if record.name == "modhub.security"]
    assert events == ["account blocked", "account unblocked", "account blocked"]


def test_a_lost_authenticator_is_removed_and_reported(app, person, ada, run, mail):
    # C-RUN-4
    number = str(ada["accountId"])
    assert run("account", "remove-factor", number) == (0, f"Account {number} has no authenticator.\n")
    run("account", "confirm", number)
    add_authenticator(app, ada["accountId"])
    assert "would be removed.\nNothing was changed." in run("account", "remove-factor", number, "--dry-run")[1]
    assert login(app, person).status_int == 401
    assert "are removed" in run("account", "remove-factor", person["email"])[1]
    assert login(app, person).status_int == 200
    assert [message["Subject"] for message in mail.read()][-1] == EMAIL_TEMPLATES["factor removed"].subject
