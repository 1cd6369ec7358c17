"""Accounts over REST."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import delete, insert, select, update

from modhub.db import now
from modhub_auth.container import AuthServices
from modhub_auth.models import Account, ClientSession, Login
from modhub_auth.tokens import AccessTokens
from tests.people import read, write

from .conftest import seen

SESSION = {"accessToken", "expiresInSeconds", "refreshToken", "accountId", "displayName"}


def me(app, token, status=200):
    return app.get("/api/auth/me", headers={"Authorization": f"Bearer {token}"}, status=status)


def test_registering_signs_in_at_once(app, person):
    # C-ACC-1, C-ACC-2, C-ACC-13
    answer = app.post_json("/api/auth/register", person, status=201)
    assert set(answer.json) == SESSION
    again = app.post_json("/api/auth/login", person)
    for signed_in in (answer, again):
        assert signed_in.headers["Cache-Control"] == "no-store"
        assert "Set-Cookie" not in signed_in.headers
    assert me(app, answer.json["accessToken"]).json == {
        "accountId": answer.json["accountId"],
        "kind": "Password",
        "subject": "ada@example.org",
        "displayName": answer.json["displayName"],
        "verified": False,
    }


@pytest.mark.postgres
def test_names_are_cleaned_and_cut(app, person):
    # C-ACC-2
    registration = {**person, "displayName": "  Ada\n\u202eLovelace " + "x" * 100, "client": "\tlaptop\0" + "y" * 5_000}
    answer = app.post_json("/api/auth/register", registration)
    assert answer.json["displayName"] == ("Ada Lovelace " + "x" * 100)[:80]
    assert read(app, select(ClientSession.label)) == [("laptop" + "y" * 100)[:80]]
    other = {**person, "email": "eve@example.org", "displayName": " \u200b "}
    answer = app.post_json("/api/auth/register", other)
    assert answer.json["displayName"] == f"Modder {answer.json['accountId']}"


def test_a_password_is_never_trimmed(app, person):
    # C-ACC-5
    app.post_json("/api/auth/register", {**person, "password": "  ten e\u0301 ten "})
    app.post_json("/api/auth/login", {**person, "password": "  ten é ten "})
    app.post_json("/api/auth/login", {**person, "password": "ten é ten"}, status=401)


def test_a_wrong_address_and_a_wrong_password_are_one_answer(app, person):
    # C-ACC-7, T-C5
    made = app.post_json("/api/auth/register", person).json
    wrong = app.post_json("/api/auth/login", {**person, "password": "wrong horse battery"}, status=401)
    assert wrong.json["error"] == "invalid_credentials"
    assert "twoFactorRequired" not in wrong.json
    assert wrong.headers["WWW-Authenticate"] == 'Bearer realm="modhub"'
    others = [
        {**person, "email": "eve@example.org"},
        {**person, "email": "no address"},
        {**person, "email": ""},
        {**person, "password": ""},
        {**person, "password": "x" * 2000},
        {**person, "password": person["password"] + "\0"},
    ]
    for credentials in others:
        assert seen(app.post_json("/api/auth/login", credentials, status=401)) == seen(wrong)
    write(app, update(Login).where(Login.account_id == made["accountId"]).values(password_hash=None))
    assert seen(app.post_json("/api/auth/login", person, status=401)) == seen(wrong)


def test_every_refused_sign_in_verifies_one_hash(app, person, monkeypatch):
    # C-ACC-7, T-C5
    app.post_json("/api/auth/register", person)
    passwords = app.find_service(AuthServices).passwords
    hashed = []
    matches = passwords._matches

    def spy(stored_hash, password):
        hashed.append(stored_hash)
        return matches(stored_hash, password)

    monkeypatch.setattr(passwords, "_matches", spy)
    for email in ["ada@example.org", "eve@example.org", "no address"]:
        app.post_json("/api/auth/login", {"email": email, "password": "wrong horse battery"}, status=401)
    known, unknown, malformed = hashed
    assert known != unknown == malformed


def test_a_confirmed_address_can_be_asked_for(auth, person):
    # C-ACC-11
    app = auth(modhub_auth__failures="2", modhub_auth__require_verified="true")
    app.post_json("/api/auth/register", person, status=201)
    for _ in range(3):  # which is no failure
        assert app.post_json("/api/auth/login", person, status=403).json["error"] == "email_not_confirmed"
    app.post_json("/api/auth/login", {**person, "password": "wrong horse battery"}, status=401)
    write(app, update(Login).values(verified=True))
    assert me(app, app.post_json("/api/auth/login", person).json["accessToken"]).json["verified"] is True


def test_me_needs_a_token(app, person):
    # C-TOK-2, T-C10
    made = app.post_json("/api/auth/register", person).json
    token = made["accessToken"]
    foreign = AccessTokens(["the secret of another deployment, long enough"]).make(1, "0" * 32, now())
    unknown = app.find_service(AuthServices).access_tokens.make(2**63 - 1, "0" * 32, now())
    for invalid in (foreign, unknown, "é", made["refreshToken"]):
        answer = me(app, invalid, 401)
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="modhub", error="invalid_token"'
    # Without a bearer token none can be invalid (RFC 6750, 3.1).
    answer = app.get("/api/auth/me", headers={"Authorization": f"Basic {token}"}, status=401)
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="modhub"'
    assert app.get("/api/auth/me", headers={"Authorization": f"BEARER  {token}"}).json["accountId"]


def test_a_token_does_not_name_a_later_login_with_the_same_number(app, person):
    """A database that lost its newest rows may give their numbers out again."""
    # C-TOK-8
    lost = app.post_json("/api/auth/register", person).json
    with app.databases.readonly_session() as session:
        account, login = session.scalars(select(Account)).one(), session.scalars(select(Login)).one()
    write(app, delete(Login))
    write(app, delete(Account))
    created_at = now()
    write(
        app,
        insert(Account).values(
            id=account.id, kind="Password", display_name="B", folded_name="b", created_at=created_at
        ),
    )
    same_number = {"id": login.id, "account_id": account.id, "kind": "Password", "platform": "", "verified": False}
    write(app, insert(Login).values(**same_number, subject="b@example.org", created_at=created_at))
    me(app, lost["accessToken"], 401)


def test_the_bearer_is_one_statement(app, person):
    """``me`` runs a second one, which reads the account's login."""
    token = app.post_json("/api/auth/register", person).json["accessToken"]
    with app.counted() as statements:
        me(app, token)
    assert len(statements) == 2


