"""What accounts do, in the audit trail and in the log of security events."""

import json
import logging

import pytest
from sqlalchemy import select

from modhub.audit.models import AuditEntry
from tests.people import actions, add_authenticator, read

from .conftest import forgot, log_in, refresh, send, sign_up

pytestmark = pytest.mark.slow


def test_an_account_acts_itself_when_it_signs_in_or_follows_its_link(app, person, mail):
    # C-AUD-1
    app.extra_environ["REMOTE_ADDR"] = "192.0.2.7"
    made = sign_up(app, person)
    log_in(app, person)
    log_in(app, person, 401, password="a wrong password")
    refresh(app, made)
    forgot(app, person["email"])
    send(app.get(mail.link()), 200, password="another good password")
    entries = read(app, select(AuditEntry).order_by(AuditEntry.id))
    assert [entry.action for entry in entries] == ["registered", "signed in", "signed in", "password reset"]
    for entry in entries:
        actor, target = (entry.actor_kind, entry.actor_id), (entry.target_kind, entry.target_id)
        assert actor == target == ("account", str(made["accountId"]))
        assert entry.address == "192.0.2.7"
        assert person["email"] not in str(vars(entry))


@pytest.mark.postgres
def test_a_deleted_account_takes_its_address_along(app, person, run, monkeypatch):
    # C-AUD-3
    monkeypatch.setenv("SUDO_USER", "grace\udcff")
    app.extra_environ["REMOTE_ADDR"] = "192.0.2.7"
    sign_up(app, person)
    other = sign_up(app, person, email="other@example.org")["accountId"]
    run("account", "delete", person["email"], "--yes")
    assert actions(app)[-1] == "account deleted"
    assert set(read(app, select(AuditEntry.actor_id).where(AuditEntry.address.is_not(None)))) == {str(other)}
    assert read(app, select(AuditEntry.name).where(AuditEntry.name.is_not(None))) == ["grace?"]


def test_events_are_written_down_without_addresses(auth, person, mail, caplog):
    # C-ERR-9; that nothing secret is: test_auth_hidden_secrets.py.
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
