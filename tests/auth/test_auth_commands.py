"""``modhub-admin letters`` and ``account``; profiles; account deletion."""

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from modhub.base.settings import StartRefused
from modhub.db import now
from modhub.plugins.events import DatabaseRestored
from modhub.plugins.services import IAccounts, IProfiles
from modhub_auth.container import AuthServices
from modhub_auth.models import HELD, Account, Login, OutgoingEmail

from .conftest import bearer

Person = dict[str, str]


def send_due(app: Any) -> int:
    """What the worker does."""
    return int(app.find_service(AuthServices).mail_sender.send_due())


def test_emails_are_listed(app: Any, person: Person, run: Any, mail: Any) -> None:
    app.post_json("/api/auth/register", person)
    assert "confirm ada@example.org waits" in run("letters", "list")[1]
    assert send_due(app) == 1
    assert send_due(app) == 0
    assert "confirm ada@example.org sent" in run("letters", "list")[1]
    assert len(list(mail.folder.glob("*.eml"))) == 1


def test_accounts_are_shown_without_secrets(app: Any, person: Person, run: Any) -> None:
    made = app.post_json("/api/auth/register", {**person, "client": "laptop", "displayName": "Ada"}).json
    listed = f"{made['accountId']} Ada: Password ada@example.org (not confirmed); 0 mods, 0 files, 0 bytes, since 20"
    assert run("account", "list")[1].startswith(listed)
    for name in (str(made["accountId"]), " ADA@example.org"):
        output = run("account", "show", name)[1]
        assert "authenticator: no" in output
        assert "laptop" in output
    with app.databases.readonly_session() as session:
        assert session.scalars(select(OutgoingEmail)).one().sealed not in output
    assert "argon2" not in output
    assert f"{made['accountId']} Ada, Password, since" in output
    with app.databases.write_session() as session, session.begin():
        session.execute(delete(Login))
    assert f"{made['accountId']} Ada, no sign-in method, since" in run("account", "show", str(made["accountId"]))[1]


def test_confirming_and_signing_out(app: Any, person: Person, run: Any) -> None:
    made = app.post_json("/api/auth/register", person).json
    assert run("account", "confirm", "ada@example.org")[0] == 0
    assert app.get("/api/auth/me", headers=bearer(made)).json["verified"] is True
    # C-RUN-48
    code, output = run("account", "sign-out", "ada@example.org")
    assert (code, "access tokens expire within 30 minutes" in output) == (0, True)
    app.get("/api/auth/me", headers=bearer(made), status=200)
    app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}, status=401)
    app.post_json("/api/auth/login", person, status=200)


def test_an_account_is_deleted_with_everything_it_owned(app: Any, person: Person, run: Any) -> None:
    # C-ACC-18
    ada = app.post_json("/api/auth/register", person).json
    eve = app.post_json("/api/auth/register", {**person, "email": "eve@example.org"}).json
    mods = []
    for made in (ada, eve):
        mod = app.post_json("/api/modhub", {"title": "A mod"}, headers=bearer(made)).json
        app.post(f"/api/modhub/{mod['id']}/code?version=1&name=a.zip", b"code", headers=bearer(made))
        app.post(f"/api/modhub/{mod['id']}/publish", headers=bearer(made))
        mods.append(mod["id"])
    app.put_json(f"/api/modhub/{mods[1]}/vote", {"value": 1}, headers=bearer(ada), status=200)
    app.put_json(f"/api/modhub/{mods[0]}/vote", {"value": -1}, headers=bearer(eve), status=200)
    assert run("account", "delete", "ada@example.org", "--yes")[0] == 0
    assert [mod["id"] for mod in app.get("/api/modhub").json["mods"]] == [mods[1]]
    app.get(f"/api/modhub/{mods[0]}", status=404)
    assert app.get(f"/api/modhub/{mods[1]}/vote").json == {"ups": 0, "downs": 0}
    app.get("/api/modhub/mine", headers=bearer(ada), status=401)
    assert run("verify")[0] == 0
    assert "Removed 1 replaced or deleted files and 0" in run("sweep", "--older-than", "0")[1]


def test_people_have_names(app: Any, person: Person) -> None:
    ada = app.post_json("/api/auth/register", {**person, "displayName": "Ada"}).json["accountId"]
    profiles = app.find_service(IProfiles)
    with app.counted() as statements:
        assert {number: profile.name for number, profile in profiles.get_profiles({ada, 999}).items()} == {ada: "Ada"}
    assert len(statements) <= 1


def test_nobody_can_sign_in_to_a_sample(app: Any, person: Person) -> None:
    app.post_json("/api/auth/register", {**person, "displayName": "Sample"})
    people = app.find_service(IAccounts)
    with app.databases.write_session.begin() as session:
        first = people.make_sample(session, "Sample")
        assert people.make_sample(session, "Sample") == first
        assert people.make_sample(session, "Other") != first
    with app.databases.readonly_session() as session:
        assert len(session.scalars(select(Account)).all()) == 3


def test_an_unknown_account_is_reported(run: Any) -> None:
    for action in ("show", "confirm", "sign-out", "delete", "remove-factor"):
        for name in ("0", "7", "9" * 18, "9" * 23, "eve@example.org", "no address"):
            with pytest.raises(StartRefused, match=f"there is no account {name}"):
                run("account", action, name)


