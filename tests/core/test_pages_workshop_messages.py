"""Messages of the workshop: cut text, concurrent edits, stored files, the preview."""

import pytest

from modhub.catalogue.models import AssetKind
from modhub.catalogue.pages import workshop_files
from modhub.content import limits
from modhub.ui.multipart import OVERHEAD
from modhub_testing import stored_files
from modhub_testing.mods import OWNER, mod_address, notes_of_mod, published_mod, upload_asset
from modhub_testing.pages import form_at, make_mod_by_form, messages_on, new_visitor, send_file_by_form, workshop_form
from tests.owning import asset_id

pytestmark = pytest.mark.slow

ABSENT = "01234567-89ab-cdef-0123-456789abcdef"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def cut_fields(page):
    return str(page.html.select_one(".note.good").get("data-cut", ""))


def test_the_page_says_what_was_cut(site, author):
    page = make_mod_by_form(author, title="A", description="&" * 7000)
    assert cut_fields(page) == "description"
    page = send_file_by_form(page, "code", "a.zip", b"x", version="v" * 70).follow()
    assert cut_fields(page) == "version"
    entry = author.get(f"{page.request.path}?part=changelog").html.select_one(".notes > li")["id"]
    note = workshop_form(author, f"{page.request.path}/changelog/{entry.removeprefix('note-')}")
    note["title"], note["text"] = "t" * 200, "x" * 5000
    assert cut_fields(note.submit().follow()) == "title text"
    page = make_mod_by_form(author, title="  A   b ", description="<p>Cleaned<script>x</script> & short")
    assert cut_fields(page) == ""


def test_the_later_of_two_tabs_does_not_undo_the_earlier_unasked(site, author):
    page = make_mod_by_form(author, title="A", description="first")
    address = page.request.path
    first, second = workshop_form(author, address), workshop_form(author, address)
    first["description"], second["description"] = "from one", "from two"
    assert first.submit(status=303)
    # A form that is sent twice is no other change.
    assert first.submit(status=303)
    refused = second.submit(status=409)
    assert refused.html.find(id="errors") is not None
    assert workshop_form(author, address)["description"].value.strip() == "from one"
    # A file that came meanwhile is no change of the words.
    send_file_by_form(author.get(address), "images", "a.png", PNG)
    page = form_at(refused, address).submit(status=303).follow()
    assert page.html.find(id="description").text.strip() == "from two"


def test_what_the_server_did_not_read_is_in_the_browser(site, author, monkeypatch):
    monkeypatch.setitem(workshop_files._BODIES, AssetKind.CODE, 10)
    page = make_mod_by_form(author)
    large = send_file_by_form(page, "code", "a.zip", bytes(OVERHEAD), version="1", text="What is new")
    assert large.status_int == 413
    assert "Back button" in large.html.find(id="code-file-error").text
    monkeypatch.setitem(workshop_files.LIMITS, AssetKind.CODE, 10)
    large = send_file_by_form(page, "code", "a.zip", bytes(11), version="1", text="What is new")
    assert large.status_int == 413
    assert "Back button" not in large.html.find(id="code-file-error").text
    assert large.html.find(id="changes").text.strip() == "What is new"


def test_images_are_sent_together_and_kept_all_or_none(site, author):
    page = make_mod_by_form(author)
    form = workshop_form(author, f"{page.request.path}/images")
    form["file"] = [(f"{n}.png", PNG + bytes([n]) * n, "image/png") for n in range(3)]
    page = form.submit(status=303).follow()
    assert messages_on(page) == ["images"]
    assert len(page.html.select(".gallery img")) == 3
    before = stored_files(site)
    (form,) = (form for form in page.forms.values() if form.action.endswith("/images"))
    form["file"] = [("a.png", PNG, "image/png"), ("b.png", b"x" * (limits.IMAGE + 1), "image/png")]
    assert "2\xa0MB" in form.submit(status=413).html.find(id="image-file-error").text
    form["file"] = [(f"{n}.png", PNG, "image/png") for n in range(workshop_files.MAX_FILES_AT_ONCE + 1)]
    assert form.submit(status=400).html.find(id="image-file-error") is not None
    assert stored_files(site) == before
    # What is no image, by its type or by its bytes, is called a file.
    text, image = ("a.txt", b"words", "text/plain"), ("a.png", PNG, "image/png")
    for files, code in (([text], "file"), ([("a.png", b"words", "image/png"), image], "files")):
        form["file"] = files
        assert messages_on(form.submit(status=303).follow()) == [code]


