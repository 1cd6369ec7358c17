"""Every account action over a real process with full logging.

Afterwards no secret is in clear in its log, in its database (rows and raw files) or in an error response.
"""

import html
import re
import runpy
import secrets
import time
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pyotp
import pytest
from sqlalchemy import NullPool, create_engine, inspect

from modhub_testing.form_browser import Browser
from modhub_testing.service import SERVICE_SECRET

pytestmark = pytest.mark.long

HOME = "/Modhub/account"
MACHINE_KEY, ADDRESS_KEY, MAIL_PASSWORD = (secrets.token_hex(32) for _ in range(3))
PROVIDER = runpy.run_path(str(Path(__file__).parents[2] / "auth" / "openid_provider.py"))
_LINK = re.compile(r"^\S+/Modhub/account/(confirm|reset)\?token=([0-9a-f]{64})$", re.MULTILINE)
_RECOVERY = re.compile(rb"\b[0-9a-f]{7}(?:-[0-9a-f]{7}){3}\b")
_AUTHENTICATOR = re.compile(rb'id="authenticator-secret"[^>]*>([A-Z2-7]{32})<')
_WAY = re.compile(rb'href="([^"]*openid\.return_to[^"]*)"')


@pytest.fixture(scope="module")
def provider():
    """A game platform."""
    made = PROVIDER["Provider"]()
    yield made
    made.close()


@pytest.fixture(scope="module")
def service(services, kind, provider):
    settings = {
        "modhub_auth.steam": "true",
        "modhub_auth.steam_provider": provider.endpoint,
        "ApiPrivateKeys": MACHINE_KEY,
        "modhub.storage_address_key": ADDRESS_KEY,
        "mail.password": MAIL_PASSWORD,
    }
    includes = "modhub_auth modhub_builds"
    made = services(kind, 0, includes=includes, schema=includes, settings=settings)
    # Every logger says all it can, SQLAlchemy its statements with their parameters.
    wordy = re.sub(r"(?m)^level = .*$", "level = DEBUG", made.ini.read_text()).replace(
        "root, modhub", "root, modhub, sql"
    )
    made.ini.write_text(f"{wordy}\n[logger_sql]\nlevel = INFO\nhandlers =\nqualname = sqlalchemy.engine\n")
    made.start()
    yield made
    made.stop()


