"""Uploads: names, types, limits, replacement; nothing is stored after an error."""

import pytest
from sqlalchemy import text
from webtest import Upload

from modhub.catalogue.models import AssetKind
from modhub.catalogue.owning import uploads
from modhub_testing import stored_files
from modhub_testing.mods import OWNER, mod_address, new_mod, published_mod, upload_asset
from modhub_testing.pages import form_at, new_visitor
from tests.people import write

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def post(site, mod, rest, body, **options):
    options.setdefault("content_type", "application/octet-stream")
    return site.as_account(OWNER).post(mod_address(mod, rest), body, expect_errors=True, **options)


def test_the_type_sent_is_stored_and_returned(site):
    # C-FILE-3, C-FILE-4, C-UP-1, C-UP-10, T-A1, T-A9
    mod = published_mod(site)
    kept = ["text/html", "image/svg+xml", 'text/plain; charset="x"', "IMAGE/PNG"]
    # An invalid media type (RFC 9110, 8.3.1) does not count as multipart.
    plain = ["text/html, image/png", "multipart /form-data; boundary=B", "multipart"]
    for sent in (*kept, *plain):
        asset = post(site, mod, "images", b"x", headers={"Content-Type": sent}).json["assets"][-1]
        response = site.get(asset["url"])
        assert response.headers["Content-Type"] == (sent if sent in kept else "application/octet-stream")
        inline = sent in kept and sent.lower().startswith("image/")
        assert response.headers["Content-Disposition"].startswith("inline" if inline else "attachment")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in response.headers["Content-Security-Policy"]
        assert response.headers["Cache-Control"] == "public, max-age=86400"
    for form in ("multipart/mixed;x=y", "Multipart/Form-Data"):
        assert post(site, mod, "images", b"x", headers={"Content-Type": form}).status_int == 400
    # Without a type an image gets the one that it shows.
    image = post(site, mod, "images", PNG, content_type="").json["assets"][-1]
    assert site.get(image["url"]).headers["Content-Type"] == "image/png"
    css = post(site, mod, "css", PNG, content_type="").json["assets"][1]
    assert site.get(css["url"]).headers["Content-Type"] == "application/octet-stream"
    upload_asset(site, mod, "css", content_type="image/png")
    for asset in upload_asset(site, mod, "code", version="2", content_type="image/png")["assets"][:2]:
        response = site.get(asset["url"])
        assert response.headers["Content-Disposition"].startswith("attachment")
        assert response.headers["Cache-Control"] == "no-cache"


def test_what_a_program_made_of_its_file_is_refused_by_the_form_too(site):
    # C-UP-1
    mod = new_mod(site)
    page = new_visitor(site, OWNER)
    form = form_at(page.get(f"/Modhub/mine/{mod['id']}?part=files"), f"/Modhub/mine/{mod['id']}/code")
    form["version"], form["file"] = "1", Upload("a.zip", b"\r\n {}\t")
    assert "the file itself" in form.submit(status=400).text
    assert stored_files(site) == []
    for number, other in enumerate((b"{ }", b"[object Blob] x", b"[object " + b"x" * 60 + b"]")):
        upload_asset(site, mod, "code", other, version=str(number))
    upload_asset(site, mod, "css", b"{}")


def test_images_have_a_sum(site, monkeypatch):
    # C-UP-11, C-UP-14
    monkeypatch.setitem(uploads.LIMITS, AssetKind.IMAGE, 30)
    monkeypatch.setattr(uploads, "IMAGES", 80)
    mod = new_mod(site)
    # The sum is of images alone, and of one mod.
    upload_asset(site, mod, "code", b"x" * 100, version="1")
    upload_asset(site, mod, "css", b"x" * 50)
    upload_asset(site, new_mod(site), "images", b"x" * 30)
    for size in (30, 30, 19):
        mod = upload_asset(site, mod, "images", b"x" * size)
    files = stored_files(site)
    refused = post(site, mod, "images", b"xx").json
    assert refused["limitBytes"] == 80
    assert refused["message"] == "The images of a mod may have at most 80 bytes in total; nothing was saved."
    assert post(site, mod, "images", b"x" * 31).json["limitBytes"] == 30
    assert stored_files(site) == files
    mod = upload_asset(site, mod, "images", b"x")
    assert post(site, mod, "images", b"x").status_int == 413
    first = mod["assets"][2]["url"].rpartition("/")[2]
    site.as_account(OWNER).delete(mod_address(mod, "images", first), status=204)
    site.as_account(OWNER).delete(mod_address(mod, "images", first), status=401)
    mod = upload_asset(site, mod, "images", b"x" * 30)
    assert [asset["bytes"] for asset in mod["assets"]] == [100, 50, 30, 19, 1, 30]


@pytest.mark.postgres
def test_a_date_is_never_another_files_however_fast_it_is_replaced(site):
    mod = published_mod(site)
    url = mod["assets"][0]["url"]
    dates = []
    for version in range(2, 12):
        dates.append(site.get(url).headers["Last-Modified"])
        upload_asset(site, mod, "code", str(version).encode(), version=str(version))
        for date in dates:
            assert site.get(url, headers={"If-Modified-Since": date}, status=200).body == str(version).encode()
    # As if it were long ago: each file has a second of its own, and those of the last ones were still to come.
    write(site, text("UPDATE core_asset SET stored_at = stored_at - 60000000"))
    site.get(url, headers={"If-Modified-Since": site.get(url).headers["Last-Modified"]}, status=304)


def test_css_has_no_effect_on_any_page(site):
    # C-READ-11, C-UP-2
    mod, author = published_mod(site), new_visitor(site, OWNER)
    css = upload_asset(site, mod, "css", b"body { color: purple }", content_type="text/css")["assets"][1]
    assert f'<{css["url"]}>; rel="enclosure"; kind="css"; ' in site.get(mod_address(mod)).headers["Link"]
    for address in ("/Modhub", mod["url"], f"/Modhub/mine/{mod['id']}"):
        page = author.get(address)
        assert "purple" not in page.text
        assert not page.html.select(f'link[href*="{css["url"]}"]:not([rel=enclosure]), style'), address