def test_the_preview_shows_what_the_page_will_show(site, author):
    page = make_mod_by_form(author)
    address = page.request.path
    mod = {"id": address.rpartition("/")[2]}
    for version in range(12):
        upload_asset(site, mod, "code", b"x" * 2048, version=str(version))
    image = send_file_by_form(page, "images", "a.png", PNG).follow().html.select_one(".gallery img")["src"]
    asset = int(image.rpartition("/")[2])
    texts = "".join(f'<img src="/Modhub/file/{number}">' for number in (asset, asset + 1))
    edited = {"description": texts, "requires": [published_mod(site)["guid"]]}
    site.as_account(OWNER).put_json(mod_address(mod), edited)
    preview = author.get(f"{address}/preview")
    assert [shown["src"] for shown in preview.html.select(".prose img")] == [image, f"/Modhub/file/{asset + 1}"]
    older = preview.html.find("a", rel="next")["href"]
    assert "Page 2 of 2" in author.get(older.partition("#")[0]).text
    assert "2\xa0KB" in preview.html.select(".chain li")[-1].text
    workshop_form(author, f"{address}/publish").submit(status=303)
    assert author.get(f"{address}/preview", status=303).headers["Location"] == f"/Modhub/{mod['id']}"


def test_the_address_of_a_form_leads_back_to_its_page(site, author):
    mod = published_mod(site)
    (note,) = notes_of_mod(site, mod)
    here = f"/Modhub/mine/{mod['id']}"
    entry = f"changelog/{note['id']}"
    image = asset_id(upload_asset(site, mod, "images", PNG, content_type="image/png")["assets"][-1])
    parts = {"images": "images", f"images/{image}/remove": "images", entry: "changelog", f"{entry}/remove": "changelog"}
    for tail in ("code", "delete", *parts):
        back = f"{here}?part={parts[tail]}" if tail in parts else here
        assert author.get(f"{here}/{tail}", status=303).headers["Location"] == back
        assert new_visitor(site, 8).get(f"{here}/{tail}", status=404)
        assert "login" in new_visitor(site).get(f"{here}/{tail}", status=303).headers["Location"]


def test_the_steps_say_what_is_done_and_what_is_left(site, author):
    # C-PAGE-25
    page = make_mod_by_form(author, title="Steps")
    address = page.request.path

    def done(page):
        steps = page.html.select(".steps > ol > li")
        assert len(steps) == 5
        return [step.a.text for step in steps if "done" in (step.get("class") or [])]

    assert done(page) == []
    assert "Write a description" in page.html.find(id="tasks-details").text
    assert page.html.select_one(".must").find_parent("ul")["id"] == "tasks-files"
    form = workshop_form(author, address)
    form["description"] = "<p>x</p>"
    assert done(form.submit(status=303).follow()) == ["Details"]
    page = send_file_by_form(author.get(address), "code", "a.zip", b"x", version="1").follow()
    assert done(page) == ["Details", "Files"]
    page = send_file_by_form(page, "images", "a.png", PNG).follow()
    # Nothing is done while something is missing.
    assert done(page) == ["Details", "Files"]
    form = workshop_form(author, f"{address}/captions")
    form[page.html.select_one(".gallery input[id]")["name"]] = "A hut"
    assert done(form.submit(status=303).follow()) == ["Details", "Files", "Images"]
    page = workshop_form(author, f"{address}/publish").submit(status=303).follow()
    assert page.html.select_one(".tabs a").contents[0] == "New version"
    assert [tab.contents[0] for tab in page.html.select(".tabs a:has(.hidden)")] == ["Changelog"]


def test_the_publish_box_sums_up_what_becomes_public(site, author):
    # C-OWN-8
    needed = published_mod(site, title="Needed")
    page = make_mod_by_form(author, title="Sum", games="Portal", requires=f"{needed['guid']}\n{ABSENT}")
    address = page.request.path
    box = author.get(f"{address}?part=publish").html.find("form", action=f"{address}/publish")
    assert "Write a description" in box.select_one(".note.warn").text
    assert box.find("button") is None
    send_file_by_form(page, "images", "a.png", PNG + bytes(2000))
    refused = site.as_account(OWNER).post(f"/api/modhub/{address.rpartition('/')[2]}/publish", status=409)
    assert refused.json["error"] == "no_code"
    page = send_file_by_form(page, "code", "laps.zip", b"x" * 3072, version="1.4").follow()
    box = author.get(f"{address}?part=publish").html.find("form", action=f"{address}/publish")
    facts = {fact.dt.text: fact.dd.text for fact in box.select(".sum > div")}
    assert facts["Files"] == "laps.zip, 3\xa0KB"
    assert facts["Images"] == "1 image, 2\xa0KB"
    assert facts["Requires"] == f"Needed{ABSENT}"
    assert facts["Changelog"] == "1 entry"
    assert ABSENT in box.select_one(".note").text
    assert "can't unpublish" in box.text
