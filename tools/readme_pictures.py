"""``make pictures``: README's pictures of the pages as they are now, with the sample mods of ``modhub-admin demo``."""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

from modhub_testing.service import Installation, features_of, free_port

FOLDER = Path(__file__).parents[1] / "docs" / "images"
FEATURES = features_of(Path(__file__).parents[1] / "development.ini")
MOD = "Ghost Racer"
SIZE = ViewportSize(width=1280, height=960)
PICTURE_SECONDS = 120
QUIET_SECONDS = 3
"""After so long without another one, all small pictures are made."""


def serve_samples(folder: Path) -> Installation:
    """Start a service with the sample mods, and wait until cards show their small pictures, not the originals."""
    port = free_port()
    settings = {"modhub.base_url": f"http://127.0.0.1:{port}"}
    service = Installation(folder, f"sqlite:///{folder}/modhub.sqlite", FEATURES, settings=settings)
    for command in ("migrate", "demo"):
        ended = service.admin(command)
        assert ended.returncode == 0, ended.stderr
    service.start(port=port)
    began, shown, last = time.monotonic(), 0, time.monotonic()
    while not shown or time.monotonic() - last < QUIET_SECONDS:
        assert time.monotonic() - began < PICTURE_SECONDS, "the pictures were not made"
        time.sleep(0.2)
        count = service.caller().ask("GET", "/Modhub?page=1").body.count(b"<picture>")
        if count != shown:
            shown, last = count, time.monotonic()
    return service


def main() -> None:
    """Write ``browse.png`` and ``mod.png``."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not installed: `make pictures` installs it when you are root")
    with tempfile.TemporaryDirectory() as name:
        service = serve_samples(Path(name))
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium)
                page = browser.new_page(viewport=SIZE, locale="en-GB")
                page.goto(f"http://127.0.0.1:{service.processes[0].port}/Modhub", wait_until="networkidle")
                page.screenshot(path=FOLDER / "browse.png")
                page.get_by_role("link", name=MOD).first.click()
                page.wait_for_load_state("networkidle")
                page.screenshot(path=FOLDER / "mod.png")
                browser.close()
        finally:
            service.stop()


if __name__ == "__main__":
    main()
