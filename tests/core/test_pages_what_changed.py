"""What changed: typed with an upload and for an entry, folded where nobody says it, and shown where readers look."""

import pytest

from modhub.base.errors import invalid
from modhub.catalogue.models import NoteSource
from modhub.catalogue.owning import services
from modhub.catalogue.pages.workshop import propose_version
from modhub_testing import stored_files
from modhub_testing.mods import (
    OWNER,
    mod_address,
    new_mod,
    notes_of_mod,
    published_mod,
    upload_asset,
)
from modhub_testing.pages import form_at, messages_on, new_visitor, send_file_by_form, workshop_form
from tests.owning import delete_mod, write_note

PLAIN = "- fixed a\n- it's\n\nThanks & bye"
MARKDOWN = "## Fixed\n\n- a **b**\n- c"
WORDS = "Zebra crossing"


def here(mod):
    return f"/Modhub/mine/{mod['id']}"


def release(author, mod, version, text, chosen=""):
    """Send a version with what changed by its form."""
    page = author.get(here(mod))
    return send_file_by_form(
        page, "code", "a.zip", b"code " + version.encode(), version=version, text=text, format=chosen
    )


def entry_form(author, mod, note):
    return workshop_form(author, f"{here(mod)}/changelog/{note['id']}")


def write(author, mod, text, chosen=""):
    """Write what is new in the newest version of a published mod."""
    form = entry_form(author, mod, notes_of_mod(author, mod)[0])
    form["text"], form["format"] = text, chosen
    return form.submit(status=303)


def changes_on(page):
    """What the cards of a page say that is new, whether or not a script has shown it yet."""
    return [line.select_one("span").text for line in page.html.select(".card .changes")]


@pytest.mark.parametrize(
    ("text", "chosen", "stored"),
    [
        (PLAIN, "text", "<p>- fixed a<br>- it's</p><p>Thanks &amp; bye</p>"),
        (MARKDOWN, "", "<h3>Fixed</h3>\n<ul>\n<li>a <strong>b</strong></li>\n<li>c</li>\n</ul>"),
        ("<p>a</p><script>x</script>", "html", "<p>a</p>"),
    ],
)
def test_an_upload_says_what_changed_at_once(site, author, text, chosen, stored):
    # C-PAGE-70, C-PAGE-16
    mod = published_mod(site, version="1")
    assert messages_on(release(author, mod, "2", text, chosen).follow())[0] == "version"
    newest, oldest = notes_of_mod(site, mod)
    assert (newest["title"], newest["text"], newest["automatic"]) == ("2", stored, False)
    assert newest["editedAt"] >= newest["createdAt"]
    assert oldest["automatic"] is True
    # The source is what the form of the entry shows.
    form = entry_form(author, mod, newest)
    assert form["text"].value.strip() == (text if chosen != "html" else "<p>a</p>")
    assert form["format"].value == ("" if chosen == "html" else chosen)


def test_a_version_and_its_words_are_stored_together_or_not_at_all(site, author, monkeypatch):
    # C-PAGE-70
    mod = published_mod(site, version="1")

    def fail(*_arguments, **_options):
        raise invalid("The words were refused.")

    with monkeypatch.context() as patch:
        patch.setattr(services, "describe_version", fail)
        assert release(author, mod, "2", WORDS).status_int == 400
    assert [note["title"] for note in notes_of_mod(site, mod)] == ["1"]
    assert site.get(mod_address(mod)).json["version"] == "1"
    assert len(stored_files(site)) == 1


