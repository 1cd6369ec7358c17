"""A person downloads their own data, and reads what they may store: English and German, wide and narrow."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from modhub_testing.caller import Caller

FEATURES = "modhub_auth modhub_following modhub_profiles modhub_tags modhub_moderation"
PASSWORD = "correct horse battery"
QUOTAS = {"MODHUB_MODERATION_NEW_DAYS": "7", "MODHUB_MODERATION_NEW_QUOTA_MODS": "1"}
QUOTAS |= {"MODHUB_MODERATION_QUOTA_MEGABYTES": "10", "MODHUB_MODERATION_QUOTA_UPLOADS": "20"}
Look = Callable[[Page, str], None]


@pytest.mark.parametrize(("width", "language"), [(360, "de"), (1280, "en")])
def test_a_person_downloads_their_data(  # noqa: PLR0917 - fixtures
    browser: Browser,
    serve_with: Any,
    look: Look,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    language: str,
) -> None:
    # C-DAT-1, C-DAT-4, C-DAT-5, C-QUO-7
    for name, value in QUOTAS.items():
        monkeypatch.setenv(name, value)
    with serve_with(tmp_path, FEATURES) as service:
        author = Caller([int(service.address.rpartition(":")[2])])
        person = {"email": "ada@example.org", "password": PASSWORD, "displayName": "Ada"}
        author.token = author.need(201, "POST", "/api/auth/register", person)["accessToken"]
        mod = author.published("Split bars")
        context = browser.new_context(
            base_url=service.address,
            viewport={"width": width, "height": 800},
            locale=language,
            color_scheme="dark" if width == 360 else "light",
        )
        context.set_default_timeout(100_000)
        page = context.new_page()
        page.goto("/Modhub/account/login?next=/Modhub/mine")
        page.locator('input[name="email"]').fill(person["email"])
        page.locator('input[name="password"]').fill(PASSWORD)
        page.locator('main button[type="submit"]').click()
        expect(page.locator("[data-message=quota] dd").first).to_have_text("1 von 1" if language == "de" else "1 of 1")
        look(page, f"quota {width}")
        page.goto("/Modhub/mine/new")
        page.locator("#title").fill("One too many")
        page.locator('main form.sheet button[type="submit"]').last.click()
        expect(page.locator("#errors")).to_be_visible()
        expect(page.locator("#title")).to_have_value("One too many")
        look(page, f"refused {width}")
        page.goto("/Modhub/account")
        page.locator('main a[href="/Modhub/account/data"]').click()
        look(page, f"ask {width}")
        page.locator("#currentPassword").fill(PASSWORD)
        page.locator('main form.sheet button[type="submit"]').click()
        expect(page.locator("[data-message=archive_waits], [data-message=archive_ready]")).to_be_visible()
        look(page, f"waits {width}")
        ready = page.locator("[data-message=archive_ready] a")
        for _ in range(120):
            if ready.count():
                break
            page.wait_for_timeout(500)
            page.reload()
        look(page, f"ready {width}")
        with page.expect_download() as download:
            ready.click()
        target = tmp_path / "data.zip"
        download.value.save_as(target)
        with zipfile.ZipFile(target) as archive:
            assert any(name.startswith(f"files/mods/{mod['id']}/") for name in archive.namelist())
        context.close()
