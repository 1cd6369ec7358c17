"""Nothing typed or chosen in the workshop is lost when a session or connection ends."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

Visit = Callable[..., Page]
Look = Callable[[Page, str], None]
AUTHOR = 61
PNG = {"name": "one.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n" + bytes(2000)}
scripts = pytest.mark.parametrize("java_script_enabled", [True, False], ids=["scripts", "forms"])


def sign_in(page: Page, account: int | None) -> None:
    """As in another tab: the session and the forms' token are others."""
    url = page.url
    page.context.clear_cookies()
    if account is not None:
        page.context.add_cookies([{"name": "account", "value": str(account), "url": url}])
        page.context.request.get("/Modhub/mine/new")


def draft(page: Page, title: str) -> str:
    page.goto("/Modhub/mine/new")
    page.get_by_label("Title", exact=True).fill(title)
    page.get_by_role("button", name="Create draft").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    assert "#" not in page.url
    return page.url.partition("?")[0]


@scripts
def test_a_session_that_ends_during_an_edit(visit: Visit, look: Look, java_script_enabled: bool) -> None:
    page = visit(account=AUTHOR, java_script_enabled=java_script_enabled)
    address = draft(page, "Ended")
    page.get_by_label("Description", exact=True).fill("<p>An hour of work</p>")
    sign_in(page, None)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("signed out")
    kept = page.get_by_label("Description", exact=True)
    expect(kept).to_have_value("<p>An hour of work</p>")
    if java_script_enabled:
        look(page, "again")
    sign_in(page, AUTHOR)
    page.get_by_role("button", name="Submit again").click()
    if not java_script_enabled:
        expect(page.get_by_role("alert")).to_contain_text("another tab")
        page.get_by_role("button", name="Submit again").click()
    expect(page.locator(".note.good")).to_contain_text("Saved")
    assert page.url.startswith(address)
    expect(page.get_by_label("Description", exact=True)).to_have_value("<p>An hour of work</p>")


def open_part(page: Page, name: str) -> None:
    page.locator(".steps").get_by_role("link", name=name, exact=True).click()


