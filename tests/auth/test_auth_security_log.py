"""The log of security events: complete, and without secrets."""

import json
import logging

import pytest

from tests.people import add_authenticator

from .conftest import send

pytestmark = pytest.mark.slow


def test_events_are_written_down_and_nothing_secret_is(auth, person, mail, caplog):
    # C-ERR-9
    caplog.set_level(logging.DEBUG)
    app = mail.app = auth(modhub_auth__failures="3")
    made = app.post_json("/api/auth/register", person).json
    confirm = mail.secret()
    secret, codes = add_authenticator(app, made["accountId"])
    fresh = app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}).json
    for code, status in ((codes[0], 200), ("000000", 401)):
        app.post_json("/api/auth/login", {**person, "code": code}, status=status)
    app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
    reset = mail.secret()
    send(app.get(f"/Modhub/account/reset?token={reset}"), 200, password="another good password")
    for status in (401, 401, 429):
        app.post_json("/api/auth/login", person, status=status)
    lines = [json.loads(record.message) for record in caplog.records if record.name == "modhub.security"]
    assert {line["event"] for line in lines} >= {
        *("registered", "signed in", "authenticator added", "authenticator removed"),
        *("code refused", "password refused", "limited", "password reset"),
    }
    hidden = [person["password"], "another good password", secret, confirm, reset, *codes]
    hidden += [made["accessToken"], made["refreshToken"], fresh["refreshToken"]]
    for hidden_text in hidden:
        assert hidden_text not in caplog.text
    assert "ada@" not in "\n".join(map(str, lines))
