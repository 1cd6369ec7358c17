"""Who is behind a mod, narrow and wide, light and dark: an author's page, a mod's facts, and the forms."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from modhub_testing.caller import Caller

PASSWORD = "correct horse battery"
Look = Callable[[Page, str], None]


def test_links_and_profiles_are_accessible_valid_and_fit(
    browser: Browser, serve_with: Any, look: Look, tmp_path: Path
) -> None:
    # C-PRF-4, C-PRF-5
    with serve_with(tmp_path, "modhub_auth modhub_following modhub_profiles", "demo") as service:
        author = Caller([int(service.address.rpartition(":")[2])])
        person = {"email": "ada@example.org", "password": PASSWORD, "displayName": "Ada"}
        author.token = author.need(201, "POST", "/api/auth/register", person)["accessToken"]
        mod = author.published("Split bars")
        for width, scheme in ((320, "dark"), (1280, "light")):
            context = browser.new_context(
                base_url=service.address,
                viewport={"width": width, "height": 800},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            context.set_default_timeout(100_000)
            page = context.new_page()
            for name, address in (("author", "/Modhub/by/1"), ("mod", "/Modhub/1")):
                page.goto(address)
                look(page, f"{name} {width}")
            page.goto("/Modhub/account/login?next=/Modhub/profile")
            page.locator('input[name="email"]').fill(person["email"])
            page.locator('input[name="password"]').fill(PASSWORD)
            page.locator('main button[type="submit"]').click()
            page.locator("#file").set_input_files(Path(__file__).parents[2] / "modhub_profiles/demo/mira.png")
            page.locator("section[aria-labelledby=picture] form.sheet button").click()
            expect(page.locator(".note.good")).to_be_visible()
            page.locator("#sentence").fill("I draw split bars.")
            page.locator("#link1").fill("https://user@example.org")
            page.locator("section[aria-labelledby=about] button").click()
            expect(page.locator("#link1")).to_have_attribute("aria-invalid", "true")
            page.locator("#link1").fill("https://example.org/ada")
            page.locator("section[aria-labelledby=about] button").click()
            expect(page.locator(".note.good")).to_be_visible()
            look(page, f"profile {width}")
            page.goto(f"/Modhub/mine/{mod['id']}?part=details")
            if not page.locator("#source").is_visible():
                page.locator("#links summary").click()
            page.locator("#source").fill("bücher.example/bars")
            page.locator("#license").fill("mit")
            page.get_by_role("button", name="Save", exact=True).click()
            look(page, f"links {width}")
            expect(page.locator("#source")).to_have_value("https://xn--bcher-kva.example/bars")
            page.goto(mod["url"])
            expect(page.locator(".links dd").first).to_have_text("xn--bcher-kva.example")
            page.locator(".byline a").click()
            expect(page.locator(".profile p").first).to_have_text("I draw split bars.")
            expect(page.locator("img.portrait")).to_have_js_property("naturalWidth", 256)
            context.close()