def test_an_upload_leaves_what_is_being_typed_and_outlives_a_session(visit: Visit) -> None:
    page = visit(account=AUTHOR)
    address = draft(page, "Typing")
    expect(page, "a reload would say again what was done").to_have_url(address)
    page.get_by_label("Description", exact=True).fill("Not saved yet")
    open_part(page, "Images")
    file = page.locator("#image-file")
    file.set_input_files([PNG, {**PNG, "name": "two.png"}])
    page.get_by_role("button", name="Upload images").click()
    expect(page.locator(".gallery img")).to_have_count(2)
    expect(page.locator("form[data-fresh=images] .done")).to_have_text("The images are stored.")
    expect(file).to_be_focused()
    open_part(page, "Details")
    expect(page.get_by_label("Description", exact=True)).to_have_value("Not saved yet")
    open_part(page, "Files")
    page.get_by_label("Version").fill("1.0")
    code = page.locator("#code-file")
    code.set_input_files({**PNG, "name": "a.zip"})
    sign_in(page, None)
    page.get_by_role("button", name="Upload code").click()
    error = page.locator("#code-file-error")
    expect(error).to_contain_text("signed out")
    expect(error.get_by_role("link")).to_have_attribute("target", "_blank")
    expect(code).to_be_focused()
    expect(code).to_have_attribute("aria-describedby", "code-file-hint code-file-error")
    assert page.url == f"{address}#files"
    sign_in(page, AUTHOR)
    page.get_by_role("button", name="Upload code").click()
    # The description is still to do: the page goes on with it, and what was typed is there.
    expect(page.locator(".part").locator("visible=true")).to_have_attribute("data-part", "details")
    expect(page.get_by_label("Description", exact=True)).to_have_value("Not saved yet")
    open_part(page, "Changelog")
    expect(page.locator(".notes > li")).to_have_count(1)
    open_part(page, "Publish")
    expect(page.get_by_role("button", name="this can't be undone")).to_be_visible()
    open_part(page, "Files")
    page.get_by_label("Version").fill("1.0")
    code.set_input_files({**PNG, "name": "a.zip"})
    page.get_by_role("button", name="Upload code").click()
    expect(page.locator("#version-error")).to_contain_text("already exists; choose another.")
    expect(page.get_by_label("Version")).to_be_focused()
    dialogs: list[Any] = []
    page.once("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
    page.get_by_role("link", name="Preview as visitors see it").click()
    expect(page.get_by_text("This is a preview")).to_be_visible()
    assert dialogs == ["beforeunload"]


GIVE = """(kind) => {
    const bytes = Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10, ...Array(900).fill(1)]);
    const data = new DataTransfer();
    data.items.add(new File([bytes], kind + ".png", { type: "image/png" }));
    const options = { bubbles: true, cancelable: true, dataTransfer: data, clipboardData: data };
    const form = document.querySelector("form[data-fresh=images]");
    if (kind === "drop") form.dispatchEvent(new DragEvent("drop", options));
    else document.body.dispatchEvent(new ClipboardEvent("paste", options));
}"""


def test_images_are_dropped_and_pasted(visit: Visit) -> None:
    # C-PAGE-25
    page = visit(account=AUTHOR)
    draft(page, "Dropped")
    page.get_by_label("Description", exact=True).fill("Not saved yet")
    open_part(page, "Images")
    for count, kind in enumerate(("drop", "paste"), 1):
        page.evaluate(GIVE, kind)
        expect(page.locator(".workshop .gallery > li")).to_have_count(count)
    open_part(page, "Details")
    expect(page.get_by_label("Description", exact=True)).to_have_value("Not saved yet")


@scripts
def test_from_a_new_mod_to_a_published_one(visit: Visit, java_script_enabled: bool) -> None:
    """Clicks and choices of files; opening "My mods" and registering add three, so all is below twelve."""
    # C-PAGE-25
    page = visit(account=AUTHOR, java_script_enabled=java_script_enabled, viewport={"width": 360, "height": 740})
    page.goto("/Modhub/mine")
    interactions = 0

    def press(role: Any, name: str) -> None:
        nonlocal interactions
        interactions += 1
        page.get_by_role(role, name=name, exact=True).click()

    def choose(field: str, file: dict[str, Any]) -> None:
        nonlocal interactions
        interactions += 1
        page.locator(field).set_input_files([file])

    press("link", "New mod")
    page.get_by_label("Title", exact=True).fill("From nothing")
    page.get_by_label("Description", exact=True).fill("Two\n\nparagraphs")
    press("button", "Create draft")
    page.get_by_label("Version").fill("1.0")
    choose("#code-file", {**PNG, "name": "a.zip"})
    press("button", "Upload code")
    expect(page.locator("#image-file")).to_be_visible()
    choose("#image-file", PNG)
    press("button", "Upload images")
    expect(page.locator(".workshop .gallery > li")).to_have_count(1)
    press("link", "Publish")
    press("button", "Publish – this can't be undone")
    expect(page.locator(".note.good")).to_contain_text("Published")
    assert interactions + 3 < 12


@scripts
def test_a_weekly_release_is_three_interactions(visit: Visit, look: Look, java_script_enabled: bool) -> None:
    # C-PAGE-70, C-PAGE-72: choose the file, type what changed, press the button.
    page = visit(account=AUTHOR, java_script_enabled=java_script_enabled)
    page.goto(draft(page, f"Weekly {java_script_enabled}") + "#files")
    page.get_by_label("Version").fill("3.1")
    page.locator("#code-file").set_input_files({**PNG, "name": "a.zip"})
    page.get_by_role("button", name="Upload code").click()
    expect(page.locator(".part").locator("visible=true")).to_have_attribute("data-part", "details")
    open_part(page, "Publish")
    page.get_by_role("button", name="Publish – this can't be undone").click()
    expect(page.locator(".note.good")).to_contain_text("Published")
    page.goto(page.url.partition("?")[0])

    page.locator("#code-file").set_input_files({**PNG, "name": "b.zip"})
    page.get_by_label("What changed").locator("visible=true").fill("- ghosts\n- laps\n\nThank **you**")
    page.get_by_role("button", name="Publish this version").click()

    expect(page.locator(".note.good")).to_have_text("The new version is published.")
    expect(page.locator("#version"), "the next one is proposed").to_have_value("3.3")
    expect(page.locator("#changes")).to_have_value("")
    if java_script_enabled:
        look(page, "released")
        # What the next upload did not do has no success above it.
        page.locator("[data-part=new-version] form").evaluate("(form) => { form.dataset.most = 1; }")
        page.locator("#code-file").set_input_files({**PNG, "name": "c.zip"})
        page.get_by_role("button", name="Publish this version").click()
        expect(page.locator("#code-file-error")).to_contain_text("too large")
        expect(page.locator(".note.good")).to_have_count(0)
    page.get_by_role("link", name="View page").first.click()
    newest = page.locator(".notes > li").first
    expect(newest.get_by_role("heading")).to_have_text("3.2")
    expect(newest.locator(".prose li")).to_have_text(["ghosts", "laps"])


def test_a_preview_keeps_the_chosen_file(visit: Visit, look: Look) -> None:
    # C-PAGE-70
    page = visit(account=AUTHOR)
    page.goto(draft(page, "Previewed") + "#files")
    page.get_by_label("Version").fill("1.0")
    page.locator("#code-file").set_input_files({**PNG, "name": "a.zip"})
    words = page.get_by_label("What changed").locator("visible=true")
    for text, shown in (("**bold**", "bold"), ("*other*\n\n## Heading", "other")):
        words.fill(text)
        page.get_by_role("button", name="Preview the text").locator("visible=true").click()
        expect(page.locator("#changes-shown .prose :is(strong, em)")).to_have_text(shown)
    expect(page.locator("#changes-shown")).to_be_focused()
    assert page.locator("#code-file").evaluate("(input) => input.files[0].name") == "a.zip"
    look(page, "preview")
    page.get_by_role("button", name="Upload code").click()
    open_part(page, "Changelog")
    expect(page.locator(".part").locator("visible=true")).to_have_attribute("data-part", "changelog")
    expect(page.locator(".notes > li em")).to_have_text("other")


@scripts
def test_old_addresses_lead_to_their_part(visit: Visit, java_script_enabled: bool) -> None:
    # C-PAGE-25
    page = visit(account=900_000_001, java_script_enabled=java_script_enabled)
    parts = {
        "details": "details",
        "changelog": "changelog",
        "superseded": "publish",
        "delete": "publish",
        "script": "files",
    }
    for anchor, part in parts.items():
        page.goto("about:blank")
        page.goto(f"/Modhub/mine/1#{anchor}")
        expect(page.locator(".part").locator("visible=true")).to_have_count(1)
        expect(page.locator(f".part[data-part={part}]")).to_be_visible()
    if java_script_enabled:
        expect(page.locator(".steps [aria-current]")).to_have_text("Files")
        page.evaluate("location.hash = 'main_content'")
        expect(page.locator(".part[data-part=files]")).to_be_visible()
        page.go_back()
    open_part(page, "Images")
    assert page.locator(".steps").bounding_box() is not None
    assert (page.locator(".steps").bounding_box() or {})["y"] >= 0, "the steps stay in view"


def test_a_cancelled_upload_says_so_and_others_wait(visit: Visit) -> None:
    page = visit(account=AUTHOR)
    draft(page, "Cancelled")
    open_part(page, "Images")
    held: list[Any] = []
    page.route("**/images", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused
    page.locator("#image-file").set_input_files(PNG)
    page.get_by_role("button", name="Upload images").click()
    expect(page.locator("form[data-fresh=code] button").last).to_be_disabled()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("form[data-fresh=images] .done")).to_have_text("Upload cancelled; nothing was saved.")
    expect(page.locator("#image-file")).to_be_focused()
    expect(page.locator("form[data-fresh=code] button").last).to_be_enabled()


def test_a_field_whose_dialog_may_be_open_outlives_an_upload(visit: Visit) -> None:
    page = visit(account=AUTHOR)
    draft(page, "Choosing")
    held: list[Any] = []
    page.route("**/code", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused
    open_part(page, "Files")
    page.get_by_label("Version").fill("1.0")
    page.locator("#code-file").set_input_files({**PNG, "name": "a.zip"})
    page.get_by_role("button", name="Upload code").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    open_part(page, "Images")
    page.locator("#image-file").evaluate("(field) => { field.focus(); field.dataset.opened = 'yes'; }")
    held[0].continue_()
    expect(page.locator("form[data-fresh=code] .done")).to_contain_text("is stored")
    expect(page.locator("#image-file")).to_have_attribute("data-opened", "yes")


def test_going_back_closes_the_images(visit: Visit) -> None:
    page = visit()
    page.goto("/Modhub")
    page.get_by_label("Search mods").fill("foundry")
    expect(page.locator("section.browse .card")).to_have_count(1)
    expect(page).to_have_url("/Modhub?q=foundry&sort=new")
    assert "q=foundry" in (page.locator('link[rel="canonical"]').get_attribute("href") or "")
    page.get_by_label("Sort by").select_option("top")
    expect(page).to_have_url(page.url.partition("?")[0] + "?q=foundry&sort=top")
    page.get_by_role("link", name="Foundry Map", exact=True).click()
    page.locator("[data-viewer] a").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_have_text("Foundry Map")
