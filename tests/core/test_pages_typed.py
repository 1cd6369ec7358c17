"""Addresses as people type them, the page for those that lead nowhere, and what phones ask for."""

import io

from PIL import Image


def test_typed_addresses_lead_where_they_mean(start):
    # C-PAGE-14, C-PAGE-1
    site = start("modhub_testing.accounts modhub_builds modhub_wiki")
    meant = {"/": "/Modhub", "/modhub": "/Modhub", "/Modhub/app": "/Modhub/App", "/Modhub/wiki": "/Modhub/Wiki"}
    for typed, address in meant.items():
        for spelling in {typed, typed.rstrip("/") + "/"}:
            answer = site.get(spelling)
            assert answer.status_int in {301, 302}
            assert answer.headers["Location"] == address
        site.get(address, status=200)
    for deeper in ("/modhub/12", "/Modhub/app/nothing", "/Modhub/wiki/page", "/MODHUB"):
        site.get(deeper, status=404)


def test_a_page_that_is_not_there_has_a_search(site):
    # C-PAGE-14
    page = site.get("/Modhub/nothing", status=404)
    form, *_ = page.forms.values()
    assert (form.action, form.method) == ("/Modhub", "get")
    form["q"] = "hud"
    form.submit(status=200)
    assert site.get("/api/nothing", status=404).content_type == "application/json"


def test_phones_find_their_icons(site):
    page = site.get("/Modhub")
    touch = page.html.find("link", rel="apple-touch-icon")["href"]
    for address in (touch, "/apple-touch-icon.png"):
        answer = site.get(address)
        assert answer.content_type == "image/png"
        assert Image.open(io.BytesIO(answer.body)).size == (180, 180)
    manifest = site.get(page.html.find("link", rel="manifest")["href"])
    assert manifest.content_type == "application/manifest+json"
    assert manifest.json["start_url"] == "/Modhub"
    for icon in manifest.json["icons"]:
        assert site.get(icon["src"]).content_type == icon["type"]
