"""What moderation is for, walked from end to end without script: narrow, dark and German; wide, light and English.

axe needs scripts, so each page is looked at in a second profile, which has them and the same cookies.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from modhub_testing.caller import Caller
from modhub_testing.service import PASSWORD

FEATURES = "modhub_auth modhub_profiles modhub_sync modhub_moderation"
QUEUE = "/Modhub/moderation/queue"
CHOOSE = "main form[action='/Modhub/moderation/bulk'] button"
BOTH = pytest.mark.parametrize("language", ["de", "en"])
LOOKS = {
    "de": {"locale": "de", "viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
    "en": {"locale": "en", "viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
}
Look = Callable[[Page, str], None]


@dataclass
class Moderated:
    """A service with a moderator; ``cookies`` are of those who are signed in, by name."""

    address: str
    folder: Path
    browser: Browser
    callers: dict[str, Caller]
    cookies: dict[str, Any]

    def context(self, who, language, **options):
        opened = self.browser.new_context(base_url=self.address, **LOOKS[language], **options)
        opened.set_default_timeout(100_000)
        if who:
            opened.add_cookies(self.cookies[who])
        return opened

    def write(self, statement, *values):
        with closing(sqlite3.connect(self.folder / "modhub.sqlite", timeout=60)) as database, database:
            database.execute(statement, values)


@dataclass
class Walk:
    """Somebody who walks without scripts, and the page on which others look at what they see."""

    page: Page
    judge: Page
    look: Look
    language: str

    def see(self, name):
        """Look at the address where the walk is."""
        self.judge.goto(self.page.url)
        self.look(self.judge, f"{name} {self.language}")

    def press(self, section=""):
        """Send the form, or the one below this heading."""
        self.page.locator(f"{f'section[aria-labelledby={section}]' if section else 'main'} form.sheet button").click()

    def expect(self, code):
        expect(self.page.locator(f"[data-message={code}]")).to_be_visible()


@pytest.fixture(scope="module")
def moderated(browser, serve_with, tmp_path_factory):
    with serve_with(tmp_path_factory.mktemp("moderated"), FEATURES, "demo") as service:
        made = Moderated(service.address, service.folder, browser, {}, {})
        for name in ("Ada", "Mo"):
            caller = made.callers[name] = service.caller()
            person = {"email": f"{name.lower()}@example.org", "password": PASSWORD, "displayName": name}
            answer = caller.need(201, "POST", "/api/auth/register", person)
            caller.token = answer["accessToken"]
            made.write("UPDATE auth_login SET verified = 1 WHERE account_id = ?", answer["accountId"])
            if name == "Mo":
                made.write("INSERT INTO moderation_moderator VALUES (?, 0)", answer["accountId"])
            context = made.context("", "en", java_script_enabled=False)
            page = context.new_page()
            service.sign_in(page, person["email"], QUEUE if name == "Mo" else "/Modhub/mine")
            if name == "Mo":
                expect(page.locator("[data-message=factor_missing]")).to_be_visible()
                made.write("INSERT INTO auth_authenticator VALUES (?, 'x', 0, 0)", answer["accountId"])
            else:
                expect(page.locator("h1")).to_have_text("My mods")
            made.cookies[name] = context.cookies()
            context.close()
        yield made


@pytest.fixture
def walk(moderated, look):
    """`walk("Mo", "de")`: that person, or nobody, as German phones and English desks show it."""
    contexts = []

    def begin(who, language):
        plain = moderated.context(who, language, java_script_enabled=False)
        scripted = moderated.context(who, language)
        contexts.extend([plain, scripted])
        return Walk(plain.new_page(), scripted.new_page(), look, language)

    yield begin
    for context in contexts:
        context.close()


def decide(walk, kind, facts, section="decide"):
    """Decide with the form that the page has."""
    page = walk.page
    page.locator(f"input[name=kind][value={kind}]").check()
    page.locator("#basis").select_option("terms")
    page.locator("#clause").fill("§ 4")
    page.locator("#facts").fill(facts)
    walk.press(section)


def report(mod, name, program):
    sent = {"ground": "malware", "text": "It is bad.", "goodFaith": True, "name": name, "email": f"{name}@example.org"}
    Caller(program.ports).need(201, "POST", f"/api/modhub/{mod['id']}/reports", sent)


def open_case(walk, title):
    walk.page.goto(QUEUE)
    walk.page.locator("article h3 a", has_text=title).click()


@BOTH
def test_a_strangers_notice_is_confirmed_and_answered(walk, language):
    # C-NTC-3, C-NTC-6, C-NTC-9, C-CAS-7
    stranger, mo = walk("", language), walk("Mo", language)
    page, number = stranger.page, {"de": 1, "en": 2}[language]
    page.goto(f"/Modhub/by/{number}")
    stranger.see("author")
    page.goto(f"/Modhub/{number}")
    stranger.see("mod")
    title = page.locator("h1").inner_text()
    page.locator(".mod-box .report a").click()
    page.locator("#assetId").select_option(index=1)
    stranger.see("form")
    stranger.judge.locator("form.sheet").evaluate("(form) => { form.noValidate = true; form.submit(); }")
    expect(stranger.judge.locator("#errors a")).to_have_count(5)
    stranger.look(stranger.judge, f"mistakes {language}")
    page.locator('input[value="stolen"]').check()
    page.locator("#text").fill("The picture is mine.")
    page.locator("#name").fill("Sam")
    page.locator("#email").fill(f"sam-{language}@example.org")
    page.locator("#goodFaith").check()
    stranger.press()
    stranger.expect("report_sent")
    stranger.see("receipt")
    receipt = page.url.partition("?")[0]
    page.goto(receipt)
    stranger.expect("report_open")
    open_case(mo, title)
    expect(mo.page.get_by_text("The picture is mine.")).to_be_visible()
    decide(mo, "dismiss", "The author has drawn it.")
    mo.expect("decided")
    page.goto(receipt)
    stranger.expect("report_decided")
    stranger.see("decided")


@BOTH
def test_a_mod_is_hidden_appealed_for_and_released(moderated, walk, mailed, language):
    # C-CAS-3, C-CAS-6, C-CAS-11, C-APL-1, C-APL-3
    title, facts = f"Split bars {language}", f"It records keys ({language})."
    mod = moderated.callers["Ada"].published(title)
    mo, ada, stranger = walk("Mo", language), walk("Ada", language), walk("", language)
    mo.page.goto("/Modhub/moderation/cases")
    mo.see("cases")
    mo.page.locator("#number").fill(str(mod["id"]))
    mo.press("open")
    expect(mo.page.locator("input[name=kind][value=release]")).to_have_count(0)
    mo.see("case")
    mo.page.locator("input[name=kind][value=hide]").check()
    mo.page.locator("#facts").fill(facts)
    mo.press("decide")
    expect(mo.page.locator("#errors")).to_be_focused()
    expect(mo.page.locator("#facts")).to_have_value(facts)
    decide(mo, "hide", facts)
    mo.expect("decided")
    assert mo.page.get_by_role("main").locator(f'a[href="{QUEUE}"]').count() == 2
    assert stranger.page.goto(mod["url"]).status == 404
    mo.page.locator('a[href$="/mod/preview"]').click()
    mo.expect("preview")
    mo.see("hidden")
    # The owner reads it where they work on the mod, and appeals by the email without signing in.
    ada.page.goto(f"/Modhub/mine/{mod['id']}")
    ada.see("workshop")
    ada.page.locator("section.note a[href^='/Modhub/decisions/']").click()
    expect(ada.page.get_by_text(facts)).to_be_visible()
    ada.see("decision")
    stranger.page.goto(mailed(moderated.folder, "ada@example.org", "/Modhub/appeal?token=", holding=facts))
    expect(stranger.page.get_by_text(facts)).to_be_visible()
    stranger.see("statement")
    stranger.page.locator("#text").fill("It is a test of keyboards.")
    stranger.press("appeal")
    stranger.expect("open_appeal")
    stranger.see("appealed")
    mo.page.goto(QUEUE)
    mo.see("queue")
    mo.page.locator("section[aria-labelledby=appeals] a", has_text=title).click()
    expect(mo.page.get_by_text("It is a test of keyboards.")).to_be_visible()
    mo.see("appeal")
    mo.page.locator("input[name=outcome][value=reversed]").check()
    mo.page.locator("#reasons").fill(f"It is harmless ({language}).")
    mo.press("appeal")
    mo.expect("appeal_decided")
    assert stranger.page.goto(mod["url"]).status == 200
    ada.page.goto("/Modhub/decisions")
    expect(ada.page.get_by_role("main").get_by_role("link")).not_to_have_count(0)
    ada.see("decisions")


@BOTH
def test_malware_is_told_to_those_who_have_it(moderated, walk, language):
    # C-ADV-5, C-ADV-3, C-ADV-1
    content = f"malware {language}".encode()
    digest, ada = sha256(content).hexdigest(), moderated.callers["Ada"]
    reported, other = ada.published(f"Evil {language}", content), ada.published(f"Rally HUD {language}", content)
    report(reported, f"rita-{language}", ada)  # Sam's address has no more than three emails
    mo, visitor = walk("Mo", language), walk("", language)
    open_case(mo, f"Evil {language}")
    expect(mo.page.get_by_text(f"Rally HUD {language}")).to_be_visible()
    mo.page.locator(f"input[name=advise][value='{digest}']").check()
    mo.page.locator("#advisoryReason").fill("It sends saved passwords.")
    mo.page.locator("#advice").fill("Delete the file.")
    decide(mo, "hide", "It sends saved passwords.")
    mo.expect("decided")
    mo.see("advised")
    visitor.page.goto(other["url"])
    visitor.expect("advised")
    visitor.see("warning")
    visitor.page.locator("[data-message=advised] a").click()
    expect(visitor.page.locator("h1")).to_have_text({"de": "Warnungen", "en": "Advisories"}[language])
    expect(visitor.page.locator(f"#file-{digest}")).to_be_in_viewport()
    mo.page.locator("input[name=kind][value=release]").check()
    mo.page.locator("#facts").fill("It was a false alarm.")
    mo.press("decide")
    mo.expect("decided")
    visitor.page.reload()
    visitor.see("withdrawn")


def test_the_queue_works_by_keyboard(moderated, walk):
    # C-QUE-5
    mod = moderated.callers["Ada"].published("Keys")
    report(mod, "kim", moderated.callers["Ada"])
    mo = walk("Mo", "en")
    page = mo.page
    page.goto(QUEUE)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the link that skips the navigation
    for _ in range(3):  # two other pages, then the first case
        page.keyboard.press("Tab")
    expect(page.locator("article h3 a").first).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("input[name=case]").first).to_be_checked()
    button = page.locator(CHOOSE)
    for _ in range(200):
        page.keyboard.press("Tab")
        if button.evaluate("(one) => one === document.activeElement"):
            break
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-case]")).to_have_count(1)
    mo.see("many")
    page.locator("[data-case] a").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.locator("input[name=kind][value=block]")).to_be_checked()
