"""Accounts over REST."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from modhub.db import now
from modhub_auth.container import AuthServices
from modhub_auth.models import ClientSession, Login
from tests.people import read, write

from .conftest import confirm, log_in, me, refresh, seen, sign_up


def test_registering_signs_in_at_once(app, person):
    # C-ACC-1, C-ACC-2, C-ACC-13
    answer = app.post_json("/api/auth/register", person, status=201)
    again = app.post_json("/api/auth/login", person)
    for signed_in in (answer, again):
        assert signed_in.headers["Cache-Control"] == "no-store"
        assert "Set-Cookie" not in signed_in.headers
    assert me(app, answer.json) == {
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
    sign_up(app, person, password="  ten e\u0301 ten ")
    log_in(app, person, password="  ten é ten ")
    log_in(app, person, 401, password="ten é ten")


def test_a_wrong_address_and_a_wrong_password_are_one_answer(app, person):
    # C-ACC-7, T-C5
    made = sign_up(app, person)
    wrong = app.post_json("/api/auth/login", {**person, "password": "wrong horse battery"}, status=401)
    assert wrong.json["error"] == "invalid_credentials"
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
    sign_up(app, person)
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
    sign_up(app, person)
    for _ in range(3):  # which is no failure
        assert log_in(app, person, 403)["error"] == "email_not_confirmed"
    log_in(app, person, 401, password="wrong horse battery")
    confirm(app)
    assert me(app, log_in(app, person))["verified"] is True


def test_a_token_does_not_name_a_later_login_with_the_same_number(app, person):
    """A database that lost its newest rows may give their numbers out again."""
    # C-TOK-8
    lost = sign_up(app, person)
    write(app, update(Login).values(random_id="0" * 32))
    me(app, lost, 401)


def test_the_bearer_is_one_statement(app, person):
    """``me`` runs a second one, which reads the account's login. No case counts in the header, and no space."""
    token = sign_up(app, person)["accessToken"]
    with app.counted() as statements:
        app.get("/api/auth/me", headers={"Authorization": f"BEARER  {token}"}, status=200)
    assert len(statements) == 2


@pytest.mark.postgres
def test_a_refresh_token_works_once(app, person):
    # C-ACC-1, C-ACC-14, C-TOK-3; that its second use changes nothing: modhub-verify.
    made = sign_up(app, person, client="laptop")
    write(app, update(ClientSession).values(expires_at=now() + timedelta(days=1)))
    fresh = refresh(app, made)
    again = app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}, status=401)
    assert again.json["error"] == "invalid_refresh_token"
    assert again.headers["WWW-Authenticate"] == 'Bearer realm="modhub"'
    [client] = read(app, select(ClientSession))
    assert client.label == "laptop"
    assert timedelta(days=60, minutes=-1) < client.expires_at - now() <= timedelta(days=60)
    last = refresh(app, fresh, client="phone")
    assert read(app, select(ClientSession.label)) == ["phone"]
    write(app, update(ClientSession).values(expires_at=now()))
    for token in (last["refreshToken"], "", "é\0", "0" * 5_000):
        refresh(app, {"refreshToken": token}, 401)


def test_signing_out_ends_one_client(app, person):
    # C-ACC-16, C-TOK-1, T-C2; always 204: modhub-verify.
    first = sign_up(app, person)
    second = log_in(app, person)
    app.post_json("/api/auth/logout", {"refreshToken": first["refreshToken"]}, status=204)
    refresh(app, first, 401)
    refresh(app, second)
    me(app, first)


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
