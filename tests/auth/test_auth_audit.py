"""What accounts do, in the audit trail and in the log of security events."""

import json
import logging

import pytest
from sqlalchemy import select

from modhub.admin.program import run_command
from modhub.audit.models import AuditEntry
from tests.people import add_authenticator

from .conftest import forgot, log_in, refresh, send, sign_up

pytestmark = pytest.mark.slow


def entries(app):
    with app.databases.readonly_session() as session:
        return [
            (f"{entry.actor_kind} {entry.actor_id}".strip(), entry.action, f"{entry.target_kind} {entry.target_id}")
            for entry in session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        ]


def owners_of_personal_parts(app):
    """The actors of entries with an address or a name."""
    has_part = AuditEntry.address.is_not(None) | AuditEntry.name.is_not(None)
    with app.databases.readonly_session() as session:
        return set(session.scalars(select(AuditEntry.actor_kind + " " + AuditEntry.actor_id).where(has_part)))


def test_an_account_acts_itself_when_it_signs_in_or_follows_its_link(auth, person, mail):
    # C-AUD-1
    app = mail.app = auth()
    app.extra_environ = {**app.extra_environ, "REMOTE_ADDR": "192.0.2.7"}
    made = sign_up(app, person)
    log_in(app, person)
    log_in(app, person, 401, password="a wrong password")
    refresh(app, made)
    forgot(app, person["email"])
    form = app.get(f"/Modhub/account/reset?token={mail.secret()}").forms[0]
    form["password"] = "another good password"
    form.submit(status=200)
    account = f"account {made['accountId']}"
    actions = [action for actor, action, target in entries(app) if (actor, target) == (account, account)]
    assert actions == ["registered", "signed in", "signed in", "password reset"]
    assert len(entries(app)) == len(actions)
    with app.databases.readonly_session() as session:
        assert set(session.scalars(select(AuditEntry.address))) == {"192.0.2.7"}
        stored = "".join(str(row) for row in session.execute(AuditEntry.__table__.select()))
    assert person["email"] not in stored


@pytest.mark.postgres
def test_a_deleted_account_takes_its_address_along(auth, person, monkeypatch):
    # C-AUD-3
    monkeypatch.setenv("SUDO_USER", "grace\udcff")
    app = auth()
    app.extra_environ = {**app.extra_environ, "REMOTE_ADDR": "192.0.2.7"}
    number = sign_up(app, person)["accountId"]
    other = sign_up(app, person, email="other@example.org")["accountId"]
    assert owners_of_personal_parts(app) == {f"account {number}", f"account {other}"}
    run_command(app.config, ["-c", "x.ini", "account", "delete", str(number), "--yes"])
    assert entries(app)[-1] == ("operator", "account deleted", f"account {number}")
    assert owners_of_personal_parts(app) == {f"account {other}", "operator "}
    with app.databases.readonly_session() as session:
        names = select(AuditEntry.name).where(AuditEntry.actor_kind == "operator")
        assert set(session.scalars(names)) == {"grace?"}


def test_events_are_written_down_without_addresses(auth, person, mail, caplog):
    # C-ERR-9; that nothing secret is: tests/functional/accounts.
    caplog.set_level(logging.INFO, logger="modhub.security")
    app = mail.app = auth(modhub_auth__failures="3")
    made = sign_up(app, person)
    _, codes = add_authenticator(app, made["accountId"])
    for code, status in ((codes[0], 200), ("000000", 401)):
        log_in(app, person, status, code=code)
    forgot(app, person["email"])
    send(app.get(mail.link()), 200, password="another good password")
    for status in (401, 401, 429):
        log_in(app, person, status)
    lines = [record.message for record in caplog.records if record.name == "modhub.security"]
    assert {json.loads(line)["event"] for line in lines} >= {
        *("registered", "signed in", "authenticator added", "authenticator removed"),
        *("code refused", "password refused", "limited", "password reset"),
    }
    assert [line for line in lines if person["email"] in line] == []