@pytest.mark.postgres
def test_accounts_are_listed_with_what_they_use(app: Any, person: Person, run: Any) -> None:
    people = [
        app.post_json("/api/auth/register", {**person, "email": f"{name}@example.org", "displayName": name}).json
        for name in ("Ada", "Eve")
    ]
    for made, contents in zip(people, (["1"], ["22", "333"]), strict=True):
        for content in contents:
            mod = app.post_json("/api/modhub", {"title": "Mod"}, headers=bearer(made), status=201).json
            address = f"/api/modhub/{mod['id']}/code?version=1&name=mod.zip"
            app.post(address, content, headers={**bearer(made), "Content-Type": "application/zip"}, status=201)
    ada, eve = (made["accountId"] for made in people)
    run("account", "block", str(ada))

    def listed(*words: str) -> list[Any]:
        return [json.loads(line) for line in run("account", "list", "--json", *words)[1].splitlines()]

    assert [(account["id"], account["mods"], account["files"], account["bytes"]) for account in listed()] == [
        (ada, 1, 1, 1),
        (eve, 2, 2, 5),
    ]
    for order in ("bytes", "mods", "created"):
        assert [account["id"] for account in listed("--by", order)] == [eve, ada]
    assert [account["id"] for account in listed("--limit", "1", "--page", "2")] == [eve]
    assert [account["id"] for account in listed("--blocked")] == [ada]
    assert [account["logins"][0]["subject"] for account in listed("EVE@")] == ["eve@example.org"]
    assert "; 2 mods, 2 files, 5 bytes, since 20" in run("account", "list")[1]
    assert "uses: 1 mod, 1 file, 1 byte\n" in run("account", "show", str(ada))[1]
    shown = json.loads(run("account", "show", str(eve), "--json")[1])
    assert (shown["bytes"], shown["authenticator"], shown["sessions"][0]["kind"]) == (5, False, "program")
    would = f"Account {eve} (Eve) would be deleted, with 2 mods, 2 files, 5 bytes.\nNothing was changed.\n"
    assert run("account", "delete", str(eve), "--dry-run") == (0, would)
    assert len(listed()) == 2


@pytest.mark.postgres
def test_emails_that_were_given_up_can_be_sent_again(app: Any, person: Person, run: Any, mail: Any) -> None:
    # C-MAIL-11
    for name in ("ada", "eve"):
        app.post_json("/api/auth/register", {**person, "email": f"{name}@example.org"})
    with app.databases.write_session.begin() as session:
        dead, held = session.scalars(select(OutgoingEmail).order_by(OutgoingEmail.id))
        dead.finished_at = held.finished_at = now() - timedelta(days=1)
        dead.problem, held.problem = "the recipient was refused (554)", HELD
        ids = [dead.id, held.id]
    listing = run("letters", "list")[1]
    assert "ada@example.org dead: the recipient was refused (554)\n" in listing
    assert "eve@example.org held\n" in listing
    listed = [json.loads(line) for line in run("letters", "list", "--json")[1].splitlines()]
    assert [(email["id"], email["state"]) for email in listed] == [(ids[0], "dead"), (ids[1], "held")]
    assert send_due(app) == 0
    assert run("letters", "retry", "--dry-run")[1].endswith("Would be sent again: 2.\n")
    assert run("letters", "retry", "--dead", "--dry-run")[1].endswith("Would be sent again: 1.\n")
    # An address that does not exist is not tried every night without end.
    for age, again in ((timedelta(days=8), 0), (timedelta(0), 1)):
        with app.databases.write_session.begin() as session:
            session.execute(update(OutgoingEmail).values(created_at=now() - age))
        assert run("letters", "retry", "--dead", "--dry-run")[1].endswith(f"Would be sent again: {again}.\n")
    assert send_due(app) == 0
    code, output = run("letters", "retry", str(ids[0]), "99", "x")
    assert code == 1
    assert output.count("There is no dead or held email") == 2
    assert send_due(app) == 1
    assert run("letters", "retry")[1].endswith("Waiting to be sent again: 1.\n")
    assert send_due(app) == 1
    assert run("letters", "retry")[1].endswith("Waiting to be sent again: 0.\n")


@pytest.mark.postgres
def test_after_a_restore_nobody_is_signed_in_and_emails_wait_for_the_operator(
    app: Any, person: Person, run: Any, mail: Any
) -> None:
    # C-RUN-18
    made = app.post_json("/api/auth/register", person).json
    app.post_json("/api/auth/forgot", {"email": person["email"]})
    with app.databases.write_session.begin() as session:
        event = DatabaseRestored(session, app.registry, "https://old.example.org")
        outbox = app.find_service(AuthServices).outbox
        email = session.scalars(select(OutgoingEmail)).one()
        email.sealed = outbox.with_base_url(
            email.sealed, email.message_id, "http://127.0.0.1:6543", "https://old.example.org"
        )
        session.flush()
        app.registry.notify(event)
    assert event.notes[0].startswith("All sessions are ended (1)")
    assert event.notes[1].startswith("1 waiting emails are held")
    app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}, status=401)
    assert send_due(app) == 0
    assert run("letters", "retry")[0] == 0
    assert send_due(app) == 1
    (sent,) = mail.folder.glob("*.eml")
    assert "http://127.0.0.1:6543/Modhub/account/confirm?token=" in sent.read_text("utf-8")
    assert "old.example.org" not in sent.read_text("utf-8")
    app.post_json("/api/auth/login", person)
