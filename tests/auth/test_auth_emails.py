"""Emails: queued in the causing transaction, sent in the background, none lost."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from modhub.base.settings import StartRefused
from modhub.db import now
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import without_links
from modhub_auth.mail.sender import DEAD_AFTER, LONGEST_PAUSE, retry_pause
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.mail.transports import DeliveryUnavailable
from modhub_auth.models import OutgoingEmail, ResetRequest
from modhub_auth.signin.recovery import queue_requested_resets
from modhub_testing.service import free_port
from modhub_testing.workers import find_worker, run_worker
from tests.people import read, text_of, write

from .conftest import forgot, sign_up

pytestmark = pytest.mark.slow


def outgoing(app):
    return read(app, select(OutgoingEmail).order_by(OutgoingEmail.id))


def make_due(app):
    write(app, update(OutgoingEmail).values(next_at=now()))


def smtp(auth, port):
    return auth(mail__host="127.0.0.1", mail__port=str(port), mail__default_sender="modhub@example.org")


def test_registering_sends_a_confirmation_email(app, person, mail):
    # C-ACC-2, C-SET-6
    sign_up(app, person, displayName="Visit http://evil.example.org")
    [waiting] = outgoing(app)
    [message] = mail.read()
    # What waits is sealed, and what was sent is forgotten.
    secret, [sent] = mail.secret(), outgoing(app)
    assert secret not in waiting.sealed
    assert secret.encode().hex() not in waiting.sealed
    assert (sent.sealed, sent.finished_at is None) == (None, False)
    assert message["To"] == "ada@example.org"
    assert message["From"] == "modhub@localhost"
    assert message["Subject"] == EMAIL_TEMPLATES["confirm"].subject
    assert message["Auto-Submitted"] == "auto-generated"
    assert len(secret) == 64
    assert f"\nhttp://127.0.0.1:6543{mail.link()}\n" in message.as_string()
    html = message.get_body(("html",)).get_content()
    assert f'<a href="http://127.0.0.1:6543{mail.link()}">' in html
    # The display name says who asked, as words: no mail program finds a link in it.
    assert "\nThe account's name is: Visit http evil example org\n" in text_of(message)
    assert "evil." not in message.as_string()


def test_a_name_in_an_email_is_no_link():
    shown = {
        "Ada O'Hara-Byron": "Ada O'Hara-Byron",
        "Ärger 測試 ख़ान": "Ärger 測試 ख़ान",
        "https://evil.example.org/x?y=z": "https evil example org x y z",
        "mail@evil.example.org": "mail evil example org",
        "evil。example．org": "evil example org",
        "<a href=//evil>": "a href evil",
        "\u202egro.live": "gro live",
        "x" * 80: "x" * 40,
        "...": "",
    }
    assert {name: without_links(name) for name in shown} == shown


def test_emails_arrive_by_smtp(auth, person, mail_server):
    # T-C9
    sender = "The mods <mods@example.org>"
    app = auth(mail__host="127.0.0.1", mail__port=str(mail_server.port), mail__default_sender=sender)
    for email, language in (("ada@example.org", "en"), ("éa@bücher.example.org", "en"), ("o'hara+x@example.org", "de")):
        registration = {**person, "email": email}
        app.post_json("/api/auth/register", registration, headers={"Accept-Language": language}, status=201)
    assert app.find_service(AuthServices).mail_sender.send_due() == 3
    (first, _, third), messages = zip(*mail_server.taken, strict=True)
    assert (first, third) == ("ada@example.org", "o'hara+x@example.org")
    assert messages[0]["From"] == sender
    assert "Bestätige" in messages[2]["Subject"]
    announced = [line.upper().count("BODY=8BITMIME") for line in mail_server.heard if line.startswith("mail")]
    assert announced == [0, 1, 1]


def test_a_server_that_is_down_changes_no_answer_and_loses_nothing(auth, person, new_mail_server):
    # C-MAIL-1, T-F6
    port = free_port()
    app = smtp(auth, port)
    addresses = [f"ada{number}@example.org" for number in range(8)]
    for address in addresses:
        sign_up(app, person, email=address)
    sender = app.find_service(AuthServices).mail_sender
    with pytest.raises(DeliveryUnavailable, match=r"^the mail server cannot be reached \(Connection refused\)$"):
        sender.send_due()
    server = new_mail_server(port)
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: sender.send_due(), range(4))) == 8
    assert sorted(recipient for recipient, _ in server.taken) == addresses
    assert len({message["Message-ID"] for _, message in server.taken}) == 8


def test_pauses_grow_to_a_limit():
    pauses = [retry_pause(attempts) for attempts in range(1, 60)]
    assert pauses == sorted(pauses)
    assert pauses[0] <= timedelta(seconds=30)
    assert pauses[-1] == LONGEST_PAUSE


def test_a_clock_that_was_set_back_delays_no_email(app, person):
    # T-F7
    """A new email leaves at once, one that has been tried within the longest pause."""
    sign_up(app, person)
    [email] = outgoing(app)
    for ahead, attempts, sent in ((timedelta(days=1), 0, 1), (timedelta(minutes=30), 3, 0), (timedelta(days=1), 3, 1)):
        waiting = {"finished_at": None, "next_at": now() + ahead, "attempts": attempts, "sealed": email.sealed}
        write(app, update(OutgoingEmail).values(waiting))
        assert app.find_service(AuthServices).mail_sender.send_due() == sent


@pytest.mark.postgres
def test_an_email_that_the_server_cannot_accept_delays_no_other(auth, person, mail_server):
    app = smtp(auth, mail_server.port)
    mail_server.hang_up_on = "poison@example.org"
    for name in ("poison", "eve", "ada"):
        sign_up(app, person, email=f"{name}@example.org")
    sender = app.find_service(AuthServices).mail_sender
    with pytest.raises(DeliveryUnavailable):
        sender.send_due()
    assert outgoing(app)[0].next_at > now()
    assert sender.send_due() == 2
    waits = update(OutgoingEmail).where(OutgoingEmail.finished_at.is_(None))
    write(app, waits.values(next_at=now(), created_at=now() - DEAD_AFTER - timedelta(hours=1)))
    with pytest.raises(DeliveryUnavailable):
        sender.send_due()
    poison = outgoing(app)[0]
    assert poison.recipient == "poison@example.org"
    assert (poison.finished_at is None, poison.problem) == (False, "the mail server closed the connection")


def test_an_email_sent_while_the_database_was_busy_is_not_sent_again(auth, person, mail_server, monkeypatch):
    # T-F6
    app = smtp(auth, mail_server.port)
    sign_up(app, person)
    sign_up(app, person, email="eve@example.org")
    sender = app.find_service(AuthServices).mail_sender
    working, statements = sender._update, []

    def busy(statement):
        statements.append(statement)
        if 2 <= len(statements) <= 3:
            raise OperationalError("", {}, Exception("locked"))
        return bool(working(statement))

    monkeypatch.setattr(sender, "_update", busy)
    for _ in range(2):
        with pytest.raises(OperationalError):
            sender.send_due()
        assert [recipient for recipient, _ in mail_server.taken] == ["ada@example.org"]
    make_due(app)
    assert sender.send_due() == 1
    make_due(app)
    assert sender.send_due() == 0
    assert [recipient for recipient, _ in mail_server.taken] == ["ada@example.org", "eve@example.org"]
    assert all(email.finished_at for email in outgoing(app))


WRONG = [
    *(
        ({"mail__default_sender": sender}, "mail.default_sender must be one address")
        for sender in ("a@b.org\n Bcc: x@y.org", "not an address at all", "a@b.org, c@d.org")
    ),
    ({"mail__host": "127.0.0.1", "mail__ssl": "true", "mail__tls": "true"}, "mail.ssl and mail.tls exclude each other"),
    ({"mail__operator": "nobody"}, "mail.operator must be one address"),
    ({"mail__port": "99999"}, "mail.port"),
    ({"mail__hots": "localhost"}, "mail.hots"),
]


def test_settings_that_make_no_sense_stop_the_start(start):
    # C-SET-2
    for settings, said in WRONG:
        with pytest.raises(StartRefused, match=re.escape(said)):
            start("modhub_auth", **settings)


def test_links_name_the_configured_origin(app, person, mail):
    """Through the server: tests/core/test_server_forwarded.py."""
    # C-MAIL-3, T-C7
    evil = "evil.example.org"
    lies = dict.fromkeys(("Host", "X-Forwarded-Host", "X-Forwarded-Server", "X-Original-Host", "X-Host"), evil)
    lies |= {"Forwarded": f"host={evil}", "Referer": f"https://{evil}/", "Origin": f"https://{evil}"}
    app.post_json("/api/auth/register", person, headers=lies, status=201)
    app.post_json("/api/auth/forgot", {"email": person["email"]}, headers=lies, status=204)
    assert len(mail.read()) == 2
    for message in mail.read():
        assert "evil" not in message.as_string().lower()
    assert mail.link().startswith("/Modhub/account/reset?")


def forget(app, address, *, page):
    """The statements that a request for a reset of this address runs."""
    form = app.get("/Modhub/account/forgot").forms[0]
    form["email"] = address
    with app.counted() as statements:
        if page:
            form.submit(status=200)
        else:
            forgot(app, address)
    return list(statements)


@pytest.mark.parametrize("page", [False, True])
def test_forgot_does_the_same_work_for_strangers(app, person, mail, monkeypatch, page):
    # C-ACC-16, C-LIM-9, T-C5
    """Its duration must not reveal who has an account: no statement and no email depends on it before the answer."""
    sign_up(app, person)
    mail.read()
    writer, written = app.find_service(AuthServices).outbox, []
    render = writer.render
    monkeypatch.setattr(writer, "render", lambda *arguments: written.append(arguments) or render(*arguments))

    def both():
        known, unknown = (forget(app, address, page=page) for address in (person["email"], "nobody@example.org"))
        assert known == unknown
        return known

    seen = both()
    assert any("INTO auth_reset_request" in statement for statement in seen)
    assert not any("auth_login" in statement or "auth_account" in statement for statement in seen)
    assert written == []
    assert [message["Subject"] for message in mail.read()][1:] == [EMAIL_TEMPLATES["reset"].subject]
    assert app.count_rows(ResetRequest) == 0
    assert both() == both() == seen
    assert both() != seen, "three an address, whether it is somebody's or not"


@pytest.mark.postgres
def test_a_reset_is_written_once_by_many_processes(app, person):
    sign_up(app, person)
    app.post_json("/api/auth/forgot", {"email": person["email"]}, headers={"Accept-Language": "de"})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(queue_requested_resets, [app.registry] * 4))
    assert [email.kind for email in outgoing(app)] == ["confirm", "reset"]


@pytest.mark.postgres
def test_a_rejected_email_is_retried_or_given_up(auth, person, mail_server):
    app = smtp(auth, mail_server.port)
    mail_server.refuse |= {"ada@example.org": "550 unknown", "eve@example.org": "451 later", "bob@example.org": "451 x"}
    for email in mail_server.refuse:
        sign_up(app, person, email=email)
    sender = app.find_service(AuthServices).mail_sender
    sender.send_due()
    dead, *waiting = outgoing(app)
    assert (dead.finished_at is None, dead.problem) == (False, "the recipient was refused (550)")
    assert [(email.finished_at, email.problem) for email in waiting] == [(None, "the recipient was refused (451)")] * 2
    assert sender.send_due() == 0
    del mail_server.refuse["eve@example.org"]
    # After three days nobody tries any more.
    write(app, update(OutgoingEmail).values(created_at=now() - timedelta(days=4), next_at=now()))
    assert sender.send_due() == 1
    assert [recipient for recipient, _ in mail_server.taken] == ["eve@example.org"]
    assert [email.finished_at is None for email in outgoing(app)] == [False] * 3


def test_without_a_transport_emails_are_logged(auth, person, caplog):
    # C-SET-6
    app = auth(modhub__mail_dir="")
    sign_up(app, person)
    assert app.find_service(AuthServices).mail_sender.send_due() == 1
    assert "/Modhub/account/confirm?token=" in caplog.text


def test_a_folder_that_cannot_be_written_loses_nothing_and_the_worker_says_so_once(auth, tmp_path, person, caplog):
    # C-MAIL-1
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    app = auth(modhub__mail_dir=str(blocked))
    sign_up(app, person)
    assert find_worker(app.registry, "emails").every < 5
    for _ in range(3):
        assert not run_worker(app.registry, "emails")
    lines = [message for message in caplog.messages if message.startswith("emails wait")]
    assert lines == ["emails wait: the email folder cannot be written (File exists)"]
    assert "Traceback" not in caplog.text
    blocked.unlink()
    assert run_worker(app.registry, "emails")
    assert len(list(blocked.glob("*.eml"))) == 1


@pytest.mark.postgres
def test_the_current_email_is_the_last_when_the_process_stops(app, person):
    for address in (person["email"], "eve@example.org"):
        sign_up(app, person, email=address)
    asked = iter([False, True])
    assert app.find_service(AuthServices).mail_sender.send_due(lambda: next(asked)) == 1
    assert [email.finished_at is None for email in outgoing(app)] == [False, True]