class Journey:
    """Somebody who does everything that can be done with an account; keeps every secret on the way."""

    def __init__(self, service, provider):
        self.service, self.browser, self.provider = service, Browser(service.caller()), provider
        self.caller = service.caller()
        self.hidden = {
            "deployment": SERVICE_SECRET,
            "machine key": MACHINE_KEY,
            "address key": ADDRESS_KEY,
        }
        self.hidden["mail password"] = MAIL_PASSWORD
        self.refused = []
        self.email = f"{secrets.token_hex(6)}@example.org"
        self.password = self.hide("password", f"correct horse {secrets.token_hex(8)}")
        self.codes = []

    def hide(self, name, secret):
        self.hidden[f"{name} {len(self.hidden)}"] = secret
        return secret

    def call(self, status, path, body=None, **headers):
        """A program's call."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.caller.ask("GET" if body is None else "POST", path, body, sent)
        assert answer.status == status, (path, answer)
        if status >= 400:
            self.refused.append(answer)
        document = answer.json if answer.body else {}
        for name in {"accessToken", "refreshToken"} & set(document):
            self.hide(name, document[name])
        return document

    def login(self, status, **fields):
        return self.call(status, "/api/auth/login", {"email": self.email, "password": self.password, **fields})

    def submit(self, status, page, **fields):
        """A form of a page."""
        token = self.hide("form token", self.browser.form(f"{HOME}/{page}"))
        answer = self.browser.post(f"{HOME}/{page}", fields, token)
        assert answer.status == status, (page, answer)
        self.keep_cookie()
        if status >= 400 and page != "authenticator":  # which shows the secret until its first code has come
            self.refused.append(answer)
        return answer

    def keep_cookie(self):
        if self.browser.cookies.get("modhub"):
            self.hide("session cookie", self.browser.cookies["modhub"])

    def mailed_link(self, purpose):
        """The secret of the newest link for ``purpose``, once its email has arrived."""
        deadline = time.monotonic() + 120
        known = set(self.hidden.values())
        while time.monotonic() < deadline:
            for path in (self.service.folder / "mail").glob("*.eml"):
                link = _LINK.search(path.read_text())
                if link and link[1] == purpose and link[2] not in known:
                    return self.hide(f"link to {purpose}", link[2])
            time.sleep(0.05)
        raise AssertionError("no email")

    def register_and_confirm(self):
        made = self.call(201, "/api/auth/register", {"email": self.email, "password": self.password, "client": "hud"})
        self.call(409, "/api/auth/register", {"email": self.email, "password": self.password})
        self.call(200, "/api/auth/me", Authorization=f"Bearer {made['accessToken']}")
        self.call(401, "/api/auth/me", Authorization=f"Bearer {made['refreshToken']}")
        fresh = self.call(200, "/api/auth/refresh", {"refreshToken": made["refreshToken"]})
        self.call(401, "/api/auth/refresh", {"refreshToken": made["refreshToken"]})
        self.call(204, "/api/auth/logout", {"refreshToken": fresh["refreshToken"]})
        self.submit(200, f"confirm?token={self.mailed_link('confirm')}", password=self.password)

    def sign_in(self):
        self.login(401, password=self.hide("wrong password", secrets.token_hex(12)))
        self.call(400, "/api/auth/login", {"email": self.email, "password": self.password, "code": 5})
        self.login(200)
        self.submit(401, "login", email=self.email, password=self.hide("wrong password", secrets.token_hex(12)))
        self.submit(303, "login", email=self.email, password=self.password)

    def enrol(self):
        match = _AUTHENTICATOR.search(self.browser.get(f"{HOME}/authenticator").body)
        secret = self.hide("authenticator", match[1].decode())
        generator, now = pyotp.TOTP(secret), int(time.time())
        self.submit(400, "authenticator", currentPassword=self.password, code="000000")
        code = self.hide("code", generator.at(now))
        codes = self.submit(200, "authenticator", currentPassword=self.password, code=code)
        self.codes = [self.hide("recovery code", code.decode()) for code in _RECOVERY.findall(codes.body)]
        self.hidden |= {f"{code} joined": code.replace("-", "") for code in self.codes}
        assert len(self.codes) == 10
        self.login(401)
        self.login(401, code=generator.at(now))
        self.login(200, code=self.hide("code", generator.at(now + 30)))
        self.login(200, code=self.codes.pop())

    def reset(self):
        self.call(204, "/api/auth/forgot", {"email": self.email})
        page = f"reset?token={self.mailed_link('reset')}"
        self.submit(400, page, password="short")
        self.password = self.hide("password", f"reset horse {secrets.token_hex(8)}")
        self.submit(200, page, password=self.password)
        dead = self.browser.get(f"{HOME}/{page}")
        assert dead.status == 410
        self.refused.append(dead)
        self.submit(303, "login", email=self.email, password=self.password, code=self.codes.pop())

    def platform(self):
        """Link a platform's login, and sign in by it in the same browser, with a code."""
        way = _WAY.search(self.submit(200, "platform/steam/link", currentPassword=self.password).body)
        assert self.come_back(html.unescape(way[1].decode())).headers["Location"] == f"{HOME}?done=linked"
        self.submit(303, "logout")
        way = self.browser.get(f"{HOME}/platform/steam").headers["Location"]
        pending = re.search(rb'name="pending" value="([^"]+)"', self.come_back(way).body)
        sealed, token = self.hide("pending", pending[1].decode()), self.browser.form(f"{HOME}/login")
        code = {"pending": sealed, "code": self.codes.pop()}
        assert self.browser.post(f"{HOME}/platform/steam", code, token).status == 303
        self.keep_cookie()

    def come_back(self, way):
        fields = self.provider.assertion(way)
        self.hide("assertion", fields["openid.sig"])
        target = urlsplit(fields["openid.return_to"])
        self.hide("state", parse_qs(target.query)["state"][0])
        query = urlencode(fields)
        answer = self.browser.get(f"{target.path}?{target.query}&{query}")
        assert answer.status in (200, 303), answer
        self.keep_cookie()
        return answer

    def machines(self):
        self.call(200, "/api/modhub/key", X_Api_Key=MACHINE_KEY)
        self.call(401, "/api/modhub/key", X_Api_Key=self.hide("wrong key", secrets.token_hex(32)))
        self.call(401, "/api/modhub/key", X_Api_Key=ADDRESS_KEY)
        report = {"baseUrl": "https://files.example.org"}
        self.call(401, "/api/modhub/storage/address", report, X_Api_Key=MACHINE_KEY)
        self.call(200, "/api/modhub/storage/address", report, X_Api_Key=ADDRESS_KEY)

    def change(self):
        new = self.hide("password", f"changed horse {secrets.token_hex(8)}")
        self.submit(403, "password", currentPassword=new, password=new)
        self.submit(303, "password", currentPassword=self.password, password=new)
        self.password = new
        expired = self.browser.post(f"{HOME}/password", {"currentPassword": new, "password": new}, "0" * 64)
        assert expired.status == 400
        self.refused.append(expired)

    def leave(self):
        self.submit(303, "authenticator", currentPassword=self.password)
        self.submit(303, "delete", currentPassword=self.password)
        self.login(401)

    def leaks(self, text):
        """The names of the secrets that ``text`` holds; six digits are a code where they stand by themselves."""
        leaked = [name for name, secret in self.hidden.items() if len(secret) > 6 and secret.encode() in text]
        codes = {name: secret for name, secret in self.hidden.items() if len(secret) == 6}
        alone = set(re.findall(rb"(?<![0-9A-Za-z.])[0-9]{6}(?![0-9A-Za-z])", text)) if codes else set()
        return leaked + [name for name, code in codes.items() if code.encode() in alone]


