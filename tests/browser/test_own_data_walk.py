"""A person downloads their own data, and reads what they may store: without script, in English and German."""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from modhub_testing.caller import Caller

FEATURES = "modhub_auth modhub_following modhub_profiles modhub_tags modhub_moderation"
PASSWORD = "correct horse battery"
QUOTAS = {"MODHUB_MODERATION_NEW_DAYS": "7", "MODHUB_MODERATION_NEW_MODS": "1"}
QUOTAS |= {"MODHUB_MODERATION_QUOTA_MEGABYTES": "10", "MODHUB_MODERATION_QUOTA_UPLOADS": "20"}
Look = Callable[[Page, str], None]


@pytest.fixture(scope="module")
def limited(serve_with: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service with quotas."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUOTAS.items():
            patch.setenv(name, value)
        with serve_with(tmp_path_factory.mktemp("limited"), FEATURES) as service:
            yield service


@pytest.mark.parametrize(
    ("width", "language", "used"), [(360, "de", "17 Bytes von 10 MB"), (1280, "en", "17 bytes of 10 MB")]
)
def test_a_person_downloads_their_data(  # noqa: PLR0917 - fixtures
    browser: Browser, limited: Any, look: Look, tmp_path: Path, width: int, language: str, used: str
) -> None:
    # C-DAT-1, C-QUO-7
    author = Caller([int(limited.address.rpartition(":")[2])])
    person = {"email": f"ada-{language}@example.org", "password": PASSWORD, "displayName": "Ada"}
    author.token = author.need(201, "POST", "/api/auth/register", person)["accessToken"]
    mod = author.published("Split bars")
    options: dict[str, Any] = {"base_url": limited.address, "locale": language}
    options |= {"viewport": {"width": width, "height": 800}, "color_scheme": "dark" if width == 360 else "light"}
    # axe needs scripts: it looks at the same addresses in another profile.
    plain, scripted = browser.new_context(**options, java_script_enabled=False), browser.new_context(**options)
    page, judge = plain.new_page(), scripted.new_page()
    for context in (plain, scripted):
        context.set_default_timeout(100_000)

    def see(name: str) -> None:
        scripted.add_cookies(plain.cookies())  # type: ignore[arg-type]
        judge.goto(page.url)
        look(judge, f"{name} {width}")

    page.goto("/Modhub/account/login?next=/Modhub/mine")
    page.locator('input[name="email"]').fill(person["email"])
    page.locator('input[name="password"]').fill(PASSWORD)
    page.locator('main button[type="submit"]').click()
    expect(page.locator("[data-message=quota] dd").first).to_have_text(used)
    expect(page.locator("[data-message=new_account]")).to_be_visible()
    see("quota")
    page.goto("/Modhub/mine/new")
    see("new")
    page.locator("#title").fill("One too many")
    page.locator('main form.sheet button[type="submit"]').last.click()
    expect(page.locator("#errors")).to_be_visible()
    expect(page.locator("#title")).to_have_value("One too many")
    page.goto("/Modhub/account")
    page.locator('main a[href="/Modhub/account/data"]').click()
    see("ask")
    page.locator("#currentPassword").fill(PASSWORD)
    with page.expect_download() as download:
        page.locator('main form.sheet button[type="submit"]').click()
    target = tmp_path / "data.zip"
    download.value.save_as(target)
    with zipfile.ZipFile(target) as archive:
        assert any(name.startswith(f"files/mods/{mod['id']}/") for name in archive.namelist())
    plain.close()
    scripted.close()
