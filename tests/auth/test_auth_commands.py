"""``modhub-admin letters`` and ``account``; profiles; account deletion."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import delete, select, update

from modhub.base.settings import StartRefused
from modhub.db import now
from modhub.plugins.events import DatabaseRestored
from modhub.plugins.services import IAccounts
from modhub_auth.container import AuthServices
from modhub_auth.models import HELD, Account, Login, OutgoingEmail, ResetRequest
from tests.people import read, register, write

from .conftest import forgot, log_in, me, refresh, sign_up


def send_due(app):
    """What the worker does."""
    return int(app.find_service(AuthServices).mail_sender.send_due())


def test_accounts_are_shown_without_secrets(app, person, run):
    made = sign_up(app, person, client="laptop", displayName="Ada")
    listed = f"{made['accountId']} Ada: Password ada@example.org (not confirmed); 0 mods, 0 files, 0 bytes, since 20"
    assert run("account", "list")[1].startswith(listed)
    output = run("account", "show", " ADA@example.org")[1]
    assert f"{made['accountId']} Ada, Password, since" in output
    assert "authenticator: no" in output
    assert "laptop" in output
    assert "argon2" not in output
    with app.databases.write_session() as session, session.begin():
        session.execute(delete(Login))
    assert f"{made['accountId']} Ada, no sign-in method, since" in run("account", "show", str(made["accountId"]))[1]


def test_confirming_and_signing_out(app, person, run):
    made = sign_up(app, person)
    assert run("account", "confirm", "ada@example.org")[0] == 0
    assert me(app, made)["verified"] is True
    # C-RUN-4
    code, output = run("account", "sign-out", "ada@example.org")
    assert (code, "access tokens expire within 30 minutes" in output) == (0, True)
    me(app, made)
    refresh(app, made, 401)
    log_in(app, person)


def test_an_account_is_deleted_with_everything_it_owned(app, run):
    # C-ACC-18
    ada, eve = (register(app, name) for name in ("Ada", "Eve"))
    hers, mine = ada.publish(), eve.publish()
    ada.call("put_json", f"/api/modhub/{mine['id']}/vote", params={"value": 1})
    eve.call("put_json", f"/api/modhub/{hers['id']}/vote", params={"value": -1})
    assert send_due(app) == 2
    forgot(app, ada.address)
    assert run("account", "delete", ada.address, "--yes")[0] == 0
    assert (read(app, select(OutgoingEmail.recipient)), app.count_rows(ResetRequest)) == ([eve.address], 0)
    assert [mod["id"] for mod in app.get("/api/modhub").json["mods"]] == [mine["id"]]
    assert app.get(f"/api/modhub/{mine['id']}/vote").json == {"ups": 0, "downs": 0}
    ada.call("get", "/api/modhub/mine", status=401)
    assert run("verify")[0] == 0
    assert "Removed 1 replaced or deleted files and 0" in run("sweep", "--older-than", "0")[1]


def test_an_unknown_account_is_reported(run):
    for action in ("show", "confirm", "sign-out", "delete", "remove-factor"):
        for name in ("7", "9" * 23, "eve@example.org"):
            with pytest.raises(StartRefused, match=f"there is no account {name}"):
                run("account", action, name)


@pytest.mark.postgres
def test_accounts_are_listed_with_what_they_use(app, run):
    ada, eve = (register(app, name) for name in ("Ada", "Eve"))
    for person, content in ((ada, b"1"), (eve, b"22"), (eve, b"333")):
        person.upload(person.draft(), "1", content)
    run("account", "block", str(ada.id))

    def listed(*words):
        return [json.loads(line) for line in run("account", "list", "--json", *words)[1].splitlines()]

    figures = [(account["id"], account["mods"], account["files"], account["bytes"]) for account in listed()]
    assert figures == [(ada.id, 1, 1, 1), (eve.id, 2, 2, 5)]
    for words, ids in (
        (("--by", "bytes"), [eve.id, ada.id]),
        (("--by", "created"), [eve.id, ada.id]),
        (("--limit", "1", "--page", "2"), [eve.id]),
        (("--blocked",), [ada.id]),
        (("EVE@",), [eve.id]),
    ):
        assert [account["id"] for account in listed(*words)] == ids, words
    assert "uses: 1 mod, 1 file, 1 byte\n" in run("account", "show", str(ada.id))[1]
    shown = json.loads(run("account", "show", str(eve.id), "--json")[1])
    assert (shown["bytes"], shown["authenticator"], shown["sessions"][0]["kind"]) == (5, False, "program")
    would = f"Account {eve.id} (Eve) would be deleted, with 2 mods, 2 files, 5 bytes.\nNothing was changed.\n"
    assert run("account", "delete", str(eve.id), "--dry-run") == (0, would)


@pytest.mark.postgres
def test_emails_that_were_given_up_can_be_sent_again(app, run):
    # C-RUN-18
    for name in ("Ada", "Eve"):
        register(app, name)
    dead, held = read(app, select(OutgoingEmail.id).order_by(OutgoingEmail.id))
    yesterday = now() - timedelta(days=1)
    for number, problem in ((dead, "the recipient was refused (554)"), (held, HELD)):
        values = {"finished_at": yesterday, "problem": problem}
        write(app, update(OutgoingEmail).where(OutgoingEmail.id == number).values(values))
    listing = run("letters", "list")[1]
    assert "ada@example.org dead: the recipient was refused (554)\n" in listing
    assert "eve@example.org held\n" in listing
    listed = [json.loads(line) for line in run("letters", "list", "--json")[1].splitlines()]
    assert [(email["id"], email["state"]) for email in listed] == [(dead, "dead"), (held, "held")]
    assert run("letters", "retry", "--dry-run")[1].endswith("Would be sent again: 2.\n")
    # An address that does not exist is not tried every night without end.
    for age, again in ((timedelta(days=8), 0), (timedelta(0), 1)):
        write(app, update(OutgoingEmail).values(created_at=now() - age))
        assert run("letters", "retry", "--dead", "--dry-run")[1].endswith(f"Would be sent again: {again}.\n")
    assert send_due(app) == 0
    code, output = run("letters", "retry", str(dead), "99", "x")
    assert (code, output.count("There is no dead or held email")) == (1, 2)
    assert "ada@example.org waits" in run("letters", "list")[1]
    assert send_due(app) == 1
    assert run("letters", "retry")[1].endswith("Waiting to be sent again: 1.\n")
    assert send_due(app) == 1


@pytest.mark.postgres
def test_after_a_restore_nobody_is_signed_in_and_emails_wait_for_the_operator(app, person, run, mail):
    # C-RUN-18
    made = sign_up(app, person)
    forgot(app, person["email"])
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
    refresh(app, made, 401)
    assert send_due(app) == 0
    assert run("letters", "retry")[0] == 0
    assert send_due(app) == 1
    assert mail.link().startswith("/Modhub/account/confirm?token=")
    assert "old.example.org" not in mail.read()[0].as_string()
    log_in(app, person)


def test_an_account_of_samples_is_made_once(app, person):
    sign_up(app, person, displayName="Sample")
    accounts = app.find_service(IAccounts)
    with app.databases.write_session.begin() as session:
        first = accounts.make_sample(session, "Sample")
        assert accounts.make_sample(session, "Sample") == first
    assert app.count_rows(Account) == 2, "it is nobody's who has the name"
