"""An account's whole life in a real browser without JavaScript; accessibility of its pages."""

import re
import runpy
import time
from pathlib import Path

import pyotp
import pytest
from playwright.sync_api import expect

import modhub_auth
from modhub_testing.messages import translated_texts
from modhub_testing.service import PASSWORD

HOME = "/Modhub/account"
PROVIDER = runpy.run_path(str(Path(__file__).parents[1] / "auth" / "openid_provider.py"))["Provider"]


@pytest.fixture(scope="module")
def provider():
    """A game platform: an OpenID 2.0 provider on loopback."""
    made = PROVIDER()
    yield made
    made.close()


@pytest.fixture(scope="module")
def service(serve_with, provider, tmp_path_factory):
    """A service of this module's own, which takes logins of that platform."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MODHUB_AUTH_STEAM", "true")
        patch.setenv("MODHUB_AUTH_STEAM_PROVIDER", provider.endpoint)
        with serve_with(tmp_path_factory.mktemp("accounts"), "modhub_auth") as running:
            yield running


@pytest.fixture
def plain(browser, service):
    """A page of a browser that runs no JavaScript."""
    context = browser.new_context(base_url=service.address, java_script_enabled=False)
    yield context.new_page()
    context.close()


def fill(page, button, **fields):
    for name, value in fields.items():
        page.locator(f"main [name={name}]").fill(value)
    page.locator("main").get_by_role("button", name=button, exact=True).click()


def register(page, address):
    page.goto(f"{HOME}/register")
    fill(page, "Create account", email=address, password=PASSWORD, displayName="Walker")
    expect(page.locator("h1")).to_have_text("Your account")


def test_the_focus_is_where_something_is_to_be_typed_without_javascript(plain):
    # C-PAGE-5
    page, address = plain, "walker@example.org"
    page.goto(f"{HOME}/register")
    fill(page, "Create account", email=address, password="short")
    page.get_by_role("alert").get_by_role("link").click()
    expect(page.locator("#password")).to_be_focused()
    fill(page, "Create account", password=PASSWORD, displayName="Walker")
    page.goto(f"{HOME}/authenticator")
    totp = pyotp.TOTP(page.locator("#authenticator-secret").inner_text())
    fill(page, "Add authenticator", code=totp.now(), currentPassword=PASSWORD)
    expect(page.locator("#recovery-codes code")).to_have_count(10)
    page.goto(HOME)
    fill(page, "Sign out")
    page.goto(HOME)
    fill(page, "Sign in", email=address, password=PASSWORD)
    expect(page.locator("#code")).to_be_focused()
    expect(page.locator("#password")).to_have_count(0)


def test_the_back_button_shows_nothing_after_signing_out(page, service):
    register(page, "back@example.org")
    page.goto(f"{HOME}/authenticator")
    page.goto(HOME)
    fill(page, "Sign out")
    expect(page).to_have_url(re.compile("/Modhub$"))
    assert page.context.cookies() == []
    for _ in range(2):
        page.go_back()
        expect(page.locator("h1")).to_have_text("Sign in")


def test_a_hasty_visitor_sees_the_recovery_codes(page):
    register(page, "hasty@example.org")
    page.goto(f"{HOME}/authenticator")
    totp = pyotp.TOTP(page.locator("#authenticator-secret").inner_text())
    page.locator("[name=code]").fill(totp.now())
    page.locator("[name=currentPassword]").fill(PASSWORD)
    posts = []
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
CONFIRM, RESET = f"{HOME}/confirm?token=", f"{HOME}/reset?token="


class Walk:
    """A page of a browser with its settings, and the judge of what it shows."""

    def __init__(self, page, look, language):
        self.page = page
        self.look = look
        self.language = language

    def at(self, name, path=""):
        """Judge the page that is open, or the one at ``path`` of the account."""
        if path:
            self.page.goto(path)
        self.look(self.page, name)
        text = self.page.locator("body").inner_text()
        assert self.language == "en" or [english for english in ENGLISH if english in text] == [], name

    def send(self, **fields):
        """Fill the first form of the page in and send it; the browser's own checks are left out."""
        form = self.page.locator("main form.sheet").first
        form.evaluate("form => { form.noValidate = true; }")
        for name, value in fields.items():
            form.locator(f"[name={name}]").fill(value)
        with self.page.expect_navigation():
            form.locator("button").click()


@pytest.mark.parametrize("settings", LOOKS, ids=["narrow dark German", "wide light English"])
def test_every_page_is_accessible_and_valid(browser, service, settings, look, mailed):
    width, scheme, language = settings
    # 320 px is also what a window of 1280 px has at 400 % (WCAG 1.4.10).
    size = {"width": width, "height": 800}
    context = browser.new_context(base_url=service.address, viewport=size, color_scheme=scheme, locale=language)
    walk, address = Walk(context.new_page(), look, language), f"look{width}@example.org"
    program = service.caller()
    walk.at("login", f"{HOME}/login")
    walk.send(email=address, password=PASSWORD)
    walk.at("wrong")
    walk.at("register", f"{HOME}/register")
    walk.send(email="no address", password="short", displayName="Ada")
    walk.at("refused")
    walk.send(email=address, password=PASSWORD)
    walk.at("unconfirmed")
    walk.at("dead", f"{HOME}/reset")
    walk.at("confirm", mailed(service.folder, address, CONFIRM))
    walk.send()
    walk.at("confirmed")
    walk.at("forgot", f"{HOME}/forgot")
    walk.send(email=address)
    walk.at("asked")
    walk.at("reset", used := mailed(service.folder, address, RESET))
    walk.send(password=PASSWORD)
    walk.at("set")
    walk.page.goto(f"{HOME}/login")
    walk.send(email=address, password=PASSWORD)
    walk.at("password", f"{HOME}/password")
    walk.at("authenticator", f"{HOME}/authenticator")
    totp = pyotp.TOTP(walk.page.locator("#authenticator-secret").inner_text())
    walk.send(code="000000", currentPassword=PASSWORD)
    walk.at("not the code")
    walk.send(code=totp.now(), currentPassword=PASSWORD)
    walk.at("codes")
    walk.at("new codes", f"{HOME}/recovery-codes")
    walk.at("link", f"{HOME}/platform/steam/link")
    walk.send(currentPassword=PASSWORD)
    walk.at("way to the platform")
    program.need(204, "POST", "/api/auth/forgot", {"email": address})
    walk.at("later reset", mailed(service.folder, address, RESET, other_than=used))
    walk.at("remove", f"{HOME}/authenticator")
    walk.at("account", HOME)
    walk.at("delete", f"{HOME}/delete")
    walk.at("logout", f"{HOME}/logout")
    walk.send()
    walk.page.goto(f"{HOME}/login")
    walk.send(email=address, password=PASSWORD)
    walk.at("code wanted")
    walk.at("platform", f"{HOME}/platform/steam?openid.mode=cancel")
    # Somebody gets an email about an account that they have not made.
    stranger = f"stranger{width}@example.org"
    program.need(201, "POST", "/api/auth/register", {"email": stranger, "password": PASSWORD})
    theirs = mailed(service.folder, stranger, CONFIRM)
    walk.at("confirm by password", theirs)
    walk.send(password="wrong horse battery")
    walk.at("not the password")
    walk.at("first reset", f"{theirs}&new=1")
    context.close()
