"""Every action of an account, with all that can be logged: no secret is in clear in log, database or refusals."""

import html
import logging
import re
import secrets
from datetime import timedelta
from pathlib import Path

import pyotp
import pytest
from sqlalchemy import inspect, make_url, select

from modhub.db import now
from modhub_auth.models import OutgoingEmail
from modhub_testing import TEST_SECRET
from tests.people import read

from .conftest import Mail, come_back, forgot, log_in, me, refresh, send, sign_in, sign_up, token_of

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
STEAM = f"{HOME}/platform/steam"
MACHINE_KEY, ADDRESS_KEY, MAIL_PASSWORD = (secrets.token_hex(32) for _ in range(3))


class Secrets:
    """The secrets on the way, each with its name, and the refusals."""

    def __init__(self, app, monkeypatch):
        self.app, self.mail, self.refused = app, Mail(app), []
        self.names = {TEST_SECRET: "deployment", MACHINE_KEY: "machine key", ADDRESS_KEY: "address key"}
        self.names[MAIL_PASSWORD] = "mail password"
        request = app.do_request

        def watched(*arguments, **options):
            answer = request(*arguments, **options)
            self.keep(answer)
            return answer

        monkeypatch.setattr(app, "do_request", watched)

    def hide(self, name, secret):
        self.names[secret] = name
        return secret

    def keep(self, answer):
        # A refused form of an authenticator shows its secret until the first code has come.
        if answer.status_int >= 400 and not answer.request.path.endswith("/authenticator"):
            self.refused.append(answer)
        if "modhub" in self.app.cookies:
            self.hide("session cookie", self.app.cookies["modhub"].strip('"'))
        if answer.content_type == "application/json":
            for name in {"accessToken", "refreshToken"} & answer.json.keys():
                self.hide(name, answer.json[name])
        elif answer.content_type == "text/html":
            for field in answer.html.select("[name=csrf_token], [name=pending]"):
                self.hide(f"field {field['name']}", field["value"])

    def mailed_link(self):
        self.hide("link", self.mail.secret())
        return self.mail.link()

    def leaked(self, text):
        """The names of those in a text; six digits are a code where they stand by themselves."""
        words = set(re.findall(r"(?<![0-9A-Za-z.])[0-9]{6}(?![0-9A-Za-z])", text))
        return [
            name for secret, name in self.names.items() if (secret in words if len(secret) == 6 else secret in text)
        ]

    def in_rows(self):
        """The names of those in any row of any table."""
        with self.app.databases.readonly_engine.connect() as connection:
            tables = inspect(connection).get_table_names()
            assert {"auth_login", "auth_letter", "auth_link", "core_blob"} <= set(tables)
            rows = [str(connection.exec_driver_sql(f'SELECT * FROM "{name}"').all()) for name in tables]
        return self.leaked("\n".join(rows))


def database_files(app, request):
    """The files of the database as they lie there, its write-ahead log with what was deleted among them."""
    url = make_url(str(app.registry.settings["sqlalchemy.url"]))
    if app.databases.dialect == "sqlite":
        return list(Path(url.database).parent.glob(f"{Path(url.database).name}*"))
    return [path for path in (request.getfixturevalue("postgres").base / "data").rglob("*") if path.is_file()]


def fill_authenticator(known, **proof):
    """Add an authenticator; its codes, and the recovery codes."""
    page = known.app.get(f"{HOME}/authenticator")
    codes = pyotp.TOTP(known.hide("authenticator", page.html.select_one("#authenticator-secret").text))
    send(page, 400, code="000000", **proof)
    done = send(page, 200, code=known.hide("code", codes.at(now())), **proof)
    recovery = [known.hide("recovery code", code.text) for code in done.html.select("#recovery-codes code")]
    for code in recovery:
        known.hide("recovery code joined", code.replace("-", ""))
    return codes, recovery


def arrive(known, provider, way):
    """Come back from the platform to which this way leads."""
    fields = provider.assertion(way)
    known.hide("assertion", fields["openid.sig"])
    known.hide("state", re.search("state=([^&]+)", fields["openid.return_to"])[1])
    return come_back(known.app, fields)


