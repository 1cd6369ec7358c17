"""Accounts over REST on a fresh database of each kind, with fast password hashing."""

import email.policy
import re
import socketserver
import threading
from functools import partial
from urllib.parse import urlencode, urlsplit

import pytest
from sqlalchemy import update

from modhub.base.errors import ApiError
from modhub.base.settings import boolean, positive
from modhub.ui.i18n import Catalogs
from modhub_auth.container import AuthServices
from modhub_auth.models import Login
from modhub_auth.signin import openid, recovery
from modhub_testing.service import free_port
from tests.people import cheap_hashes, emails_of, text_of, write

from .openid_provider import Provider

READ_AT_EACH_CALL = {
    "modhub_auth__failures": positive,
    "modhub_auth__register_limit": positive,
    "modhub_auth__forgot_limit": positive,
    "modhub_auth__require_verified": boolean,
}
"""Set on a shared application: configuring another one takes longer than a test."""


@pytest.fixture
def auth(start, tmp_path, monkeypatch):
    """``auth(**settings)``: an application with accounts, its emails in a folder."""

    def begin(**settings):
        settings.setdefault("modhub__mail_dir", "{folder}/mail")
        chosen = {name: settings.pop(name) for name in READ_AT_EACH_CALL.keys() & settings.keys()}
        with cheap_hashes(monkeypatch):
            app = start("modhub_auth", **settings)
        for name, value in chosen.items():
            monkeypatch.setitem(app.registry.settings, name.replace("__", "."), READ_AT_EACH_CALL[name](value))
        return app

    return begin


@pytest.fixture
def app(auth):
    """An application with accounts, its settings at their defaults."""
    return auth()


@pytest.fixture
def person():
    """What somebody registers with."""
    return {"email": "ada@example.org", "password": "correct horse battery"}


