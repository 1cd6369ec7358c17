"""From an advisory to the one who has the file: the page of the mod, the list, and ``modhub-get check``; no script."""

import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from modhub_testing.caller import Caller

FEATURES = "modhub_auth modhub_sync modhub_moderation"
CONTENT = b"malware"
DIGEST = sha256(CONTENT).hexdigest()
TOLD = [
    "--kind",
    "malware",
    "--reason",
    "It sends saved passwords.",
    "--advice",
    "Delete the file and change your passwords.",
]
Look = Callable[[Page, str], None]


def run(program: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / program), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


@pytest.fixture
def advised(serve_with: Any, tmp_path: Path) -> Any:
    """A service with a mod that somebody has installed, the mod, and the folder."""
    with serve_with(tmp_path, FEATURES) as service:
        author = Caller([int(service.address.rpartition(":")[2])])
        person = {"email": "ada@example.org", "password": "correct horse battery", "displayName": "Ada"}
        author.token = author.need(201, "POST", "/api/auth/register", person)["accessToken"]
        mod = author.published("Rally HUD", CONTENT)
        folder = tmp_path / "mods"
        assert run("modhub-get", "--url", service.address, "install", mod["guid"], "--into", folder).returncode == 0
        assert run("modhub-get", "check", "--into", folder).returncode == 0
        yield service, mod, folder


def test_malware_is_told_to_those_who_have_it(browser: Browser, advised: Any, look: Look) -> None:
    # C-ADV-5, C-ADV-6, C-ADV-7
    service, mod, folder = advised
    assert run("modhub-admin", "-c", service.ini, "advisory", "add", DIGEST, *TOLD).returncode == 0
    assert run("modhub-admin", "-c", service.ini, "advisory", "add", "0" * 64, *TOLD).returncode == 0
    assert run("modhub-admin", "-c", service.ini, "advisory", "withdraw", "0" * 64).returncode == 0
    check = run("modhub-get", "check", "--into", folder)
    assert (check.returncode, "Delete the file and change your passwords." in check.stderr) == (1, True)
    for width, language, heading in ((360, "de", "Warnungen"), (1280, "en", "Advisories")):
        context = browser.new_context(
            base_url=service.address,
            viewport={"width": width, "height": 800},
            locale=language,
            color_scheme="dark" if width == 360 else "light",
        )
        context.set_default_timeout(100_000)
        page = context.new_page()
        page.goto(mod["url"])
        warning = page.locator("[data-message=advised]")
        expect(warning).to_be_visible()
        look(page, f"mod {width}")
        warning.locator("a").click()
        expect(page.locator("h1")).to_have_text(heading)
        expect(page.locator(f"#file-{DIGEST}")).to_be_in_viewport()
        look(page, f"advisories {width}")
        context.close()
