"""What the deletion of an account leaves in the outbox."""

import pytest
from sqlalchemy import select

from modhub_auth.container import AuthServices
from modhub_auth.models import OutgoingEmail

pytestmark = pytest.mark.slow


def recipients(app):
    with app.databases.readonly_session() as session:
        return sorted(session.scalars(select(OutgoingEmail.recipient)))


def test_a_deleted_account_leaves_no_address_in_the_outbox(app, person, run):
    # C-ACC-18
    for name in ("spam0", "spam1", "spam2"):
        app.post_json("/api/auth/register", {**person, "email": f"{name}@example.org"})
    assert len(recipients(app)) == 3
    assert app.find_service(AuthServices).mail_sender.send_due() == 3
    app.post_json("/api/auth/forgot", {"email": "spam0@example.org"}, status=204)
    assert run("account", "delete", "spam0@example.org", "--yes")[0] == 0
    assert recipients(app) == ["spam1@example.org", "spam2@example.org"]


def test_the_last_email_is_sent_and_forgets_its_address(app, person, mail, run):
    # C-ACC-18
    app.post_json("/api/auth/register", person)
    with app.databases.write_session.begin() as session:
        outbox = app.find_service(AuthServices).outbox
        outbox.queue(session, "account deleted", person["email"], outbox.compose("en", "Gone", []))
    assert run("account", "delete", person["email"], "--yes")[0] == 0
    assert recipients(app) == [person["email"]]
    assert [message["Subject"] for message in mail.read()] == ["Gone"]
    assert recipients(app) == [""]
