"""A running service and a page of a real browser.

These tests run only if their folder is named (``make test-browser``); then a missing browser is a failure.
``MODHUB_PICTURES=folder`` saves a screenshot of every page, for people: no test checks them, and a browser on a busy
machine sometimes fails to take one ("Unable to capture screenshot").
"""

import email.policy
import functools
import http.server
import os
import re
import shutil
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from bleach._vendor import html5lib
from playwright.sync_api import expect, sync_playwright

from modhub_testing.caller import Caller
from modhub_testing.service import PASSWORD, Installation, free_port

expect.set_options(timeout=60_000)  # against hanging alone, as all the other ceilings here
# Without these a browser on a closed network tries, at length, to reach its maker; and it has no GPU to look for.
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)


@dataclass(frozen=True)
class Service:
    """A service of its own; ``address`` is its origin, ``folder`` holds its database, files, emails and log."""

    address: str
    folder: Path

    def caller(self, token=""):
        """A program that calls it."""
        return Caller([int(self.address.rpartition(":")[2])], token)

    def sign_in(self, page, email, then="/Modhub/mine"):
        """By the form, with the password that all accounts of these tests have."""
        page.goto(f"/Modhub/account/login?next={then}")
        page.locator("#email").fill(email)
        page.locator("#password").fill(PASSWORD)
        page.locator('main button[type="submit"]').click()


@contextmanager
def serving(folder, features, *commands):
    """A service with these features, after these commands of `modhub-admin`."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    settings = {"modhub.base_url": address}
    installation = Installation(folder, f"sqlite:///{folder}/modhub.sqlite", features, settings=settings)
    for command in ("migrate", *commands):
        done = installation.admin(command)
        assert done.returncode == 0, done
    try:
        installation.start(port=port)
        yield Service(address, folder)
    finally:
        installation.stop()


@pytest.fixture(scope="session")
def serve_with():
    """`serving`, for tests that need features of their own: modules of tests cannot import one another."""
    return serving


EMAIL_SECONDS = 100.0


@pytest.fixture(scope="session")
def mailed():
    """`mailed(folder, address, start, holding=…, other_than=…)`: what begins so in an email, once it is sent."""

    def find(folder, address, start, *, holding="", other_than=""):
        deadline = time.monotonic() + EMAIL_SECONDS
        while time.monotonic() < deadline:
            for file in sorted((folder / "mail").glob("*.eml"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
                message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
                text = str(message.get_body(("plain",)).get_content())
                found = re.search(rf"{re.escape(start)}[\w-]+", text)
                if message["To"] == address and holding in text and found and found[0] != other_than:
                    return found[0]
            time.sleep(0.1)
        raise AssertionError(f"no email to {address} with {start} has come")

    return find


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("service"), "modhub_auth") as running:
        yield running


@pytest.fixture(scope="session")
def gallery(tmp_path_factory):
    """The core alone with the samples and the stand-in accounts: the cookie `account=7` is account 7."""
    with serving(tmp_path_factory.mktemp("gallery"), "modhub_testing.accounts", "demo") as running:
        yield running


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def elsewhere():
    """The repository's files on another host name and another port than the service's."""
    handler = functools.partial(Quiet, directory=str(Path(__file__).parents[2]))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser():
    program = shutil.which("chromium")
    assert program, "chromium is not installed; `make test-browser` installs it when you are root"
    flags = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=flags, timeout=120_000)
        yield launched
        launched.close()


def is_problem(line):
    """Say whether the browser's console complains; an answer that is a refusal is no complaint of the page."""
    return line.type == "error" and not line.text.startswith("Failed to load resource")


@contextmanager
def visiting(browser, service, **options):
    """A page of a fresh profile; addresses are relative to the service. An error in its console fails the test."""
    context = browser.new_context(base_url=service.address, **options)
    context.set_default_timeout(100_000)
    opened = context.new_page()
    problems = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda line: problems.append(line.text) if is_problem(line) else None)
    try:
        yield opened
    finally:
        context.close()
    assert problems == []


@pytest.fixture
def page(browser, service):
    with visiting(browser, service) as opened:
        yield opened


@pytest.fixture
def visit(browser, gallery):
    """`visit(account=7, java_script_enabled=False, ...)`: a page of the gallery in a profile of its own."""
    with ExitStack() as open_pages:

        def begin(account=None, **options):
            opened = open_pages.enter_context(visiting(browser, gallery, **options))
            if account is not None:
                opened.context.add_cookies([{"name": "account", "value": str(account), "url": gallery.address}])
            return opened

        yield begin


@pytest.fixture
def picture(request):
    """`picture(page, name)`: keep what the whole page looks like, when somebody asked for pictures."""
    folder = os.environ.get("MODHUB_PICTURES")

    def take(page, name):
        if folder:
            file = re.sub(r"[^\w-]+", "-", f"{request.node.name} {name}")
            page.screenshot(path=Path(folder) / f"{file}.png", full_page=True)

    return take


MISPLACED = ", ".join(
    [
        ":is(h1, h2, h3, h4, h5, h6) [role]",
        ":is(h1, h2, h3, h4, h5, h6, p, span, label, button) :is(div, p, ul, ol, table, section, form, h1, h2, h3)",
        ":is(span, div, p, code, time, dt, dd):not([role])[aria-label]",
        ":is(a, button) :is(a, button, input, select, textarea, details)",
    ]
)
"""What a validator of HTML finds in the content of elements and a parser does not."""


@pytest.fixture
def beyond():
    """`beyond(page)`: the pixels by which it is wider than its window, with what the style sheet cuts off."""
    return lambda page: int(
        page.evaluate(
            """() => {
                const [root, main] = [document.documentElement, document.querySelector("main")];
                main.style.overflowX = "visible";
                const beyond = root.scrollWidth - root.clientWidth;
                main.style.removeProperty("overflow-x");
                return beyond;
            }"""
        )
    )


@pytest.fixture
def look(picture, beyond):
    """`look(page, name)`: no barrier that axe knows, nothing sideways, one first heading, valid markup; a picture."""

    def judge(page, name):
        picture(page, name)
        assert beyond(page) == 0, f"{name} scrolls sideways"
        assert page.locator("h1").count() == 1, name
        barriers = Axe().run(page)
        assert barriers.violations_count == 0, f"{name}: {barriers.generate_report()}"
        parser = html5lib.HTMLParser()
        parser.parse(page.context.request.get(page.url).text())
        assert parser.errors == [], f"{name}: {[(at, code) for at, code, _ in parser.errors]}"
        misplaced = page.evaluate(
            "(rule) => [...document.querySelectorAll(rule)].map((element) => element.outerHTML)", MISPLACED
        )
        assert misplaced == [], f"{name}: {misplaced}"
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
        assert len(ids) == len(set(ids)), f"{name}: an id stands twice"

    return judge
