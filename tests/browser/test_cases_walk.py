"""From the opening of a case to the end of an appeal: narrow and wide, in English and in German."""

import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from modhub_testing.caller import Caller

PASSWORD = "correct horse battery"
WAIT_SECONDS = 60.0
Look = Callable[[Page, str], None]


def sign_in(page: Page, address: str, then: str) -> None:
    page.goto(f"/Modhub/account/login?next={then}")
    page.locator('input[name="email"]').fill(address)
    page.locator('input[name="password"]').fill(PASSWORD)
    page.locator('main button[type="submit"]').click()


def appeal_link(folder: Path) -> str:
    """The path of the link in the statement of reasons, once the service has sent it."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        for file in folder.glob("*.eml"):
            if link := re.search(r"(/Modhub/appeal\?token=[\w-]+)", file.read_text("utf-8", "replace")):
                return link[1]
        time.sleep(0.2)
    raise AssertionError("no statement of reasons was sent")


@pytest.mark.parametrize(("width", "locale"), [(360, "de"), (1280, "en")])
def test_a_case_from_notice_to_release(  # noqa: PLR0917 - fixtures
    browser: Browser, serve_with: Any, look: Look, tmp_path: Path, width: int, locale: str
) -> None:
    # C-CAS-3, C-CAS-6, C-CAS-11, C-APL-1, C-APL-3
    with serve_with(tmp_path, "modhub_auth modhub_profiles modhub_moderation") as service:
        accounts = {}
        for name in ("Ada", "Mo"):
            caller = Caller([int(service.address.rpartition(":")[2])])
            person = {"email": f"{name.lower()}@example.org", "password": PASSWORD, "displayName": name}
            answer = caller.need(201, "POST", "/api/auth/register", person)
            caller.token, accounts[name] = answer["accessToken"], answer["accountId"]
            if name == "Ada":
                mod = caller.published("Split bars")
        with closing(sqlite3.connect(tmp_path / "modhub.sqlite", timeout=30)) as database, database:
            database.execute("UPDATE auth_login SET verified = 1")
            database.execute("INSERT INTO moderation_moderator VALUES (?, 0)", (accounts["Mo"],))
        options = {"viewport": {"width": width, "height": 800}, "locale": locale}
        moderator, visitor = (browser.new_context(base_url=service.address, **options) for _ in range(2))
        page, stranger = moderator.new_page(), visitor.new_page()
        for opened in (page, stranger):
            opened.set_default_timeout(30_000)
        sign_in(page, "mo@example.org", "/Modhub/moderation/cases")
        expect(page.locator("[data-message=factor_missing]")).to_be_visible()
        with closing(sqlite3.connect(tmp_path / "modhub.sqlite", timeout=30)) as database, database:
            database.execute("INSERT INTO auth_authenticator VALUES (?, 'x', 0, 0)", (accounts["Mo"],))
        page.goto("/Modhub/moderation/cases")
        page.locator("#number").fill(str(mod["id"]))
        page.locator("section[aria-labelledby=open] button").click()
        look(page, f"case {width}")
        page.locator('input[name=kind][value="hide"]').check()
        page.locator("#ground").select_option("malware")
        page.locator("#facts").fill("The archive holds a keylogger.")
        page.locator("section[aria-labelledby=decide] button").click()
        expect(page.locator("#errors")).to_be_visible()
        page.locator("#basis").select_option("terms")
        page.locator("#clause").fill("§ 4")
        page.locator("section[aria-labelledby=decide] button").click()
        expect(page.locator("[data-message=decided]")).to_be_visible()
        look(page, f"decided {width}")
        page.locator('a[href$="/mod/preview"]').click()
        expect(page.locator("[data-message=preview]")).to_be_visible()
        look(page, f"hidden mod {width}")
        page.go_back()
        assert stranger.goto(mod["url"]).status == 404
        stranger.goto(appeal_link(tmp_path / "mail"))
        expect(stranger.get_by_text("The archive holds a keylogger.")).to_be_visible()
        look(stranger, f"statement {width}")
        stranger.locator("#text").fill("It is a test of keyboards.")
        stranger.locator("section[aria-labelledby=appeal] button").click()
        expect(stranger.locator("[data-message=open_appeal]")).to_be_visible()
        look(stranger, f"appealed {width}")
        page.reload()
        look(page, f"appeal {width}")
        page.locator('input[name=outcome][value="reversed"]').check()
        page.locator("#reasons").fill("It is harmless.")
        page.locator("section[aria-labelledby=appeal] button").click()
        expect(page.locator("[data-message=appeal_decided]")).to_be_visible()
        assert stranger.goto(mod["url"]).status == 200
        sign_in(stranger, "ada@example.org", "/Modhub/decisions")
        look(stranger, f"decisions {width}")
        stranger.goto(f"/Modhub/mine/{mod['id']}")
        look(stranger, f"workshop {width}")
        page.goto("/Modhub/moderation/cases")
        look(page, f"cases {width}")
        for context in (moderator, visitor):
            context.close()