class MailServer:
    """An SMTP server on loopback (RFC 5321) that keeps what it takes.

    ``refuse`` maps recipients to an answer; at an email for ``hang_up_on`` the connection ends.
    """

    def __init__(self, port=0):
        self.taken = []
        self.refuse = {}
        self.hang_up_on = ""
        self.heard = []
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            timeout = 100

            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def handle(self):
                self.say("220 test")
                recipient = ""
                for raw in iter(self.rfile.readline, b""):
                    line = raw.decode("utf-8", "replace").strip()
                    verb = line[:4].upper()
                    if verb == "EHLO":
                        self.wfile.write(b"250-test\r\n250-8BITMIME\r\n250-AUTH PLAIN\r\n250 SMTPUTF8\r\n")
                    elif verb == "RCPT":
                        recipient = line.partition("<")[2].partition(">")[0]
                        self.say(outer.refuse.get(recipient, "250 ok"))
                    elif verb == "DATA" and recipient == outer.hang_up_on:
                        return
                    elif verb == "DATA":
                        self.say("354 go on")
                        outer.taken.append((recipient, self.read()))
                        self.say("250 taken")
                    elif verb == "QUIT":
                        self.say("221 bye")
                        return
                    else:
                        outer.heard.append(line)
                        self.say("535 no" if verb == "AUTH" else "250 ok")

            def read(self):
                lines = iter(self.rfile.readline, b".\r\n")
                whole = b"".join(line[1:] if line.startswith(b"..") else line for line in lines)
                return email.message_from_bytes(whole, policy=email.policy.default)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Server(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(scope="session")
def mail_server_port():
    """The same for all tests, so that they share applications."""
    return free_port()


@pytest.fixture
def mail_server(mail_server_port):
    """A mail server that works."""
    server = MailServer(mail_server_port)
    yield server
    server.close()


@pytest.fixture
def new_mail_server():
    """``new_mail_server(port)``: one that begins when the test says so."""
    made = []

    def new(port):
        made.append(MailServer(port))
        return made[-1]

    yield new
    for server in made:
        server.close()


class Mail:
    """The emails of an application, read as the people who get them read them."""

    def __init__(self, app):
        self.app = app

    def read(self):
        """Send what is due; all emails so far, oldest first."""
        return emails_of(self.app)

    def link(self, at=-1):
        """The path and query of the link in an email, the newest unless told."""
        match = re.search(r"^http://127\.0\.0\.1:6543(/Modhub/account/\S+)$", text_of(self.read()[at]), re.MULTILINE)
        assert match is not None
        return match[1]

    def secret(self, at=-1):
        """The secret in that link."""
        return self.link(at).partition("token=")[2]


@pytest.fixture
def mail(app):
    """The emails of ``app``."""
    return Mail(app)


def send(page, status, headers=None, **fields):
    """Send the first form that posts."""
    form = next(form for form in page.forms.values() if form.method.upper() == "POST")
    for name, value in fields.items():
        form[name] = value
    return form.submit(status=status, headers=headers)


def register(app, person):
    """Register on the page, which signs in."""
    return send(app.get("/Modhub/account/register"), 303, **person)


def sign_in(app, person, status=303, headers=None):
    """Sign in on the page."""
    return send(app.get("/Modhub/account/login"), status, headers, **person)


def token_of(app):
    """What every form of this visitor carries."""
    return str(app.get("/Modhub/account/logout").html.select_one("input[name=csrf_token]")["value"])


def reset_password(app, session, secret, password_hash="another hash", **more):
    """What the form of a link in an email does."""
    own, messages = app.find_service(AuthServices), app.find_service(Catalogs).translations["en"]
    recovery.reset_password(session, own.outbox, secret, password_hash, messages, **more)


def bearer(made):
    """The header of a program that got this session."""
    return {"Authorization": f"Bearer {made['accessToken']}"}


def sign_up(app, person, status=201, **more):
    """The session of a program that registers somebody."""
    return app.post_json("/api/auth/register", {**person, **more}, status=status).json


def log_in(app, person, status=200, **more):
    """The session of a program that signs in, or its refusal."""
    return app.post_json("/api/auth/login", {**person, **more}, status=status).json


def confirm(app):
    """All addresses are confirmed."""
    write(app, update(Login).values(verified=True))


def forgot(app, address):
    """A program asks for a link to a new password."""
    app.post_json("/api/auth/forgot", {"email": address}, status=204)


def me(app, session, status=200):
    """What a program reads of its account."""
    return app.get("/api/auth/me", headers=bearer(session), status=status).json


def refresh(app, session, status=200, **more):
    """The next session of a program."""
    sent = {"refreshToken": session["refreshToken"], **more}
    return app.post_json("/api/auth/refresh", sent, status=status).json


def seen(answer):
    """An answer without the request id, which alone differs between answers that must be the same (C-OWN-12)."""
    return answer.status, answer.body, sorted(pair for pair in answer.headerlist if pair[0] != "X-Request-Id")


@pytest.fixture
def run(app, run_admin):
    """``run("account", "list")``: the exit code of a command of the operator, and all that it printed."""
    return partial(run_admin, app)


@pytest.fixture(scope="session")
def provider_port():
    """The same for all tests, so that they share an application."""
    return free_port()


@pytest.fixture
def provider(provider_port):
    """A game platform."""
    made = Provider(provider_port)
    yield made
    made.close()


@pytest.fixture
def steam(auth, provider):
    """An application whose people may sign in with that platform."""
    return auth(modhub_auth__steam="true", modhub_auth__steam_provider=provider.endpoint)


def judge(provider, forged=(), more="", **edited):
    """The subject of an assertion, edited before or forged after it was signed; else the status of the refusal."""
    steam, origin = openid.Steam(provider.endpoint), "http://127.0.0.1:6543"
    fields = provider.assertion(steam.sign_in_url(f"{origin}/back?state=x", origin), **edited) | dict(forged)
    try:
        return steam.verify(urlencode(fields) + more, f"{origin}/back?state=x").subject
    except ApiError as refusal:
        return refusal.status


def come_back(site, fields):
    """Follow the provider's redirect."""
    target = urlsplit(fields["openid.return_to"])
    return site.get(f"{target.path}?{target.query}&{urlencode(fields)}", expect_errors=True)
