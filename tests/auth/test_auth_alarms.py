"""``modhub-admin alarm``: an email to the operator when a unit has failed."""

import pytest
from sqlalchemy import select

from modhub.admin.program import Admin, build_admin_parser
from modhub_auth.models import OutgoingEmail
from tests.people import read

pytestmark = pytest.mark.slow


def alarm(app, *words):
    arguments = build_admin_parser(app.config).parse_args(["-c", "unused", "alarm", *words])
    return arguments.run(Admin(app.config), arguments)


def waiting(app):
    return read(app, select(OutgoingEmail.recipient))


def test_it_is_sent_without_the_database(auth, mail_server, capsys):
    port = str(mail_server.port)
    app = auth(mail__host="127.0.0.1", mail__port=port, mail__operator="Ops <ops@example.org>")
    assert alarm(app, "modhub-backup", "--dry-run") == 0
    with app.counted() as statements:
        assert alarm(app, "modhub-backup") == 0
    assert list(statements) == []
    assert capsys.readouterr().out == "Would be sent to ops@example.org.\nSent to ops@example.org.\n"
    ((recipient, message),) = mail_server.taken
    assert recipient == "ops@example.org"
    assert message["Subject"].startswith("modhub-backup failed on ")
    assert "journalctl --unit modhub-backup" in message.as_string()


def test_it_waits_in_the_outbox_while_the_mail_server_is_down(auth, mail_server_port, capsys):
    app = auth(mail__host="127.0.0.1", mail__port=str(mail_server_port), mail__operator="ops@example.org")
    assert alarm(app, "modhub-sweep") == 0
    assert "waits in the outbox" in capsys.readouterr().out
    assert waiting(app) == ["ops@example.org"]


def test_without_an_address_nobody_is_told(app, capsys):
    assert alarm(app, "modhub-sweep") == 0
    assert capsys.readouterr().err == "Nobody is told: mail.operator is empty.\n"
