"""A follower hears of an update, without JavaScript on a phone: the page, the email, and its one-click leave."""

import email.policy
import re
import subprocess
import sys
import time
import urllib.request
from email import message_from_bytes
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, expect

from modhub_testing.caller import Caller
from tests.people import MAKE_DIGESTS, text_of

PASSWORD = "correct horse battery"
FOLLOWING = "/Modhub/following"
EMAIL_SECONDS = 100.0


def newest_email(folder: Path, address: str, subject: str) -> EmailMessage:
    """The newest email to ``address`` with this in its subject; an email leaves by itself."""
    deadline = time.monotonic() + EMAIL_SECONDS
    while time.monotonic() < deadline:
        for path in sorted(folder.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
            message: EmailMessage = message_from_bytes(path.read_bytes(), policy=email.policy.default)
            if message["To"] == address and subject in message["Subject"]:
                return message
        time.sleep(0.1)
    raise AssertionError(f"no email with the subject {subject!r} has come")


def test_a_follower_hears_of_an_update(browser: Browser, serve_with: Any, tmp_path: Path) -> None:
    # C-FOL-1, C-FOL-3, C-FOL-10
    reader = "reader@example.org"
    context = None
    with serve_with(tmp_path, "modhub_auth modhub_following") as service:
        registration = {"email": "author@example.org", "password": PASSWORD, "displayName": "Ada"}
        port = urlsplit(service.address).port
        author = Caller([port or 0])
        author.token = author.need(201, "POST", "/api/auth/register", registration)["accessToken"]
        mod = author.published("Overlay Kit")
        try:
            context = browser.new_context(
                base_url=service.address, java_script_enabled=False, viewport={"width": 360, "height": 740}
            )
            context.set_default_timeout(100_000)
            page = context.new_page()
            page.goto("/Modhub/account/register")
            page.locator('input[name="email"]').fill(reader)
            page.locator('input[name="password"]').fill(PASSWORD)
            page.locator('main button[type="submit"]').click()
            confirm = re.search(
                r"/Modhub/account/\w+\?token=\w+", text_of(newest_email(tmp_path / "mail", reader, "Confirm"))
            )
            assert confirm is not None
            page.goto(confirm[0])
            page.get_by_role("button", name="Confirm").click()
            page.goto(mod["url"])
            page.locator("form.follow button").click()
            page.goto(FOLLOWING)
            page.locator("#frequency").select_option("daily")
            page.locator("#frequency").locator("xpath=ancestor::form").locator("button").click()
            expect(page.locator(".note.good")).to_be_visible()

            sent = author.send_file(mod["id"], "code", b"the second version", version="2.0", name="mod.zip")
            assert sent.status == 201
            page.goto(FOLLOWING)
            expect(page.locator(".card h3 a")).to_have_text("Overlay Kit")
            expect(page.locator(".card .badge")).to_have_text("Updated")
            page.set_viewport_size({"width": 2560, "height": 1440})
            columns = page.locator(".cards").evaluate("(grid) => getComputedStyle(grid).gridTemplateColumns.split(' ')")
            assert len(columns) == 5
            page.set_viewport_size({"width": 360, "height": 740})
            # The service lets a version rest for ten minutes first.
            subprocess.run([sys.executable, "-W", "ignore", "-c", MAKE_DIGESTS, service.ini], check=True, timeout=200)
            digest = newest_email(tmp_path / "mail", reader, "1 new version at modhub")
            assert "2.0" in text_of(digest)
            assert f"{service.address}{mod['url']}" in text_of(digest)
            leave = digest["List-Unsubscribe"].strip("<>")
            request = urllib.request.Request(leave, b"List-Unsubscribe=One-Click", method="POST")
            with urllib.request.urlopen(request, timeout=100) as answer:
                assert answer.status == 200
            page.goto(FOLLOWING)
            expect(page.locator("#frequency")).to_have_value("none")
            expect(page.locator(".followed li")).to_have_count(1)
            page.goto(leave)
            expect(page.get_by_role("button", name="Unsubscribe")).to_be_visible()
        finally:
            if context is not None:
                context.close()
