"""Reporting a mod, narrow and wide, in both languages, by people without scripts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

Look = Callable[[Page, str], None]


def test_a_stranger_reports_an_image_without_scripts(
    browser: Browser, serve_with: Any, look: Look, tmp_path: Path
) -> None:
    # C-NTC-9
    with serve_with(tmp_path, "modhub_auth modhub_moderation", "demo") as service:
        for width, language, scheme in ((360, "de", "dark"), (1280, "en", "light")):
            options = {"base_url": service.address, "locale": language, "viewport": {"width": width, "height": 800}}
            context = browser.new_context(
                **options, color_scheme="dark" if scheme == "dark" else "light", java_script_enabled=False
            )
            context.set_default_timeout(100_000)
            judged = browser.new_context(**options, color_scheme="dark" if scheme == "dark" else "light")
            page, looking = context.new_page(), judged.new_page()
            for name, address in (("mod", "/Modhub/1"), ("author", "/Modhub/by/1")):
                looking.goto(address)
                look(looking, f"{name} {width}")
            page.goto("/Modhub/1")
            page.locator(".mod-gallery .image-links a").first.click()
            expect(page.locator("#assetId")).not_to_have_value("")
            looking.goto(page.url)
            look(looking, f"form {width}")
            looking.locator("form.sheet").evaluate("(form) => { form.noValidate = true; form.submit(); }")
            expect(looking.locator("#errors a")).to_have_count(5)
            look(looking, f"mistakes {width}")
            page.locator('input[value="stolen"]').check()
            page.locator("#text").fill("The picture is mine.")
            page.locator("#name").fill("Sam")
            page.locator("#email").fill("sam@example.org")
            page.locator("#goodFaith").check()
            page.locator('form.sheet button[type="submit"]').click()
            expect(page.locator('[data-message="report_sent"]')).to_be_visible()
            looking.goto(page.url)
            look(looking, f"receipt {width}")
            context.close()
            judged.close()
