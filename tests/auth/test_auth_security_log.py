"""The log of security events: complete, and without secrets."""

import json
import logging
from typing import Any

import pytest
from sqlalchemy import text

from modhub.db import Base
from tests.people import add_authenticator

from .conftest import send

pytestmark = pytest.mark.slow

Person = dict[str, str]


def test_events_are_written_down_and_nothing_secret_is(
    auth: Any, person: Person, mail: Any, caplog: pytest.LogCaptureFixture
) -> None:
    # C-SET-5
    caplog.set_level(logging.DEBUG)
    app = auth(modhub_auth__failures="3")
    mail.app = app
    made = app.post_json("/api/auth/register", person).json
    confirm = mail.secret()
    secret, codes = add_authenticator(app, made["accountId"])
    fresh = app.post_json("/api/auth/refresh", {"refreshToken": made["refreshToken"]}).json
    app.post_json("/api/auth/login", {**person, "code": codes[0]}, status=200)
    app.post_json("/api/auth/login", {**person, "code": "000000"}, status=401)
    app.post_json("/api/auth/forgot", {"email": person["email"]}, status=204)
    reset = mail.secret()
    send(app.get(f"/Modhub/account/reset?token={reset}"), 200, password="another good password")
    for _ in range(2):
        app.post_json("/api/auth/login", person, status=401)
    app.post_json("/api/auth/login", person, status=429)
    lines = [json.loads(record.message) for record in caplog.records if record.name == "modhub.security"]
    events = [line["event"] for line in lines]
    assert set(events) >= {
        "registered",
        "signed in",
        "authenticator added",
        "authenticator removed",
        "code refused",
        "password refused",
        "limited",
        "password reset",
    }
    with app.databases.readonly_session() as session:
        tables = [table for name, table in Base.metadata.tables.items() if name.startswith("auth_")]
        stored = "\n".join(str(row) for table in tables for row in session.execute(table.select()))
        assert session.execute(text("SELECT count(*) FROM auth_account")).scalar() == 1
    hidden = [person["password"], "another good password", secret, confirm, reset, *codes]
    hidden += [made[name] for name in ("accessToken", "refreshToken")] + [fresh["refreshToken"]]
    for hidden_text in hidden:
        assert hidden_text not in caplog.text
        assert hidden_text not in stored
    assert "ada@" not in "\n".join(map(str, lines))
