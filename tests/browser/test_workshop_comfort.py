"""Nothing typed or chosen in the workshop is lost when a session or connection ends."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

AUTHOR = 61
PNG = {"name": "one.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n" + bytes(2000)}


def sign_in(page, account):
    """As in another tab: the session and the forms' token are others."""
    url = page.url
    page.context.clear_cookies()
    if account is not None:
        page.context.add_cookies([{"name": "account", "value": str(account), "url": url}])
        page.context.request.get("/Modhub/mine/new")


@pytest.fixture
def page(visit):
    return visit(account=AUTHOR)


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def choose_code(page):
    page.get_by_label("Version").fill("1.0")
    page.locator("#code-file").set_input_files({**PNG, "name": "a.zip"})


def draft(page, title):
    page.goto("/Modhub/mine/new")
    page.get_by_label("Title", exact=True).fill(title)
    press(page, "Create draft")
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    assert "#" not in page.url
    return page.url.partition("?")[0]


def test_a_session_that_ends_during_an_edit(page, look):
    address = draft(page, "Ended")
    page.get_by_label("Description", exact=True).fill("<p>An hour of work</p>")
    sign_in(page, None)
    press(page, "Save")
    expect(page.get_by_role("alert")).to_contain_text("signed out")
    kept = page.get_by_label("Description", exact=True)
    expect(kept).to_have_value("<p>An hour of work</p>")
    look(page, "again")
    sign_in(page, AUTHOR)
    press(page, "Submit again")
    expect(page.locator(".note.good")).to_contain_text("Saved")
    assert page.url.startswith(address)
    expect(page.get_by_label("Description", exact=True)).to_have_value("<p>An hour of work</p>")


def open_part(page, name):
    page.locator("nav:is(.steps, .tabs)").get_by_role("link", name=name, exact=True).click()