@pytest.fixture
def known(auth, provider, caplog, monkeypatch):
    """The secrets of an application that logs all it can."""
    for logger in ("", "modhub", "modhub.requests", "modhub.security", "sqlalchemy.engine"):
        caplog.set_level(logging.DEBUG, logger)
    app = auth(
        fresh=True,
        ApiPrivateKeys=MACHINE_KEY,
        mail__password=MAIL_PASSWORD,
        modhub__storage_address_key=ADDRESS_KEY,
        modhub_auth__steam="true",
        modhub_auth__steam_provider=provider.endpoint,
    )
    return Secrets(app, monkeypatch)


def test_no_secret_is_in_clear_after_a_whole_journey(known, provider, person, caplog, request):
    # C-ERR-9, C-TOK-3, T-C8
    app = known.app
    for secret in (person["password"], wrong := "a wrong password", "a reset password", "a changed password"):
        known.hide("password", secret)
    made = sign_up(app, person, client="hud")
    sign_up(app, person, 409)
    me(app, {"accessToken": made["refreshToken"]}, 401)
    fresh = refresh(app, made)
    refresh(app, made, 401)
    app.post_json("/api/auth/logout", {"refreshToken": fresh["refreshToken"]}, status=204)
    send(app.get(known.mailed_link()), 200, password=person["password"])
    log_in(app, person, 401, password=wrong)
    log_in(app, person, 400, code=5)
    sign_in(app, {**person, "password": wrong}, 401)
    sign_in(app, person)
    codes, recovery = fill_authenticator(known, currentPassword=person["password"])
    log_in(app, person, 401, code=codes.at(now()))
    log_in(app, person, code=known.hide("code", codes.at(now() + timedelta(seconds=30))))
    log_in(app, person, code=recovery.pop())
    assert known.in_rows() == []
    forgot(app, person["email"])
    link = known.mailed_link()
    page = app.get(link)
    send(page, 400, password="short")
    send(page, 200, password="a reset password")
    app.get(link, status=410)
    person["password"] = "a reset password"
    app.post(f"{HOME}/login", {**person, "csrf_token": token_of(app), "code": recovery.pop()}, status=303)
    page = send(app.get(f"{STEAM}/link"), 200, currentPassword=person["password"])
    arrive(known, provider, page.html.select_one(".ways a")["href"])
    send(app.get(f"{HOME}/logout"), 303)
    send(arrive(known, provider, app.get(STEAM).headers["Location"]), 303, code=recovery.pop())
    assert known.in_rows() == []
    for key in (known.hide("wrong key", secrets.token_hex(32)), ADDRESS_KEY):
        app.get("/api/modhub/key", headers={"X-Api-Key": key}, status=401)
    app.get("/api/modhub/key", headers={"X-Api-Key": MACHINE_KEY})
    for key, status in ((MACHINE_KEY, 401), (ADDRESS_KEY, 200)):
        report = {"baseUrl": "https://files.example.org"}
        app.post_json("/api/modhub/storage/address", report, headers={"X-Api-Key": key}, status=status)
    page = app.get(f"{HOME}/password")
    send(page, 403, currentPassword=wrong, password="a changed password")
    send(page, 303, currentPassword=person["password"], password="a changed password")
    app.post(f"{HOME}/password", {"csrf_token": "0" * 64, "currentPassword": wrong, "password": wrong}, status=400)
    assert known.in_rows() == []
    sealed = select(OutgoingEmail.sealed).where(OutgoingEmail.finished_at.is_not(None))
    assert set(read(app, sealed)) == {None}, "what an email said is forgotten once it has been sent"
    send(app.get(f"{HOME}/delete"), 303, currentPassword="a changed password")
    assert known.in_rows() == []
    assert known.leaked(caplog.text) == []
    assert f'"path": "{HOME}/reset"' in caplog.text
    assert "INSERT INTO auth_login" in caplog.text, "the log says all it can"
    files = database_files(app, request)
    assert files
    for path in files:
        # Six digits can be anything in a binary file; the rows and the log have been searched for the codes.
        assert set(known.leaked(path.read_bytes().decode("latin-1"))) <= {"code"}, path.name
    shown = {name for answer in known.refused for name in known.leaked(html.unescape(answer.text))}
    assert shown <= {"field csrf_token"}
    assert len(known.refused) > 12