@pytest.mark.postgres
def test_a_refresh_token_works_once(app, person):
    # C-ACC-1, C-ACC-14, C-TOK-3
    made = app.post_json("/api/auth/register", {**person, "client": "laptop"}).json
    write(app, update(ClientSession).values(expires_at=now() + timedelta(days=1)))
    answer = app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]})
    assert set(answer.json) == SESSION
    assert answer.headers["Cache-Control"] == "no-store"
    me(app, answer.json["accessToken"])
    again = app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}, status=401)
    assert again.json["error"] == "invalid_refresh_token"
    assert again.headers["WWW-Authenticate"] == 'Bearer realm="modhub"'
    # A used token changes nothing else.
    third = app.post_json("/api/auth/refresh", {"refreshToken": answer.json["refreshToken"], "client": "phone"})
    assert third.json["refreshToken"] not in {made["refreshToken"], answer.json["refreshToken"]}
    [client] = read(app, select(ClientSession))
    assert client.label == "phone"
    assert timedelta(days=60, minutes=-1) < client.expires_at - now() <= timedelta(days=60)
    write(app, update(ClientSession).values(expires_at=now()))
    for token in (third.json["refreshToken"], "", "x", "é\0", "0" * 64, "0" * 5_000):
        app.post_json("/api/auth/refresh", {"refreshToken": token}, status=401)


def test_signing_out_ends_one_client_and_is_always_204(app, person):
    # C-ACC-16, C-TOK-1, T-C2
    first = app.post_json("/api/auth/register", person).json
    second = app.post_json("/api/auth/login", person).json
    answer = app.post_json("/api/auth/logout", {"refreshToken": first["refreshToken"]}, status=204)
    assert answer.body == b""
    app.post_json("/api/auth/refresh", {"refreshToken": first["refreshToken"]}, status=401)
    app.post_json("/api/auth/refresh", {"refreshToken": second["refreshToken"]})
    me(app, first["accessToken"])
    for body in (b"", b"{", b"[]", b'{"refreshToken":5}', b'{"refreshToken":"x"}', b"\xff"):
        app.post("/api/auth/logout", body, status=204)


def test_a_body_has_at_most_64_kb(app, person):
    # C-ERR-12
    """Nothing in it is long, and anybody may send one."""
    body = {**person, "client": ""}
    room = 64 * 1024 - len(json.dumps(body))
    over, whole = (json.dumps({**body, "client": "x" * size}).encode() for size in (room + 1, room))
    answer = app.post("/api/auth/register", over, status=413)
    assert (answer.json["error"], answer.json["limitBytes"]) == ("too_large", 64 * 1024)
    app.post("/api/auth/register", whole, status=201)
    for call in ("forgot", "logout"):
        app.post(f"/api/auth/{call}", over, status=204)