def dump(service):
    """Every row of every table, as text."""
    with create_engine(service.url, poolclass=NullPool).connect() as connection:
        names = inspect(connection).get_table_names()
        assert {"auth_login", "auth_letter", "auth_link", "core_blob"} <= set(names)
        rows = [f"{name} {row!r}" for name in names for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"')]
    return "\n".join(rows).encode()


def raw_files(service, request):
    """The files of the database as they lie there, its write-ahead log with what was deleted among them."""
    if service.url.startswith("sqlite"):
        yield from service.folder.glob("modhub.sqlite*")
    else:
        yield from (path for path in (request.getfixturevalue("postgres").base / "data").rglob("*") if path.is_file())


def test_no_secret_is_in_clear_after_a_whole_journey(service, provider, request):
    # C-ERR-9, C-TOK-3, T-C8
    journey = Journey(service, provider)
    for part in ("register_and_confirm", "sign_in", "enrol", "reset", "platform", "machines", "change"):
        getattr(journey, part)()
        assert journey.leaks(dump(service)) == [], part
    kept = service.rows("SELECT count(*) FROM auth_letter WHERE finished_at > 0 AND sealed IS NOT NULL")
    assert kept == [(0,)], "what an email said is forgotten once it has been sent"
    journey.leave()
    assert journey.leaks(dump(service)) == []
    service.stop()
    written = service.log()
    assert journey.leaks(written.encode()) == []
    assert f'"path": "{HOME}/reset"' in written
    assert "INSERT INTO auth_login" in written, "the log says all it can"
    files = list(raw_files(service, request))
    assert files
    for path in files:
        # Six digits can be anything in a binary file; the rows and the log have been searched for the codes.
        leaked = [name for name in journey.leaks(path.read_bytes()) if not name.startswith("code ")]
        assert leaked == [], path.name
    shown = {name for answer in journey.refused for name in journey.leaks(html.unescape(answer.body.decode()).encode())}
    assert {name for name in shown if not name.startswith("form token")} == set()
    assert len(journey.refused) > 12
