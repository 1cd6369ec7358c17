"""An account's whole life in a real browser without JavaScript; accessibility of its pages."""

import email.policy
import json
import re
import runpy
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pyotp
import pytest
from axe_playwright_python.sync_playwright import Axe
from bleach._vendor import html5lib
from playwright.sync_api import Browser, Page, expect

import modhub_auth
from modhub_testing.messages import translated_texts

HOME = "/Modhub/account"
PASSWORD = "correct horse battery"
EMAIL_SECONDS = 100.0
PROVIDER = runpy.run_path(str(Path(__file__).parents[1] / "auth" / "openid_provider.py"))["Provider"]


@pytest.fixture(scope="module")
def provider() -> Iterator[Any]:
    """A game platform: an OpenID 2.0 provider on loopback."""
    made = PROVIDER()
    yield made
    made.close()


@pytest.fixture(scope="module")
def service(serve_with: Any, provider: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service of this module's own, which takes logins of that platform."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MODHUB_AUTH_STEAM", "true")
        patch.setenv("MODHUB_AUTH_STEAM_PROVIDER", provider.endpoint)
        with serve_with(tmp_path_factory.mktemp("accounts"), "modhub_auth") as running:
            yield running


def newest_email(service: Any, address: str, subject: str) -> str:
    """The text of the newest email to ``address`` with this subject; an email leaves by itself."""
    deadline = time.monotonic() + EMAIL_SECONDS
    while time.monotonic() < deadline:
        files = sorted((service.folder / "mail").glob("*.eml"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in files:
            message: EmailMessage = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
            body = message.get_body(("plain",))
            if message["To"] == address and message["Subject"] == subject and body is not None:
                return str(body.get_content())
        time.sleep(0.1)
    raise AssertionError(f"no email with the subject {subject!r} has come")


def link(service: Any, address: str, subject: str, other_than: str = "") -> str:
    """The path of the link in that email; of a later one, when it is to be another."""
    deadline = time.monotonic() + EMAIL_SECONDS
    while time.monotonic() < deadline:
        match = re.search(r"/Modhub/account/\w+\?token=\w+", newest_email(service, address, subject))
        assert match is not None
        if match[0] != other_than:
            return match[0]
        time.sleep(0.1)
    raise AssertionError(f"no other email with the subject {subject!r} has come")


@pytest.fixture
def plain(browser: Browser, service: Any) -> Iterator[Page]:
    """A page of a browser that runs no JavaScript."""
    context = browser.new_context(base_url=service.address, java_script_enabled=False)
    yield context.new_page()
    context.close()


def fill(page: Page, button: str, **fields: str) -> None:
    for name, value in fields.items():
        page.locator(f"main [name={name}]").fill(value)
    page.locator("main").get_by_role("button", name=button, exact=True).click()


def post(service: Any, path: str, **body: str) -> tuple[int, dict[str, Any]]:
    """What a program gets."""
    request = urllib.request.Request(f"{service.address}{path}", json.dumps(body).encode(), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=100) as answer:
            return answer.status, json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


def register(page: Page, address: str) -> None:
    page.goto(f"{HOME}/register")
    fill(page, "Create account", email=address, password=PASSWORD, displayName="Walker")
    expect(page.locator("h1")).to_have_text("Your account")


def test_a_whole_life_without_javascript(plain: Page, service: Any, picture: Any) -> None:
    # C-PAGE-5
    page, address = plain, "walker@example.org"
    page.goto(f"{HOME}/password")
    expect(page).to_have_url(re.compile(r"/login\?next="))
    page.get_by_role("link", name="Create an account").click()
    fill(page, "Create account", email=address, password="short")
    page.get_by_role("alert").get_by_role("link").click()
    expect(page.locator("#password")).to_be_focused()
    expect(page.locator("#password-error")).to_contain_text("10 to 1024")
    fill(page, "Create account", password=PASSWORD, displayName="Walker")
    expect(page).to_have_url(re.compile(f"{HOME}/password"))
    page.goto(link(service, address, "Confirm your email address"))
    fill(page, "Confirm")
    expect(page.locator("h1")).to_have_text("Your email address was confirmed")
    page.locator("main").get_by_role("link", name="Your account").click()
    expect(page.locator("#logins")).to_contain_text("walker@example.org (confirmed)")
    picture(page, "account")
    page.get_by_role("link", name="Add an authenticator").click()
    totp = pyotp.TOTP(page.locator("#authenticator-secret").inner_text())
    fill(page, "Add authenticator", code=totp.now(), currentPassword=PASSWORD)
    shown = page.locator("#recovery-codes code")
    expect(shown).to_have_count(10)
    codes = shown.all_inner_texts()
    page.goto(HOME)
    fill(page, "Sign out")
    page.goto(HOME)
    fill(page, "Sign in", email=address, password=PASSWORD)
    expect(page.locator("#code")).to_be_focused()
    expect(page.locator("#password")).to_have_count(0)
    fill(page, "Sign in", code=totp.at(time.time() + 30))
    expect(page.locator("#signed-in")).to_contain_text("this browser")
    page.goto(f"{HOME}/forgot")
    fill(page, "Send reset link", email=address)
    page.goto(link(service, address, "Choose a new password"))
    expect(page.get_by_role("checkbox", name="Authenticator")).to_be_checked()
    fill(page, "Set password", password="another password")
    page.goto(HOME)
    fill(page, "Sign in", email=address, password="another password")
    fill(page, "Sign in", code=codes[0])
    expect(page.locator("h1")).to_have_text("Your account")
    page.get_by_role("link", name="Delete your account").click()
    fill(page, "Delete my account", currentPassword="another password")
    expect(page.locator("h1")).to_have_text("Your account was deleted")
    page.goto(HOME)
    fill(page, "Sign in", email=address, password="another password")
    expect(page.get_by_role("alert")).to_contain_text("wrong")


def test_a_platform_and_a_program_without_javascript(plain: Page, service: Any) -> None:
    # C-PAGE-5
    page, address, yes = plain, "player@example.org", "Yes, sign in"
    register(page, address)
    page.goto(link(service, address, "Confirm your email address"))
    fill(page, "Confirm")
    page.goto(HOME)
    # Link the platform's login; somebody who thinks better of it is told so.
    page.get_by_role("link", name="Link your Steam account").click()
    fill(page, "Continue", currentPassword=PASSWORD)
    page.get_by_role("link", name="Sign in with Steam").click()
    page.get_by_role("button", name="No").click()
    expect(page.locator("h1")).to_have_text("Sign-in failed")
    page.get_by_role("link", name="Try again").click()
    fill(page, "Continue", currentPassword=PASSWORD)
    page.get_by_role("link", name="Sign in with Steam").click()
    page.get_by_role("button", name=yes).click()
    expect(page.get_by_role("status")).to_have_text("The sign-in method was linked.")
    expect(page.locator("#logins")).to_contain_text("76561198000000001 (Steam)")
    newest_email(service, address, "A sign-in method was linked")
    fill(page, "Sign out")
    # Sign in by it, to where the visitor wanted to go.
    page.goto(f"{HOME}/password")
    page.get_by_role("link", name="Sign in with Steam").click()
    page.get_by_role("button", name=yes).click()
    expect(page).to_have_url(re.compile(f"{HOME}/password$"))
    # A program that is signed in meanwhile is seen, and ended.
    status, program = post(service, "/api/auth/login", email=address, password=PASSWORD, client="Laptop in the attic")
    assert status == 200
    page.goto(HOME)
    expect(page.locator("#signed-in")).to_contain_text("Laptop in the attic")
    page.get_by_role("button", name="Sign out Laptop in the attic").click()
    expect(page.get_by_role("status")).to_have_text("Session signed out.")
    expect(page.locator("#signed-in")).not_to_contain_text("Laptop in the attic")
    assert post(service, "/api/auth/refresh", refreshToken=program["refreshToken"])[0] == 401
    # Unlink it: the session that it began ends with it.
    page.get_by_role("link", name="Unlink and sign out 76561198000000001").click()
    fill(page, "Unlink", currentPassword=PASSWORD)
    expect(page.locator("h1")).to_have_text("Sign in")
    newest_email(service, address, "A sign-in method was unlinked")
    # Now it is nobody's, and makes an account of its own; which its owner deletes.
    page.get_by_role("link", name="Sign in with Steam").click()
    page.get_by_role("button", name=yes).click()
    expect(page.locator("#logins li")).to_have_count(1)
    page.get_by_role("link", name="Delete your account").click()
    fill(page, "Delete my account")
    page.goto(HOME)
    expect(page.locator("h1")).to_have_text("Sign in")


def test_the_back_button_shows_nothing_after_signing_out(page: Page, service: Any) -> None:
    register(page, "back@example.org")
    page.goto(f"{HOME}/authenticator")
    page.goto(HOME)
    fill(page, "Sign out")
    expect(page).to_have_url(re.compile("/Modhub$"))
    assert page.context.cookies() == []
    for _ in range(2):
        page.go_back()
        expect(page.locator("h1")).to_have_text("Sign in")


def test_a_hasty_visitor_sees_the_recovery_codes(page: Page) -> None:
    register(page, "hasty@example.org")
    page.goto(f"{HOME}/authenticator")
    totp = pyotp.TOTP(page.locator("#authenticator-secret").inner_text())
    page.locator("[name=code]").fill(totp.now())
    page.locator("[name=currentPassword]").fill(PASSWORD)
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    # The button is pressed again while the first answer is on its way.
    page.route("**/authenticator", lambda route: (time.sleep(0.3), route.continue_()))
    twice = "const one = document.querySelector('main form button'); one.click(); setTimeout(() => one.click(), 100)"
    page.evaluate(f"() => {{ {twice} }}")
    expect(page.locator("#recovery-codes li")).to_have_count(10)
    assert len(posts) == 1


LOOKS = [(320, "dark", "de"), (1280, "light", "en")]
CATALOGUE = translated_texts(Path(modhub_auth.__file__).parent, "de")
ENGLISH = [text for text, german in CATALOGUE.items() if text not in german and " " in text and "%" not in text]
SUBJECTS = {"en": ("Confirm your email address", "Choose a new password")}
SUBJECTS["de"] = tuple(CATALOGUE[subject][0] for subject in SUBJECTS["en"])


class Look:
    """A page of a browser with its settings, and the judge of what it shows."""

    def __init__(self, page: Page, picture: Any, beyond: Any, language: str) -> None:
        self.page = page
        self.picture = picture
        self.beyond = beyond
        self.language = language

    def at(self, name: str, path: str = "") -> None:
        """Judge the page that is open, or the one at ``path`` of the account."""
        page = self.page
        if path:
            page.goto(path)
        self.picture(page, name)
        assert self.beyond(page) == 0, f"{name} scrolls sideways"
        assert page.locator("h1").count() == 1, name
        barriers = Axe().run(page)
        assert barriers.violations_count == 0, f"{name}: {barriers.generate_report()}"
        parser = html5lib.HTMLParser()
        parser.parse(page.content())
        assert parser.errors == [], f"{name}: {parser.errors}"
        text = page.locator("body").inner_text()
        assert self.language == "en" or [english for english in ENGLISH if english in text] == [], name

    def send(self, **fields: str) -> None:
        """Fill the first form of the page in and send it; the browser's own checks are left out."""
        form = self.page.locator("main form.sheet").first
        form.evaluate("form => { form.noValidate = true; }")
        for name, value in fields.items():
            form.locator(f"[name={name}]").fill(value)
        with self.page.expect_navigation():
            form.locator("button").click()


@pytest.mark.parametrize("settings", LOOKS, ids=["narrow dark German", "wide light English"])
def test_every_page_is_accessible_and_valid(
    browser: Browser, service: Any, settings: Any, picture: Any, beyond: Any
) -> None:
    width, scheme, language = settings
    # 320 px is also what a window of 1280 px has at 400 % (WCAG 1.4.10).
    size: Any = {"width": width, "height": 800}
    context = browser.new_context(base_url=service.address, viewport=size, color_scheme=scheme, locale=language)
    look, address = Look(context.new_page(), picture, beyond, language), f"look{width}@example.org"
    confirm, reset = SUBJECTS[language]
    look.at("login", f"{HOME}/login")
    look.send(email=address, password=PASSWORD)
    look.at("wrong")
    look.at("register", f"{HOME}/register")
    look.send(email="no address", password="short", displayName="Ada")
    look.at("refused")
    look.send(email=address, password=PASSWORD)
    look.at("unconfirmed")
    look.at("dead", f"{HOME}/reset")
    look.at("confirm", link(service, address, confirm))
    look.send()
    look.at("confirmed")
    look.at("forgot", f"{HOME}/forgot")
    look.send(email=address)
    look.at("asked")
    look.at("reset", used := link(service, address, reset))
    look.send(password=PASSWORD)
    look.at("set")
    look.page.goto(f"{HOME}/login")
    look.send(email=address, password=PASSWORD)
    look.at("password", f"{HOME}/password")
    look.at("authenticator", f"{HOME}/authenticator")
    totp = pyotp.TOTP(look.page.locator("#authenticator-secret").inner_text())
    look.send(code="000000", currentPassword=PASSWORD)
    look.at("not the code")
    look.send(code=totp.now(), currentPassword=PASSWORD)
    look.at("codes")
    look.at("new codes", f"{HOME}/recovery-codes")
    look.at("link", f"{HOME}/platform/steam/link")
    look.send(currentPassword=PASSWORD)
    look.at("way to the platform")
    assert post(service, "/api/auth/forgot", email=address)[0] == 204
    look.at("later reset", link(service, address, SUBJECTS["en"][1], other_than=used))
    look.at("remove", f"{HOME}/authenticator")
    look.at("account", HOME)
    look.at("delete", f"{HOME}/delete")
    look.at("logout", f"{HOME}/logout")
    look.send()
    look.page.goto(f"{HOME}/login")
    look.send(email=address, password=PASSWORD)
    look.at("code wanted")
    look.at("platform", f"{HOME}/platform/steam?openid.mode=cancel")
    # Somebody gets an email about an account that they have not made.
    stranger = f"stranger{width}@example.org"
    assert post(service, "/api/auth/register", email=stranger, password=PASSWORD)[0] == 201
    theirs = link(service, stranger, SUBJECTS["en"][0])
    look.at("confirm by password", theirs)
    look.send(password="wrong horse battery")
    look.at("not the password")
    look.at("first reset", f"{theirs}&new=1")
    context.close()
