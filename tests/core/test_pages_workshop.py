"""The workshop: a mod from draft to deletion with forms alone, and rejected forms."""

import pytest
from transaction.interfaces import TransientError

from modhub.base.errors import ApiError, storage_refused
from modhub.blobs import BlobStore
from modhub.catalogue.owning.reads import read_mod, read_notes, read_own_image
from modhub.catalogue.pages import workshop_files
from modhub.content import limits
from modhub_testing import stored_files
from modhub_testing.mods import OWNER, notes_of_mod, published_mod, upload_asset
from modhub_testing.pages import form_at, make_mod_by_form, messages_on, new_visitor, send_file_by_form, workshop_form
from tests.owning import asset_id, own_mods

pytestmark = pytest.mark.slow

ABSENT = "01234567-89ab-cdef-0123-456789abcdef"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def test_what_is_published_by_form_is_what_was_typed_and_sent(site, author):
    # C-PAGE-2, C-PAGE-6, C-OWN-8
    games = "Portal\r\n\r\n portal \r\nQuake"
    page = make_mod_by_form(author, title="My <mod>", description="<p>Hello</p>", games=games, requires=ABSENT)
    address = page.request.path
    page = send_file_by_form(page, "code", "my mod.zip", b"the code" * 1000, version=" 1.0 ").follow()
    assert messages_on(page) == ["code"]
    send_file_by_form(page, "images", "shot.png", PNG).follow()
    published = workshop_form(author, f"{address}/publish").submit(status=303).follow()
    number = address.rpartition("/")[2]
    shown = site.get(f"/api/modhub/{number}").json
    assert (shown["title"], shown["games"], shown["requires"]) == ("My <mod>", ["Portal", "Quake"], [ABSENT])
    assert (shown["version"], shown["description"]) == ("1.0", "<p>Hello</p>")
    assert [asset["name"] for asset in shown["assets"]] == ["my mod.zip", "shot.png"]
    assert site.get(f"/api/modhub/{number}/download").body == b"the code" * 1000
    assert "publish" not in {form.action.rpartition("/")[2] for form in published.forms.values()}


def test_an_error_is_shown_beside_its_field_and_the_input_is_preserved(author):
    new = form_at(author.get("/Modhub/mine/new"), "/Modhub/mine/new")
    new["title"], new["requires"] = "Kept", "no guid"
    page = new.submit(status=400)
    assert page.html.find(id="requires")["aria-invalid"] == "true"
    assert form_at(page, "/Modhub/mine/new").submit("preview", status=200).html.find(id="title")["value"] == "Kept"
    page = make_mod_by_form(author, title="Real")
    assert not page.html.title.text.startswith("Error: ")
    form = workshop_form(author, page.request.path)
    form["title"], form["requires"], form["description"] = "  ", "no guid", "typed"
    page = form.submit(status=400)
    assert page.html.find(id="description").text.strip() == "typed"
    assert page.html.h1.text == "Real"
    assert page.html.title.text.startswith("Error: ")


def test_refused_uploads_keep_nothing(site, author, monkeypatch):
    page = make_mod_by_form(author)
    ours = page.request.path
    used = send_file_by_form(page, "code", "a.zip", b"first", version="1").follow()
    before = stored_files(site)
    page = send_file_by_form(used, "code", "a.zip", b"second", version="1")
    assert page.status_int == 409
    assert page.html.find(id="errors").a["href"] == "#version"
    assert page.html.find(id="version")["value"] == "1"
    assert send_file_by_form(used, "code", "a.zip", b"x", version=" ").status_int == 400
    assert send_file_by_form(used, "code", "", b"", version="2").status_int == 400
    monkeypatch.setattr(workshop_files.uploads, "IMAGES", 1024 * 1024)
    full = send_file_by_form(used, "images", "a.png", b"x" * limits.IMAGE)
    assert "1\xa0MB in total" in full.html.find(id="image-file-error").text
    assert stored_files(site) == before

    def refuse(*_):
        raise storage_refused()

    monkeypatch.setattr(site.find_service(BlobStore), "stage", refuse)
    broken = send_file_by_form(author.get(ours), "images", "a.png", PNG)
    assert broken.status_int == 502
    answer = author.post(
        f"{ours}/images",
        {"csrf_token": form_at(broken, f"{ours}/images")["csrf_token"].value},
        upload_files=[("file", "a.png", PNG)],
        headers={"Accept": "application/json"},
        status=502,
    )
    assert answer.json["error"] == "storage_refused"


def test_nobody_else_gets_in(site, author):
    # C-PAGE-7
    page = make_mod_by_form(author, title="Canary")
    address = page.request.path
    image = send_file_by_form(page, "images", "a.png", PNG).follow().html.select_one(".gallery img")["src"]
    stranger, anonymous = new_visitor(site, 8), new_visitor(site)
    for tail in ("", "/preview", image.removeprefix(address)):
        answer = stranger.get(address + tail, status=404)
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Canary" not in answer.text
        sent = anonymous.get(address + tail, status=303).headers["Location"]
        assert sent.startswith("/Modhub/account/login?next=")
    assert "Canary" not in stranger.get("/Modhub/mine").text
    assert "Canary" in author.get("/Modhub/mine").text
    other = published_mod(site, owner=8)
    (theirs,) = notes_of_mod(site, other)
    token = workshop_form(author, address)["csrf_token"].value
    author.post(f"{address}/changelog/{theirs['id']}", {"csrf_token": token, "text": "x"}, status=404)


def test_an_upload_that_is_tried_again_is_read_again(site, author, monkeypatch):
    real, tries = workshop_files.uploads.store_upload, []

    def once_more(*arguments):
        tries.append(arguments)
        if len(tries) == 1:
            raise TransientError
        return real(*arguments)

    monkeypatch.setattr(workshop_files.uploads, "store_upload", once_more)
    page = make_mod_by_form(author)
    assert send_file_by_form(page, "code", "a.zip", b"once" * 50_000, version="1").status_int == 303
    (mod,) = own_mods(site)
    assert mod["assets"][0]["bytes"] == 200_000
    assert len(tries) == 2
    assert len(stored_files(site)) == 1


def test_a_mod_that_changed_hands_meanwhile_is_not_shown(site):
    """The ACL is evaluated before the row is read, so the owner in the row is checked again."""
    mod = published_mod(site)
    image = upload_asset(site, mod, "images", b"\x89PNG", content_type="image/png")["assets"][-1]
    number = asset_id(image)
    with site.databases.readonly_session() as session:
        assert read_own_image(session, mod["id"], number, OWNER).size == 4
        assert read_notes(session, mod["id"], 8) == []
        for read in (lambda: read_mod(session, mod["id"], 8), lambda: read_own_image(session, mod["id"], number, 8)):
            with pytest.raises(ApiError, match="Nothing was found"):
                read()
