"""Messages of the workshop: cut text, concurrent edits, stored files, the preview."""

import pytest

from modhub import limits
from modhub.catalogue.pages.views import files
from modhub.testing import Site, stored_files
from modhub.testing.mods import OWNER, notes_of_mod, published_mod, upload_asset
from modhub.testing.pages import form_at, make_mod_by_form, new_visitor, send_file_by_form

pytestmark = pytest.mark.one_database

ABSENT = "01234567-89ab-cdef-0123-456789abcdef"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture
def author(site: Site) -> Site:
    return new_visitor(site, OWNER)


def test_the_page_says_what_was_cut(site: Site, author: Site) -> None:
    page = make_mod_by_form(author, title="A", description="&" * 7000)
    said = page.html.select_one(".note.good").text
    assert "Description was too long" in said
    assert "Title" not in said
    page = send_file_by_form(page, "code", "a.zip", b"x", version="v" * 70).follow()
    assert "Version was too long" in page.html.select_one(".note.good").text
    (note,) = (form for form in page.forms.values() if "/changelog/" in form.action and "text" in form.fields)
    note["title"], note["text"] = "t" * 200, "x" * 5000
    said = note.submit().follow().html.select_one(".note.good").text
    assert "Title was too long" in said
    assert "What changed was too long" in said
    page = make_mod_by_form(author, title="  A   b ", description="<p>Cleaned<script>x</script> & short")
    assert "too long" not in page.html.select_one(".note.good").text


def test_the_later_of_two_tabs_does_not_undo_the_earlier_unasked(site: Site, author: Site) -> None:
    page = make_mod_by_form(author, title="A", description="first")
    address = page.request.path
    one, two = form_at(page, address), form_at(author.get(address), address)
    one["description"], two["description"], two["games"] = "from one", "from two", "Quake"
    assert one.submit(status=303)
    # A form that is sent twice is no other change.
    assert one.submit(status=303)
    refused = two.submit(status=409)
    assert "changed elsewhere" in refused.html.find(id="errors").text
    assert refused.html.find(id="description").text.strip() == "from two"
    assert author.get(address).html.find(id="description").text.strip() == "from one"
    # A file that came meanwhile is no change of the words.
    send_file_by_form(author.get(address), "images", "a.png", PNG)
    page = form_at(refused, address).submit(status=303).follow()
    assert page.html.find(id="description").text.strip() == "from two"
    assert page.html.find(id="games").text.strip() == "Quake"


def test_images_are_sent_together_and_kept_all_or_none(site: Site, author: Site) -> None:
    page = make_mod_by_form(author)
    (form,) = (form for form in page.forms.values() if form.action.endswith("/images"))
    form["file"] = [(f"{n}.png", PNG + bytes([n]) * n, "image/png") for n in range(3)]
    page = form.submit(status=303).follow()
    assert "images are stored" in page.html.select_one(".note.good").text
    shown = [image["src"] for image in page.html.select(".gallery img")]
    assert [author.get(image).body for image in shown] == [PNG + bytes([n]) * n for n in range(3)]
    before = stored_files(site)
    (form,) = (form for form in page.forms.values() if form.action.endswith("/images"))
    form["file"] = [("a.png", PNG, "image/png"), ("b.png", b"x" * (limits.IMAGE + 1), "image/png")]
    assert "2\xa0MB" in form.submit(status=413).html.find(id="image-file-error").text
    form["file"] = [(f"{n}.png", PNG, "image/png") for n in range(files.MAX_FILES_AT_ONCE + 1)]
    assert "At most 20 images" in form.submit(status=400).html.find(id="image-file-error").text
    assert stored_files(site) == before
    assert len(author.get(page.request.path).html.select(".gallery img")) == 3


def test_the_preview_shows_what_the_page_will_show(site: Site, author: Site) -> None:
    page = make_mod_by_form(author)
    address = page.request.path
    for version in range(12):
        page = send_file_by_form(page, "code", "a.zip", b"x" * 2048, version=str(version)).follow()
    image = send_file_by_form(page, "images", "a.png", PNG).follow().html.select_one(".gallery img")["src"]
    asset = image.rpartition("/")[2]
    theirs = f'<img src="/Modhub/file/{int(asset) + 1}">'
    site.as_account(OWNER).put_json(
        f"/api/modhub/{address.rpartition('/')[2]}",
        {"description": f'<img src="/Modhub/file/{asset}">{theirs}', "requires": [published_mod(site)["guid"]]},
    )
    preview = author.get(f"{address}/preview")
    shown = [picture["src"] for picture in preview.html.select(".prose img")]
    assert shown == [image, f"/Modhub/file/{int(asset) + 1}"]
    older = preview.html.find("a", rel="next")["href"]
    assert "Page 2 of 2" in author.get(older.partition("#")[0]).text
    assert "2\xa0KB" in preview.html.select(".chain li")[-1].text
    form_at(author.get(address), f"{address}/publish").submit(status=303)
    number = address.rpartition("/")[2]
    assert author.get(f"{address}/preview", status=303).headers["Location"] == f"/Modhub/{number}"
    assert site.get(f"/api/modhub/{number}").json["url"] == f"/Modhub/{number}"


def test_the_address_of_a_form_leads_back_to_its_page(site: Site, author: Site) -> None:
    mod = published_mod(site)
    (note,) = notes_of_mod(site, mod)
    here = f"/Modhub/mine/{mod['id']}"
    entry = f"changelog/{note['id']}"
    image = upload_asset(site, mod, "images", PNG, content_type="image/png")["assets"][-1]["url"].rpartition("/")[2]
    for tail in ("code", "css", "images", f"images/{image}/remove", "publish", "delete", entry, f"{entry}/remove"):
        assert author.get(f"{here}/{tail}", status=303).headers["Location"] == here
        assert new_visitor(site, 8).get(f"{here}/{tail}", status=404)
        assert "login" in new_visitor(site).get(f"{here}/{tail}", status=303).headers["Location"]


def test_the_page_says_what_was_done_and_what_was_not(site: Site, author: Site) -> None:
    rival = published_mod(site, title="Rival")
    page = make_mod_by_form(author, title="Two  spaces", games="Nobody knows", requires=f"{ABSENT}\n{ABSENT[:-1]}0")
    address = page.request.path
    assert page.html.find("a", href="/Modhub/mine", attrs={"aria-current": "true"}) is not None
    todo = page.html.find(id="tasks").find_parent("section")
    assert [item.text for item in todo.select("li li")] == [ABSENT, f"{ABSENT[:-1]}0"]
    assert "Nobody knows" not in todo.text
    assert "Nobody knows" in page.html.find(id="tasks-notes").find_parent("section").text
    form = form_at(page, address)
    form["requires"], form["conflictsWith"], form["description"] = "", rival["guid"], "x"
    form.submit(status=303)
    send_file_by_form(author.get(address), "code", "a.zip", b"x", version="1")
    page = send_file_by_form(author.get(address), "images", "a.png", PNG).follow()
    page = form_at(page, f"{address}/publish").submit(status=303).follow()
    assert page.html.select_one(".note.good a")["href"] == f"/Modhub/{address.rpartition('/')[2]}"
    assert page.html.find(id="tasks") is None
    assert "Rival" in page.html.find(id="tasks-notes").find_parent("section").text
    form = form_at(page, f"{address}/delete")
    form["title"] = "Two"
    page = form.submit(status=400)
    assert "Nothing was deleted" in page.html.find(id="errors").text
    form["title"] = "Two spaces"
    form.submit(status=303)