def test_the_preview_of_an_upload_saves_nothing(site, author):
    # C-PAGE-70
    mod = published_mod(site, version="1")
    form = workshop_form(author, f"{here(mod)}/code")
    fields = {"csrf_token": form["csrf_token"].value, "version": "7", "text": MARKDOWN + "<form>", "format": "markdown"}
    page = author.post(f"{here(mod)}/what-changed", fields, status=200)
    assert page.html.select_one("#changes-shown .prose li").text == "a b"
    assert page.html.select_one("#changes-shown code").text == "form"
    assert form_at(page, f"{here(mod)}/code")["version"].value == "7"
    assert current(page) == "files"
    assert len(notes_of_mod(site, mod)) == 1
    new_visitor(site, 8).post(f"{here(mod)}/what-changed", fields, status=404)


def test_an_entry_takes_every_format_and_shows_what_was_typed(site, author):
    # C-PAGE-16
    mod = published_mod(site)
    (note,) = notes_of_mod(site, mod)
    assert write(author, mod, PLAIN, "text").location.endswith(
        f"{here(mod)}?part=changelog&done=note#note-{note['id']}"
    )
    assert site.get(f"/Modhub/{mod['id']}").html.select_one(f"#note-{note['id']} .prose p br") is not None
    form = entry_form(author, mod, note)
    assert form["text"].value.strip() == PLAIN
    form["text"], form["format"] = MARKDOWN, "markdown"
    shown = form.submit("preview", status=200)
    assert shown.html.select_one(f"#note-{note['id']} #text-shown li strong").text == "b"
    assert entry_form(author, mod, note)["text"].value.strip() == PLAIN
    other = published_mod(site)
    write(author, other, PLAIN, "text")
    delete_mod(site, other)
    assert site.count_rows(NoteSource) == 1, "it goes with its mod"
    # A text by the API is HTML again, and its own source.
    write_note(site, mod, note["id"], "<p>By the API</p>")
    assert entry_form(author, mod, note)["text"].value.strip() == "<p>By the API</p>"
    assert site.count_rows(NoteSource) == 0


@pytest.mark.parametrize(
    ("current", "used", "proposed"),
    [
        ("3.1", {"3.1"}, "3.2"),
        ("1.9", {"1.9", "1.10"}, "1.11"),
        ("1.0-beta", set(), "1.1-beta"),
        ("1.09 (x)", set(), "1.10 (x)"),
        ("alpha", set(), ""),
        ("9" * 64, set(), ""),
        ("९", set(), ""),
    ],
)
def test_the_next_version_is_proposed(current, used, proposed):
    assert propose_version(current, used) == proposed


def test_a_published_mod_begins_with_a_new_version(site, author):
    mod = published_mod(site, version="3.1")
    upload_asset(site, mod, "code", version="3.2")
    upload_asset(site, mod, "code", version="3.1.9")
    page = author.get(here(mod))
    assert current(page) == "files"
    form = form_at(page, f"{here(mod)}/code")
    assert form["version"].value == "3.1.10"
    # Nothing but the file has to be chosen, and nothing but the words typed.
    form["file"], form["text"] = ("a.zip", b"x", "application/zip"), "Faster"
    page = form.submit(status=303).follow()
    assert messages_on(page) == ["version"]
    assert site.get(mod_address(mod)).json["version"] == "3.1.10"


def current(page):
    (link,) = page.html.select("nav:is(.steps, .tabs) a[aria-current]")
    part = link["href"].rpartition("=")[2]
    assert page.html.find(id="more" if part == "publish" else part).name == "h2"
    return str(part)


def test_the_parts_have_addresses_and_forms_return_to_theirs(site, author):
    # C-PAGE-25
    mod = new_mod(site, description="x")
    address = here(mod)
    for part in ("details", "images", "publish"):
        assert current(author.get(f"{address}?part={part}")) == part
    # A draft goes on with what is to do; what a draft does not have is not shown.
    assert current(author.get(address)) == current(author.get(f"{address}?part=nonsense")) == "files"
    page = send_file_by_form(author.get(address), "code", "a.zip", b"x", version="1").follow()
    assert current(page) == "images"
    assert current(send_file_by_form(page, "css", "a.css", b"x").follow()) == "publish"
    assert current(workshop_form(author, f"{address}/publish").submit(status=303).follow()) == "publish"
    assert current(author.get(address)) == "files"
    # What is refused is shown where it was typed.
    form = workshop_form(author, address)
    form["title"] = " "
    assert current(form.submit(status=400)) == "details"
    assert current(send_file_by_form(page, "images", "a.png", b"")) == "images"
    assert current(workshop_form(author, f"{address}/delete").submit(status=400)) == "publish"


