"""The change of `modhub.secret` as docs/operations.md describes it: no process ever refuses the other's work."""

import re
import time
from functools import partial

import pyotp
import pytest

from modhub_testing.caller import Caller
from modhub_testing.form_browser import Browser
from modhub_testing.service import PASSWORD, SERVICE_SECRET
from tests.races import at_once

pytestmark = [pytest.mark.long, pytest.mark.parametrize("kind", ["postgresql"], scope="module", indirect=True)]

HOME = "/Modhub/account"
NEW = "the new secret of the tests, of more than 32 characters"
OLD_ONLY, OLD_FIRST, NEW_FIRST = SERVICE_SECRET, f"{SERVICE_SECRET}\n{NEW}", f"{NEW}\n{SERVICE_SECRET}"
# The first process is always restarted first; in between the two differ.
STEPS = [(OLD_FIRST, OLD_ONLY), (OLD_FIRST, OLD_FIRST), (NEW_FIRST, OLD_FIRST), (NEW_FIRST, NEW_FIRST)]
_KEY = re.compile(rb'id="authenticator-secret"[^>]*>([A-Z2-7]{32})<')
_PERIOD = re.compile(rb'name="period"[^>]*value="([0-9]+)"')
_MARK = re.compile(rb'name="commonPassword"[^>]*value="([0-9a-f]{64})"')
_LINK = re.compile(r"/Modhub/account/(confirm\?token=[0-9a-f]{64})")


@pytest.fixture
def service(services, kind):
    made = services(kind, 0, schema="modhub_auth", settings={"modhub_auth.failures": "1000000"})
    yield made
    made.stop()


def start(service, secret):
    service.environ["MODHUB_SECRET"] = secret
    return service.start()


class Person:
    """Somebody whose every second request goes to the other process."""

    def __init__(self, service, name, here, there):
        self.email = f"{name}@example.org"
        self.service, self.here, self.there = service, here, there
        self.browser, self.key = Browser(here), ""
        self.session = here.need(201, "POST", "/api/auth/register", self.credentials())

    def credentials(self, **more):
        return {"email": self.email, "password": PASSWORD, **more}

    def at(self, caller):
        """The browser's requests go there from now on."""
        self.browser.caller = caller

    def use_tokens(self):
        bearer = {"Authorization": f"Bearer {self.session['accessToken']}"}
        assert self.there.ask("GET", "/api/auth/me", headers=bearer).status == 200
        refresh = {"refreshToken": self.session["refreshToken"]}
        assert self.there.ask("POST", "/api/auth/refresh", refresh).status == 200

    def use_pages(self):
        """The form comes from one process and goes to the other."""
        self.at(self.here)
        token = self.browser.form(f"{HOME}/login")
        self.at(self.there)
        assert self.browser.post(f"{HOME}/login", self.credentials(), token).status == 303
        self.at(self.here)
        assert self.browser.get(HOME).status == 200

    def use_email(self):
        """Either process may send it."""
        deadline = time.monotonic() + 60
        while not (link := self.link()):
            assert time.monotonic() < deadline, self.service.admin("letters", "list").stdout
            time.sleep(0.05)
        self.at(self.there)
        token = self.browser.form(f"{HOME}/{link}")
        assert self.browser.post(f"{HOME}/{link}", {}, token).status == 200

    def link(self):
        for path in (self.service.folder / "mail").glob("*.eml"):
            text = path.read_text()
            if f"To: {self.email}" in text and (link := _LINK.search(text)):
                return link[1]
        return ""

    def use_authenticator(self):
        self.at(self.here)
        page = self.browser.get(f"{HOME}/authenticator")
        key, period = _KEY.search(page.body), _PERIOD.search(page.body)
        assert key is not None
        assert period is not None
        self.key = key[1].decode()
        generator, moment = pyotp.TOTP(self.key), int(time.time())
        fields = {"currentPassword": PASSWORD, "code": generator.at(moment), "period": period[1].decode()}
        token = self.browser.form(f"{HOME}/authenticator")
        self.at(self.there)
        assert self.browser.post(f"{HOME}/authenticator", fields, token).status == 200
        code = {"code": generator.at(moment + 30)}
        self.here.need(200, "POST", "/api/auth/login", self.credentials(**code))

    def use_common_password(self):
        """The process that warned of it is not the one that accepts it."""
        self.browser.cookies.clear()
        self.at(self.here)
        fields = {"email": f"common.{self.email}", "password": "password1234"}
        token = self.browser.form(f"{HOME}/register")
        mark = _MARK.search(self.browser.post(f"{HOME}/register", fields, token).body)
        assert mark
        self.at(self.there)
        fields["commonPassword"] = mark[1].decode()
        assert self.browser.post(f"{HOME}/register", fields, token).status == 303


def journey(service, name, here, there):
    person = Person(service, name, here, there)
    person.use_tokens()
    person.use_pages()
    person.use_email()
    person.use_authenticator()
    person.use_common_password()


def test_at_each_step_of_the_documented_change_the_processes_understand_each_other(service):
    # C-TOK-4
    running = [start(service, OLD_ONLY), start(service, OLD_ONLY)]
    early = service.register("early")
    for number, step in enumerate(STEPS):
        changed = number % 2
        running[changed].stop()
        running[changed] = start(service, step[changed])
        one, other = (Caller([process.port]) for process in running)
        ways = {f"step{number}": (one, other), f"step{number}back": (other, one)}
        at_once([partial(journey, service, name, *callers) for name, callers in ways.items()])
        for process in running:
            assert early.ask("GET", "/api/auth/me", port=process.port).status == 200
    assert " is dead" not in service.log()
