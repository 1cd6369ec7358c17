"""Blocked accounts: no sign-in, and existing sessions change nothing."""

import pytest
from sqlalchemy import select, update

from modhub.base.errors import ApiError
from modhub.web.request import Request
from modhub_auth import blocking
from modhub_auth.container import AuthServices
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import Account, ClientSession, Login, PageSession
from modhub_auth.services import lock_account
from modhub_auth.signin import sessions
from modhub_auth.signin.authentication import authenticate
from modhub_auth.signin.sessions import sign_in
from modhub_testing.pages import messages_on
from tests import people
from tests.people import add_authenticator, read, write

from .conftest import bearer, send

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
BLOCKED = {"error": "account_blocked", "message": "The operator of this service has blocked this account."}
ABSENT = 987654321


def set_blocked(app, account_id, *, blocked=True):
    with app.databases.write_session.begin() as session:
        account = lock_account(session, account_id)
        assert account is not None
        act = blocking.block_accounts if blocked else blocking.unblock_accounts
        return bool(act(session, [account]))


@pytest.fixture
def ada(app, person):
    """The session of a program that has signed in."""
    return app.post_json("/api/auth/register", person).json


def login(app, person, **more):
    return app.post_json("/api/auth/login", {**person, **more}, status="*")


def test_sign_in_is_refused_after_the_right_password_alone(app, person, ada):
    # C-ACC-20
    before = login(app, person, password="a wrong password")
    assert set_blocked(app, ada["accountId"])
    refused = login(app, person)
    assert (refused.status_int, refused.json) == (403, BLOCKED)
    for email in (person["email"], "nobody@example.org"):
        wrong = login(app, person, email=email, password="a wrong password")
        assert (wrong.status_int, wrong.body) == (401, before.body)
        assert {**wrong.headers, "X-Request-Id": ""} == {**before.headers, "X-Request-Id": ""}
    app.post_json("/api/auth/register", person, status=409)


def test_the_code_is_asked_for_first(app, person, ada):
    # C-ACC-20
    _, codes = add_authenticator(app, ada["accountId"])
    set_blocked(app, ada["accountId"])
    assert login(app, person).json["twoFactorRequired"] is True
    assert login(app, person, code="wrong").json["twoFactorRequired"] is True
    assert login(app, person, code=codes[0]).json == BLOCKED
    assert login(app, person, code=codes[0]).status_int == 401, "the code is used up"


def owner_calls(mod, note, image):
    here = f"/api/modhub/{mod}"
    return [
        ("PUT", here),
        ("DELETE", here),
        *(("POST", f"{here}/{name}") for name in ("code?name=a&version=1", "css", "images", "publish")),
        ("PUT", f"{here}/changelog/{note}"),
        ("DELETE", f"{here}/images/{image}"),
        ("PUT", f"{here}/vote"),
    ]


def filled_mod(person):
    """A published mod with its note and its image."""
    mod = person.publish(images=1)
    (image,) = [asset["url"] for asset in mod["assets"] if asset["kind"] == "image"]
    note = person.site.get(f"/api/modhub/{mod['id']}/changelog").json["notes"][0]["id"]
    return mod["id"], note, int(image.rpartition("/")[2])


def test_every_owner_call_is_refused_before_ownership(app):
    # C-OWN-13
    ada, eve = (people.register(app, name) for name in ("Ada", "Eve"))
    mine, hers = filled_mod(ada), filled_mod(eve)
    set_blocked(app, ada.id)
    places = (mine, hers, (mine[0], hers[1], hers[2]), (ABSENT, ABSENT, ABSENT), ("x", 0, 0))
    calls = [call for place in places for call in owner_calls(*place)]
    calls += [("POST", "/api/modhub"), ("GET", "/api/modhub/mine")]
    seen = set()
    for method, path in calls:
        for body in (b"", b'{"title": "Changed", "value": 1}'):
            if method in {"GET", "DELETE"} and body:
                continue
            answer = app.request(path, method=method, body=body, headers=ada.bearer, status="*")
            assert (answer.status_int, answer.json) == (403, BLOCKED), (method, path, body)
            kept = {name: value for name, value in answer.headers.items() if name != "X-Request-Id"}
            seen.add((answer.body, tuple(sorted(kept.items()))))
    assert len(seen) == 1, "the same answer to everything"
    ada.call("get", f"/api/modhub/{mine[0]}/vote", status=200)
    assert {mod["id"] for mod in app.get("/api/modhub").json["mods"]} == {mine[0], hers[0]}
    with app.counted() as statements:
        ada.call("put_json", f"/api/modhub/{mine[0]}", params={}, status=403)
    assert len(statements) == 1, "the token's login, which the call looks up anyway"
    set_blocked(app, ada.id, blocked=False)
    ada.call("put_json", f"/api/modhub/{mine[0]}", params={"title": "Changed"}, status=200)


def test_page_sessions_end_and_stay_ended(app, person, ada):
    # C-ACC-20
    send(app.get(f"{HOME}/login"), 303, **person)
    app.get(HOME, status=200)
    set_blocked(app, ada["accountId"])
    assert app.get(HOME, status=303).headers["Location"].startswith(f"{HOME}/login")
    # Its access token reads the account until it expires.
    app.get("/api/auth/me", headers=bearer(ada), status=200)
    set_blocked(app, ada["accountId"], blocked=False)
    app.get(HOME, status=303)
    app.post_json("/api/auth/refresh", {"refreshToken": ada["refreshToken"]}, status=401)


def test_a_session_that_is_there_all_the_same_opens_nothing(app, person, ada):
    """As after a block by SQL alone."""
    send(app.get(f"{HOME}/login"), 303, **person)
    write(app, update(Account).values(blocked_at=Account.created_at))
    for path in (HOME, "/Modhub/mine", f"/Modhub/mine/{ABSENT}"):
        assert app.get(path, status=303).headers["Location"].startswith(f"{HOME}/login")
    assert messages_on(send(app.get(f"{HOME}/login"), 403, **person)) == ["account_blocked"]
    app.post_json("/api/auth/refresh", {"refreshToken": ada["refreshToken"]}, status=401)


def test_an_account_blocked_after_the_check_is_rejected(app, person, ada):
    own = app.find_service(AuthServices)
    request = Request.blank("/", environ={"REMOTE_ADDR": "192.0.2.1"})
    request.registry = app.registry
    checked = authenticate(request, person["email"], person["password"], "")
    set_blocked(app, ada["accountId"])
    with pytest.raises(ApiError) as caught, own.databases.write_session.begin() as session:
        sign_in(session, checked, "")
    assert caught.value.code == "account_blocked"
    with pytest.raises(ApiError) as caught, own.databases.write_session.begin() as session:
        sessions.begin_page_session(
            session, lock_account(session, ada["accountId"]), session.get(Login, checked.login_id), ""
        )
    assert caught.value.code == "account_blocked"
    assert read(own, select(ClientSession)) == read(own, select(PageSession)) == []


def test_the_commands_say_what_they_do(app, person, ada, run, caplog):
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