def test_entries_that_say_nothing_are_one_line_in_their_place(site, author):
    mod = published_mod(site, version="1")
    for version, text in (("2", ""), ("3", "Three"), ("4", ""), ("5", ""), ("6", "")):
        release(author, mod, version, text)
    ids = {note["title"]: note["id"] for note in notes_of_mod(site, mod)}
    page = site.get(f"/Modhub/{mod['id']}")
    items = page.html.select(".notes > li")
    assert [item.select_one("h3, strong").text for item in items] == ["6, 5, 4", "3", "2, 1"]
    assert all(page.html.find(id=f"note-{note_id}") is not None for note_id in ids.values())


def test_my_mods_remind_of_what_nobody_has_said(site, author):
    told, untold = published_mod(site, version="3.1"), published_mod(site, version="3.1<")
    write(author, told, "Said")
    page = author.get("/Modhub/mine")
    (link,) = (link for link in page.html.select(".facts a") if "3.1" in link.text)
    (note,) = notes_of_mod(site, untold)
    assert link["href"] == f"{here(untold)}?part=changelog&entry={note['id']}#note-{note['id']}"
    page = author.get(link["href"].partition("#")[0])
    assert current(page) == "changelog"
    assert page.html.select_one(f"#note-{note['id']} form") is not None
    write(author, untold, "Said too")
    assert "entry=" not in author.get("/Modhub/mine").text


def test_cards_carry_what_the_current_version_says(site, author):
    mod = published_mod(site, version="1", games=["Portal"])
    assert changes_on(site.get("/Modhub")) == []
    release(author, mod, "2", f"<p>{WORDS} &lt;b&gt;</p><ul><li>one</li></ul>", "html")
    assert changes_on(site.get("/Modhub")) == [f"{WORDS} <b> one"]
    write(author, mod, "long " * 700)
    (line,) = changes_on(site.get("/Modhub"))
    assert len(line) <= 160
    assert line.endswith("…")
    # A version of which nothing is said does not repeat what was said of the one before.
    release(author, mod, "3", "")
    assert changes_on(site.get("/Modhub")) == []


def test_words_of_a_removed_entry_are_nowhere(site, author):
    # Of drafts: test_catalogue_drafts.py; of hidden mods: tests/moderation/test_hidden_everywhere.py.
    mod = published_mod(site, games=["Portal"])
    write(author, mod, WORDS)
    public = ("/Modhub", f"/Modhub/by/{OWNER}", "/Modhub/feed", "/Modhub/feed.json", "/Modhub?game=Portal")
    for address in public:
        assert WORDS in site.get(address).text, address
    workshop_form(author, f"{here(mod)}/changelog/{notes_of_mod(site, mod)[0]['id']}/remove").submit(status=303)
    for address in public:
        assert WORDS not in site.get(address).text, address


def test_a_version_with_words_is_one_change_of_files(site, author):
    # C-PAGE-70, C-SYNC-5: the edit in the same transaction does not hide that the file is another one.
    mod = published_mod(site, version="1")
    with site.databases.readonly_session() as session:
        from_before = session.connection().exec_driver_sql("SELECT max(serial) FROM core_change").scalar()
    release(author, mod, "2", WORDS)
    with site.databases.readonly_session() as session:
        rows = session.connection().exec_driver_sql("SELECT serial, what FROM core_change WHERE kind = 'mod'").all()
    assert [(serial > from_before, what) for serial, what in rows] == [(True, "file")]
