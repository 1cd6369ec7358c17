"""Blocked accounts: no sign-in, and existing sessions change nothing."""

from typing import Any

import pyotp
import pytest
from sqlalchemy import select, update

from modhub.admin.program import Admin, build_admin_parser
from modhub.base.errors import ApiError
from modhub.base.settings import StartRefused
from modhub_auth import blocking
from modhub_auth.container import AuthServices
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import Account, ClientSession, Login, PageSession
from modhub_auth.services import lock_account
from modhub_auth.signin import page_sessions, totp
from modhub_auth.signin.authentication import Credentials, authenticate
from modhub_auth.signin.client_sessions import sign_in
from modhub_testing.pages import messages_on

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
BLOCKED = {"error": "account_blocked", "message": "The operator of this service has blocked this account."}
ABSENT = 987654321
Person = dict[str, str]


def bearer(made: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {made['accessToken']}"}


def set_blocked(app: Any, account_id: int, *, blocked: bool = True) -> bool:
    with app.databases.write_session.begin() as session:
        account = lock_account(session, account_id)
        assert account is not None
        act = blocking.block_accounts if blocked else blocking.unblock_accounts
        return bool(act(session, [account]))


@pytest.fixture
def ada(app: Any, person: Person) -> Any:
    """The session of a program that has signed in."""
    return app.post_json("/api/auth/register", person).json


def login(app: Any, person: Person, **more: str) -> Any:
    return app.post_json("/api/auth/login", {**person, **more}, status="*")


def add_factor(app: Any, account_id: int) -> tuple[str, list[str]]:
    secret, own = pyotp.random_base32(), app.find_service(AuthServices)
    with own.databases.write_session.begin() as session:
        return secret, totp.add_authenticator(session, own.secret_box, account_id, secret, pyotp.TOTP(secret).now())


def test_sign_in_is_refused_after_the_right_password_alone(app: Any, person: Person, ada: Any) -> None:
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


def test_a_wrong_password_costs_the_same_statements(app: Any, person: Person, ada: Any) -> None:
    seen = []
    for blocked in (False, True):
        set_blocked(app, ada["accountId"], blocked=blocked)
        with app.counted() as statements:
            login(app, person, password="a wrong password")
        seen.append(list(statements))
    assert seen[0] == seen[1]


def test_being_refused_is_no_failed_attempt(auth: Any, person: Person) -> None:
    app = auth(modhub_auth__failures="2")
    set_blocked(app, app.post_json("/api/auth/register", person).json["accountId"])
    assert [login(app, person).status_int for _ in range(4)] == [403] * 4


def test_the_code_is_asked_for_first(app: Any, person: Person, ada: Any) -> None:
    # C-ACC-20
    _, codes = add_factor(app, ada["accountId"])
    set_blocked(app, ada["accountId"])
    assert login(app, person).json["twoFactorRequired"] is True
    assert login(app, person, code="wrong").json["twoFactorRequired"] is True
    assert login(app, person, code=codes[0]).json == BLOCKED
    assert login(app, person, code=codes[0]).status_int == 401, "the code is used up"


def test_blocked_comes_before_unconfirmed(auth: Any, person: Person) -> None:
    app = auth(modhub_auth__require_verified="true")
    made = app.post_json("/api/auth/register", person).json
    assert login(app, person).json["error"] == "email_not_confirmed"
    set_blocked(app, made["accountId"])
    assert login(app, person).json == BLOCKED


def test_refresh_is_dead_and_the_token_reads_its_account_alone(app: Any, person: Person, ada: Any) -> None:
    # C-ACC-20
    set_blocked(app, ada["accountId"])
    dead = app.post_json("/api/auth/refresh", {"refreshToken": ada["refreshToken"]}, status=401)
    assert dead.json["error"] == "invalid_refresh_token"
    me = app.get("/api/auth/me", headers=bearer(ada), status=200).json
    assert me["accountId"] == ada["accountId"]
    app.get("/api/auth/me", status=401)


def owner_calls(mod: int | str, note: int, image: int) -> list[tuple[str, str]]:
    here = f"/api/modhub/{mod}"
    return [
        ("PUT", here),
        ("DELETE", here),
        *(("POST", f"{here}/{name}") for name in ("code", "css", "images", "publish", "code?name=a&version=1")),
        *((method, f"{here}/changelog/{note}") for method in ("PUT", "DELETE")),
        ("DELETE", f"{here}/images/{image}"),
        ("PUT", f"{here}/vote"),
    ]


def filled_mod(app: Any, made: Any) -> tuple[int, int, int]:
    """A published mod with its note and its image."""
    mod = app.post_json("/api/modhub", {"title": "A mod"}, headers=bearer(made)).json["id"]
    app.post(f"/api/modhub/{mod}/code?version=1&name=a.zip", b"code", headers=bearer(made))
    image = app.post(f"/api/modhub/{mod}/images", b"x", headers=bearer(made)).json["assets"][-1]["url"]
    app.post(f"/api/modhub/{mod}/publish", headers=bearer(made))
    note = app.get(f"/api/modhub/{mod}/changelog").json["notes"][0]["id"]
    return mod, note, int(image.rpartition("/")[2])


def test_every_owner_call_is_refused_before_ownership(app: Any, person: Person, ada: Any) -> None:
    # C-OWN-16
    eve = app.post_json("/api/auth/register", {**person, "email": "eve@example.org"}).json
    mine, hers = filled_mod(app, ada), filled_mod(app, eve)
    set_blocked(app, ada["accountId"])
    anonymous = app.put_json(f"/api/modhub/{mine[0]}", {}, status=401)
    assert anonymous.headers["WWW-Authenticate"] == 'Bearer realm="modhub"'
    places = (mine, hers, (mine[0], hers[1], hers[2]), (ABSENT, ABSENT, ABSENT), ("x", 0, 0))
    calls = [call for place in places for call in owner_calls(*place)]
    calls += [("POST", "/api/modhub"), ("GET", "/api/modhub/mine")]
    seen = set()
    for method, path in calls:
        for body in (b"", b"{", b'{"title": "Changed", "value": 1}'):
            if method in {"GET", "DELETE"} and body:
                continue
            answer = app.request(path, method=method, body=body, headers=bearer(ada), status="*")
            assert (answer.status_int, answer.json) == (403, BLOCKED), (method, path, body)
            kept = {name: value for name, value in answer.headers.items() if name != "X-Request-Id"}
            seen.add((answer.body, tuple(sorted(kept.items()))))
    assert len(seen) == 1, "the same answer to everything"
    app.post("/api/modhub/1/changelog", headers=bearer(ada), status=405)
    app.get(f"/api/modhub/{mine[0]}", status=200)
    app.get(f"/api/modhub/{mine[0]}/vote", headers=bearer(ada), status=200)
    assert {mod["id"] for mod in app.get("/api/modhub").json["mods"]} == {mine[0], hers[0]}
    set_blocked(app, ada["accountId"], blocked=False)
    app.put_json(f"/api/modhub/{mine[0]}", {"title": "Changed"}, headers=bearer(ada), status=200)


def test_it_costs_no_statement(app: Any, person: Person, ada: Any) -> None:
    mod, *_ = filled_mod(app, ada)
    with app.counted() as statements:
        app.get(f"/api/modhub/{mod}")
        app.get("/api/modhub")
    assert not any("auth_" in statement for statement in statements)
    set_blocked(app, ada["accountId"])
    with app.counted() as statements:
        app.put_json(f"/api/modhub/{mod}", {}, headers=bearer(ada), status=403)
    assert len(statements) == 1, "the token's login, which the call looks up anyway"


def browser_sign_in(app: Any, person: Person) -> Any:
    form = app.get(f"{HOME}/login").forms[0]
    form["email"], form["password"] = person["email"], person["password"]
    return form.submit(expect_errors=True)


def test_page_sessions_end_and_stay_ended(app: Any, person: Person, ada: Any) -> None:
    # C-ACC-20
    assert browser_sign_in(app, person).status_int == 303
    app.get(HOME, status=200)
    set_blocked(app, ada["accountId"])
    assert app.get(HOME, status=303).headers["Location"].startswith(f"{HOME}/login")
    refused = browser_sign_in(app, person)
    assert refused.status_int == 403
    assert BLOCKED["message"] in refused.html.select_one("#errors").text
    app.get(HOME, status=303)
    set_blocked(app, ada["accountId"], blocked=False)
    app.get(HOME, status=303)
    app.post_json("/api/auth/refresh", {"refreshToken": ada["refreshToken"]}, status=401)
    assert browser_sign_in(app, person).status_int == 303
    app.get(HOME, status=200)


def test_a_session_that_is_there_all_the_same_opens_nothing(app: Any, person: Person, ada: Any) -> None:
    """As after a block by SQL alone."""
    browser_sign_in(app, person)
    with app.databases.write_session.begin() as session:
        session.execute(update(Account).values(blocked_at=Account.created_at))
    for path in (HOME, "/Modhub/mine", f"/Modhub/mine/{ABSENT}"):
        assert app.get(path, status=303).headers["Location"].startswith(f"{HOME}/login")
    page = app.post(
        f"{HOME}/login",
        {**person, "csrf_token": app.get(f"{HOME}/login").forms[0]["csrf_token"].value},
        headers={"Accept-Language": "de"},
        status=403,
    )
    assert messages_on(page) == ["account_blocked"]
    app.post_json("/api/auth/refresh", {"refreshToken": ada["refreshToken"]}, status=401)


def test_reset_works_but_opens_nothing(app: Any, person: Person, ada: Any, mail: Any) -> None:
    set_blocked(app, ada["accountId"])
    app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
    form = app.get(mail.link()).forms[0]
    form["password"] = "another password"
    assert form.submit().status_int == 200
    assert login(app, person).status_int == 401
    assert login(app, person, password="another password").json == BLOCKED


def test_an_account_blocked_after_the_check_is_rejected(app: Any, person: Person, ada: Any) -> None:
    own = app.find_service(AuthServices)
    credentials = Credentials(person["email"], person["password"], "", "192.0.2.1")
    checked = authenticate(own, app.registry.settings, credentials)
    set_blocked(app, ada["accountId"])
    with pytest.raises(ApiError) as caught, own.databases.write_session.begin() as session:
        sign_in(session, checked, "")
    assert caught.value.code == "account_blocked"
    with pytest.raises(ApiError) as caught, own.databases.write_session.begin() as session:
        page_sessions.begin_page_session(
            session, lock_account(session, ada["accountId"]), session.get(Login, checked.login_id), ""
        )
    assert caught.value.code == "account_blocked"
    with own.databases.readonly_session() as session:
        assert session.scalars(select(ClientSession)).all() == session.scalars(select(PageSession)).all() == []


@pytest.fixture
def admin(app: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    """``admin("block", "7")``: its output; the exit code is 0."""

    def run(*words: str) -> str:
        capsys.readouterr()
        arguments = build_admin_parser(app.config).parse_args(["-c", "unused", "account", *words])
        assert arguments.run(Admin(app.config), arguments) == 0
        return capsys.readouterr().out

    return run


def test_the_commands_say_what_they_do(app: Any, person: Person, ada: Any, admin: Any) -> None:
    # C-RUN-10
    number = str(ada["accountId"])
    expected = f"Account {number} is blocked and signed out everywhere; its access tokens change nothing now.\n"
    assert admin("unblock", number) == f"Account {number} is not blocked.\n"
    assert admin("block", " ADA@example.org") == expected
    assert login(app, person).status_int == 403
    assert admin("list").endswith(", blocked\n")
    first = [line for line in admin("show", number).splitlines() if "blocked since" in line]
    assert len(first) == 1
    assert first[0].endswith("Z")
    output = admin("block", number, "--reason", f"spam\n{'x' * 300}")
    assert output == f"Account {number} was blocked already; the reason was replaced.\n"
    (since,) = (line for line in admin("show", number).splitlines() if "blocked since" in line)
    assert since == f"{first[0]}: spam {'x' * 195}"
    admin("block", number)
    assert "spam" in admin("show", number), "the reason stays"
    assert admin("unblock", person["email"]) == f"Account {number} is no longer blocked; its owner can sign in again.\n"
    assert "blocked" not in admin("show", number) + admin("list")
    assert login(app, person).status_int == 200
    admin("block", number)
    assert "spam" not in admin("show", number), "an old reason does not return"
    with pytest.raises(StartRefused, match="there is no account"):
        admin("remove-factor", "eve@example.org")


def test_the_journal_has_a_line_each(
    app: Any, person: Person, ada: Any, admin: Any, caplog: pytest.LogCaptureFixture
) -> None:
    number = ada["accountId"]
    add_factor(app, number)
    caplog.set_level("INFO", logger="modhub.security")
    admin("remove-factor", str(number))
    admin("block", str(number), "--reason", "a private reason")
    login(app, person)
    admin("unblock", str(number))
    admin("unblock", str(number))
    assert [record.message for record in caplog.records if record.name == "modhub.security"] == [
        f'{{"event": "{event}", "account": {number}}}'
        for event in ("authenticator removed", "account blocked", "sign-in refused: blocked", "account unblocked")
    ]


def test_a_lost_authenticator_is_removed_and_reported(
    app: Any, person: Person, ada: Any, admin: Any, mail: Any
) -> None:
    # C-RUN-10
    number = str(ada["accountId"])
    assert admin("remove-factor", number) == f"Account {number} has no authenticator.\n"
    admin("confirm", number)
    _, codes = add_factor(app, ada["accountId"])
    assert login(app, person).status_int == 401
    rehearsed = (
        f"The authenticator of account {number} and its recovery codes would be removed.\nNothing was changed.\n"
    )
    assert admin("remove-factor", number, "--dry-run") == rehearsed
    assert login(app, person).status_int == 401
    expected = f"The authenticator of account {number} and its recovery codes are removed.\n"
    assert admin("remove-factor", person["email"]) == expected
    assert login(app, person).status_int == 200
    assert [message["Subject"] for message in mail.read()][-1] == EMAIL_TEMPLATES["factor removed"].subject
    assert admin("remove-factor", number) == f"Account {number} has no authenticator.\n"
    _, fresh = add_factor(app, ada["accountId"])
    assert login(app, person, code=codes[0]).status_int == 401, "an old recovery code does not return"
    assert login(app, person, code=fresh[0]).status_int == 200
