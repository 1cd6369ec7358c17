"""An account's whole life in a real browser without JavaScript; and its pages seen by axe (issue 3, "Must show")."""

import email.policy
import re
import time
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path

import pyotp
import pytest
from axe_playwright_python.sync_playwright import Axe
from bleach._vendor import html5lib
from playwright.sync_api import Browser, Page, expect

HOME = "/Modhub/account"
PASSWORD = "correct horse battery"
LETTER_SECONDS = 20.0
Go = Callable[[str], Page]


def newest_link(folder: Path, purpose: str, address: str) -> str:
    """The link in the newest letter for this purpose to ``address``; a letter leaves by itself."""
    deadline = time.monotonic() + LETTER_SECONDS
    while time.monotonic() < deadline:
        for path in sorted(folder.glob("*.eml"), key=lambda one: one.stat().st_mtime_ns, reverse=True):
            message: EmailMessage = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
            body = message.get_body(("plain",))
            found = re.search(rf"/Modhub/account/{purpose}\?token=\w+", body.get_content() if body else "")
            if found and message["To"] == address:
                return found[0]
        time.sleep(0.1)
    raise AssertionError(f"no letter to {purpose} has come")


@pytest.fixture
def plain(browser: Browser, service: object) -> Iterator[Page]:
    """A page of a browser that runs no JavaScript."""
    context = browser.new_context(base_url=service.address, java_script_enabled=False)  # type: ignore[attr-defined]
    yield context.new_page()
    context.close()


def fill(page: Page, button: str, **fields: str) -> None:
    for name, value in fields.items():
        page.locator(f"main [name={name}]").fill(value)
    page.locator("main").get_by_role("button", name=button, exact=True).click()


def test_a_whole_life_without_javascript(plain: Page, service: object, tmp_path: Path) -> None:
    folder: Path = service.folder / "mail"  # type: ignore[attr-defined]
    page, address = plain, "walker@example.org"
    page.goto(f"{HOME}/password")
    expect(page).to_have_url(re.compile(r"/login\?next="))
    page.get_by_role("link", name="Make an account").click()
    fill(page, "Make the account", email=address, password="short")
    expect(page.get_by_role("alert")).to_contain_text("password")
    fill(page, "Make the account", password=PASSWORD, displayName="Walker")
    expect(page).to_have_url(re.compile(f"{HOME}/password$"))
    page.goto(newest_link(folder, "confirm", address))
    fill(page, "Confirm")
    expect(page.locator("h1")).to_have_text("Your address is confirmed")
    page.get_by_role("link", name="Sign in", exact=True).last.click()
    fill(page, "Sign in", email=address, password=PASSWORD)
    expect(page.locator("#logins")).to_contain_text("walker@example.org (confirmed)")
    page.screenshot(path=tmp_path / "account.png", full_page=True)
    page.get_by_role("link", name="Add an authenticator").click()
    totp = pyotp.TOTP(page.locator("#authenticator-secret").inner_text())
    page.screenshot(path=tmp_path / "authenticator.png", full_page=True)
    fill(page, "Add it", code=totp.now())
    codes = page.locator("#recovery-codes code").all_inner_texts()
    assert len(codes) == 10
    page.screenshot(path=tmp_path / "codes.png", full_page=True)
    page.goto(HOME)
    fill(page, "Sign out")
    page.goto(HOME)
    fill(page, "Sign in", email=address, password=PASSWORD)
    expect(page.get_by_role("alert")).to_contain_text("code of the authenticator")
    fill(page, "Sign in", password=PASSWORD, code=totp.at(time.time() + 30))
    expect(page.locator("#signed-in")).to_contain_text("this one")
    page.goto(f"{HOME}/forgot")
    fill(page, "Send a letter", email=address)
    page.goto(newest_link(folder, "reset", address))
    fill(page, "Set the password", password="another password")
    page.goto(HOME)
    fill(page, "Sign in", email=address, password="another password", code=codes[0])
    expect(page.locator("h1")).to_have_text("Your account")
    page.get_by_role("link", name="Delete your account").click()
    fill(page, "Delete it for ever", currentPassword="another password")
    page.goto(HOME)
    fill(page, "Sign in", email=address, password="another password", code=codes[1])
    expect(page.get_by_role("alert")).to_contain_text("wrong")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_the_pages_are_accessible_and_valid(
    browser: Browser, service: object, width: int, scheme: str, tmp_path: Path
) -> None:
    context = browser.new_context(
        base_url=service.address,  # type: ignore[attr-defined]
        viewport={"width": width, "height": 800},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    page = context.new_page()

    def look(name: str) -> None:
        page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
        sideways = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert sideways == 0, f"{name} scrolls sideways"
        found = Axe().run(page)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
        parser = html5lib.HTMLParser()
        parser.parse(page.content())
        assert parser.errors == [], f"{name}: {parser.errors}"

    for name in ("login", "register", "forgot", "logout", "reset"):
        page.goto(f"{HOME}/{name}")
        look(name)
    page.goto(f"{HOME}/register")
    page.locator("main [name=email]").fill("no address")
    page.evaluate("document.querySelector('main form').noValidate = true")
    fill(page, "Make the account", password=PASSWORD)
    look("refused")
    fill(page, "Make the account", email=f"look{width}{scheme}@example.org", password=PASSWORD)
    for name in ("", "/password", "/authenticator", "/delete"):
        page.goto(HOME + name)
        look(name.strip("/") or "account")
    context.close()
