"""``modhub-admin alarm``: an email to the operator when a unit has failed."""

import pytest
from sqlalchemy import select

from modhub_auth.models import OutgoingEmail
from tests.people import read

pytestmark = pytest.mark.slow


def test_it_is_sent_without_the_database(auth, mail_server, run_admin):
    port = str(mail_server.port)
    app = auth(mail__host="127.0.0.1", mail__port=port, mail__operator="Ops <ops@example.org>")
    dry = run_admin(app, "alarm", "modhub-backup", "--dry-run")
    assert dry == (0, "Would be sent to ops@example.org.\n")
    with app.counted() as statements:
        assert run_admin(app, "alarm", "modhub-backup") == (0, "Sent to ops@example.org.\n")
    assert list(statements) == []
    ((recipient, message),) = mail_server.taken
    assert recipient == "ops@example.org"
    assert message["Subject"].startswith("modhub-backup failed on ")
    assert "journalctl --unit modhub-backup" in message.as_string()


def test_it_waits_in_the_outbox_while_the_mail_server_is_down(auth, mail_server_port, run_admin):
    app = auth(mail__host="127.0.0.1", mail__port=str(mail_server_port), mail__operator="ops@example.org")
    code, output = run_admin(app, "alarm", "modhub-sweep")
    assert (code, "waits in the outbox" in output) == (0, True)
    assert read(app, select(OutgoingEmail.recipient)) == ["ops@example.org"]


def test_without_an_address_nobody_is_told(run):
    assert run("alarm", "modhub-sweep") == (0, "Nobody is told: mail.operator is empty.\n")
