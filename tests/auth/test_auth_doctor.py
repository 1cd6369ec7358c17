"""``modhub-admin doctor``: the line about email."""

from datetime import timedelta
from secrets import token_hex

import pytest
from sqlalchemy import insert

from modhub.db import now
from modhub.plugins.events import ApplicationStarted
from modhub_auth import warn_about_mail_folder
from modhub_auth.mail.commands import find_mail_problems
from modhub_auth.models import OutgoingEmail
from modhub_testing.service import free_port
from tests.people import write

pytestmark = pytest.mark.slow


def problems(site):
    with site.databases.readonly_session() as session:
        return list(find_mail_problems(site.registry, session))


def test_the_mail_server(start, mail_server):
    # C-RUN-19
    mail_port = str(mail_server.port)
    site = start("modhub_auth", mail__host="127.0.0.1", mail__port=mail_port)
    assert problems(site) == []
    where = f"the mail server 127.0.0.1, port {mail_port},"
    refused = start("modhub_auth", mail__host="127.0.0.1", mail__port=mail_port, mail__username="x", mail__password="y")
    assert problems(refused) == [f"{where} rejects the sign-in (535): correct mail.username and mail.password"]
    plain = start("modhub_auth", mail__host="127.0.0.1", mail__port=mail_port, mail__tls="true")
    assert problems(plain)[0].startswith(f"{where} takes no emails (SMTPNotSupportedError): start it, or correct")
    (sentence,) = problems(start("modhub_auth", mail__host="127.0.0.1", mail__port=str(free_port())))
    assert "takes no emails (Connection refused): " in sentence


def test_a_folder_for_emails(start, tmp_path, monkeypatch, caplog):
    # C-RUN-19
    assert problems(start("modhub_auth", modhub__mail_dir=str(tmp_path / "new" / "mail"))) == []
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    assert "cannot be written" in problems(start("modhub_auth", modhub__mail_dir=str(tmp_path / "file")))[0]
    monkeypatch.chdir(tmp_path)
    site = start("modhub_auth", modhub__mail_dir="mail")
    (relative,) = problems(site)
    assert relative.endswith(f"set {tmp_path / 'mail'}")
    warn_about_mail_folder(ApplicationStarted(site.registry))
    assert "modhub.mail_dir is relative" in caplog.text
    public = start("modhub_auth", modhub__mail_dir=str(tmp_path), modhub__base_url="https://mods.example.org")
    assert "nobody gets the emails" in problems(public)[0]
    assert "emails go to the log" in problems(start("modhub_auth"))[0]


@pytest.mark.postgres
def test_emails_that_wait_or_died(start, tmp_path):
    # C-RUN-19
    site = start("modhub_auth", modhub__mail_dir=str(tmp_path))
    time, hours, days = now(), timedelta(hours=2), timedelta(days=9)

    def add(created_at, finished_at):
        row = {"kind": "confirm", "recipient": "a@example.org", "next_at": time, "attempts": 1, "problem": "554"}
        row |= {"created_at": created_at, "finished_at": finished_at, "message_id": token_hex(8)}
        write(site, insert(OutgoingEmail).values(row))

    add(time, None)
    add(time - days, time - days)
    assert problems(site) == []
    add(time - hours, None)
    assert problems(site) == ["1 emails wait for more than an hour: modhub-admin letters list says why"]
    add(time, time)
    assert problems(site)[1:] == ["1 emails could not be sent in the last 7 days: modhub-admin letters list says why"]