def test_an_upload_outlives_a_session(page):
    address = draft(page, "Typing")
    expect(page, "a reload would say again what was done").to_have_url(address)
    open_part(page, "Files")
    choose_code(page)
    sign_in(page, None)
    press(page, "Upload code")
    code, error = page.locator("#code-file"), page.locator("#code-file-error")
    expect(error).to_contain_text("signed out")
    expect(error.get_by_role("link")).to_have_attribute("target", "_blank")
    expect(code).to_be_focused()
    expect(code).to_have_attribute("aria-describedby", "code-file-hint code-file-error")
    assert page.url == f"{address}?part=files"
    sign_in(page, AUTHOR)
    press(page, "Upload code")
    # The description is still to do: the page goes on with it.
    expect(page.locator("#description")).to_be_visible()
    expect(page.locator(".note.good")).to_have_count(1)
    open_part(page, "Changelog")
    expect(page.locator(".notes > li")).to_have_count(1)
    open_part(page, "Publish")
    expect(page.get_by_role("button", name="this can't be undone")).to_be_visible()
    open_part(page, "Files")
    choose_code(page)
    press(page, "Upload code")
    expect(page.locator("#version-error")).to_contain_text("already exists; choose another.")
    expect(page.get_by_label("Version")).to_be_focused()
    dialogs = []
    page.once("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
    page.get_by_role("link", name="Preview as visitors see it").click()
    expect(page.get_by_text("This is a preview")).to_be_visible()
    assert dialogs == ["beforeunload"]


GIVE = """(kind) => {
    const bytes = Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10, ...Array(900).fill(1)]);
    const data = new DataTransfer();
    data.items.add(new File([bytes], kind + ".png", { type: "image/png" }));
    const options = { bubbles: true, cancelable: true, dataTransfer: data, clipboardData: data };
    const form = document.querySelector("form.upload");
    if (kind === "drop") form.dispatchEvent(new DragEvent("drop", options));
    else document.body.dispatchEvent(new ClipboardEvent("paste", options));
}"""


def test_images_are_dropped_and_pasted(page):
    # C-PAGE-25
    draft(page, "Dropped")
    open_part(page, "Images")
    page.evaluate(GIVE, "drop")
    expect(page.locator(".workshop .gallery > li")).to_have_count(1)
    page.get_by_label("Caption").fill("Typed before the next")
    page.evaluate(GIVE, "paste")
    expect(page.locator(".workshop .gallery > li")).to_have_count(2)
    expect(page.get_by_label("Caption").first).to_have_value("Typed before the next")


def test_from_a_new_mod_to_a_published_one_and_its_next_release(visit, look):
    """Clicks and choices of files; opening "My mods" and registering add three, so all is below twelve."""
    # C-PAGE-25, C-PAGE-70
    page = visit(account=AUTHOR, viewport={"width": 360, "height": 740})
    page.goto("/Modhub/mine")
    interactions = 0

    def act(role, name):
        nonlocal interactions
        interactions += 1
        page.get_by_role(role, name=name, exact=True).click()

    def choose(field, file):
        nonlocal interactions
        interactions += 1
        page.locator(field).set_input_files([file])

    act("link", "New mod")
    page.get_by_label("Title", exact=True).fill("From nothing")
    page.get_by_label("Description", exact=True).fill("Two\n\nparagraphs")
    act("button", "Create draft")
    page.get_by_label("Version").fill("1.0")
    choose("#code-file", {**PNG, "name": "a.zip"})
    act("button", "Upload code")
    expect(page.locator("#image-file")).to_be_visible()
    choose("#image-file", PNG)
    act("button", "Upload images")
    expect(page.locator(".workshop .gallery > li")).to_have_count(1)
    act("link", "Publish")
    act("button", "Publish – this can't be undone")
    expect(page.locator(".note.good")).to_contain_text("Published")
    assert interactions + 3 < 12
    # A release is three interactions: choose the file, type what changed, press the button.
    page.goto(page.url.partition("?")[0])
    page.locator("#code-file").set_input_files({**PNG, "name": "b.zip"})
    page.get_by_label("What changed").fill("- ghosts\n- laps\n\nThank **you**")
    press(page, "Publish this version")
    expect(page.locator(".note.good")).to_contain_text("The new version is published.")
    expect(page.locator("#version"), "the next one is proposed").to_have_value("1.2")
    expect(page.locator("#changes")).to_have_value("")
    look(page, "released")
    # What the next upload did not do has no success above it.
    page.locator("form.upload").evaluate("(form) => { form.dataset.most = 1; }")
    page.locator("#code-file").set_input_files({**PNG, "name": "c.zip"})
    press(page, "Publish this version")
    expect(page.locator("#code-file-error")).to_contain_text("too large")
    expect(page.locator(".note.good")).to_have_count(0)


def test_a_preview_keeps_the_chosen_file(page, look):
    # C-PAGE-70
    page.goto(draft(page, "Previewed") + "?part=files")
    choose_code(page)
    words = page.get_by_label("What changed")
    for text, shown in (("**bold**", "bold"), ("*other*\n\n## Heading", "other")):
        words.fill(text)
        press(page, "Preview What changed")
        expect(page.locator("#changes-shown .prose :is(strong, em)")).to_have_text(shown)
    expect(page.locator("#changes-shown")).to_be_focused()
    assert page.locator("#code-file").evaluate("(input) => input.files[0].name") == "a.zip"
    look(page, "preview")
    press(page, "Upload code")
    expect(page.locator("#description")).to_be_visible()
    open_part(page, "Changelog")
    expect(page.locator(".notes > li em")).to_have_text("other")


def test_a_cancelled_upload_says_so(page):
    draft(page, "Cancelled")
    open_part(page, "Images")
    held = []
    page.route("**/images", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused
    page.locator("#image-file").set_input_files(PNG)
    button = page.get_by_role("button", name="Upload images")
    button.click()
    expect(button).to_be_disabled()
    press(page, "Cancel")
    expect(page.locator("form.upload .done")).to_have_text("Upload cancelled; nothing was saved.")
    expect(page.locator("#image-file")).to_be_focused()
    expect(button).to_be_enabled()


def test_what_is_typed_during_an_upload_stays(page):
    page.goto(draft(page, "Meanwhile") + "?part=files")
    held = []
    page.route("**/code", lambda route: held.append(route))  # noqa: PLW0108 - a builtin is refused
    choose_code(page)
    press(page, "Upload code")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.get_by_label("What changed").fill("Typed meanwhile")
    held[0].continue_()
    expect(page.locator("form.upload .done")).to_contain_text("is stored")
    expect(page.get_by_label("What changed")).to_have_value("Typed meanwhile")


TYPED = "main form :is(input:not([type=hidden], [type=file], [type=checkbox], [type=search]), textarea)"
TYPED_AS = {
    name: f"0000000{number}-0000-4000-8000-000000000000"
    for number, name in enumerate(("requires", "conflictsWith", "supersededBy"))
}


def type_everywhere(page, again=""):
    """Type into each field of the page; returns what was typed, by the id of the field."""
    closed = page.locator("main form details:not([open]) > summary")
    while closed.count():
        closed.first.click()
    typed = {}
    for field in page.locator(TYPED).all():
        name = field.get_attribute("id") or ""
        typed[name] = TYPED_AS.get(name, f"https://example.org/{name}{again}")
        field.fill(typed[name])
    return typed


def expect_typed(page, typed):
    for name, text in typed.items():
        value = page.locator(f"#{name}").input_value()
        assert value.strip() == text, name


def test_saving_one_thing_loses_nothing_that_was_typed(browser, serve_with, tmp_path):
    # C-PAGE-25, C-PAGE-5
    picture = {**PNG, "buffer": (Path(__file__).parents[2] / "modhub_profiles/demo/mira.png").read_bytes()}
    with serve_with(tmp_path, "modhub_testing.accounts modhub_tags modhub_profiles", "demo") as service:
        for has_scripts in (True, False):
            context = browser.new_context(base_url=service.address, java_script_enabled=has_scripts)
            context.add_cookies([{"name": "account", "value": str(AUTHOR), "url": service.address}])
            page = context.new_page()
            address = draft(page, f"Whole {has_scripts}")

            def save(name, page=page):
                page.get_by_role("button", name=name, exact=True).first.click()
                expect(page.locator(".note:is(.good, .warn)").first).to_be_visible()

            page.goto(f"{address}?part=details")
            typed = type_everywhere(page)
            assert {"title", "description", "games", *TYPED_AS, "source", "report", "community", "license"} == {*typed}
            page.get_by_label("Map").check()
            press(page, "Preview Description")
            expect_typed(page, typed)
            save("Save")
            expect_typed(page, typed)
            expect(page.get_by_label("Map")).to_be_checked()

            page.goto(f"{address}?part=files")
            typed = type_everywhere(page)
            press(page, "Preview What changed")
            expect(page.locator("#changes-shown")).to_be_visible()
            expect_typed(page, typed)
            page.locator("#code-file").set_input_files({**PNG, "name": "a.zip"})
            save("Upload code")

            page.goto(f"{address}?part=images")
            page.locator("#image-file").set_input_files([picture, {**picture, "name": "two.png"}])
            save("Upload images")
            typed = type_everywhere(page)
            save("Move later one.png")
            expect_typed(page, typed)
            typed = type_everywhere(page, "2")
            page.locator("#image-file").set_input_files({**picture, "name": "three.png"})
            save("Upload images")
            expect(page.locator(".gallery img")).to_have_count(3)
            expect_typed(page, typed)
            typed = type_everywhere(page, "3")
            if has_scripts:
                save("Save captions")
            else:
                page.locator(".gallery input[id]").first.press("Enter")
            expect_typed(page, typed)
            typed = type_everywhere(page, "4")
            gone = page.locator(".gallery > li").last.get_attribute("data-id")
            page.locator(".gallery > li").last.get_by_role("button", name="Delete permanently").click()
            expect(page.locator(".gallery img")).to_have_count(2)
            expect_typed(page, {name: text for name, text in typed.items() if name != f"caption-{gone}"})

            page.goto(f"{address}?part=changelog")
            page.get_by_role("link", name="Edit").click()
            typed = type_everywhere(page)
            save("Save entry")
            page.get_by_role("link", name="Edit").click()
            expect_typed(page, typed)
            context.close()


def test_going_back_closes_the_images(visit):
    page = visit()
    page.goto("/Modhub")
    page.get_by_label("Search mods").fill("foundry")
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
