"""Images on pages: only displayable types, a few at once, a draft's only for its owner."""

import pytest

from modhub_testing.mods import new_mod, publish_test_mod, published_mod, upload_asset
from modhub_testing.pages import workshop_form

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n"


def put(site, mod, name, content_type):
    """The address of what was uploaded as an image."""
    uploaded = upload_asset(site, mod, "images", PNG, content_type=content_type, name=name)
    (address,) = (asset["url"] for asset in uploaded["assets"] if asset["name"] == name)
    return str(address)


def test_many_images_are_one_gallery_and_mostly_folded_away(site, author):
    mod = published_mod(site)
    shots = [put(site, mod, f"{number}.png", "image/png") for number in range(12)]
    here = f"/Modhub/mine/{mod['id']}"
    for shot in shots[:2]:
        form = workshop_form(author, f"{here}/captions")
        form[f"caption-{shot.rpartition('/')[2]}"] = f"See <{shot}>"
        form.submit(status=303)
    page = site.get(mod["url"])
    # Each once, in their order, the large one first; the viewer goes through all of them.
    assert [link["href"] for link in page.html.select("[data-viewer] a")] == shots
    assert page.html.select_one(".mod-gallery details summary").text == "3 more images"
    captions = [f"See <{shot}>" for shot in shots[:2]]
    assert [caption.text for caption in page.html.select("figcaption")] == captions
    assert [image["alt"] for image in page.html.select(".mod-gallery img")][:3] == [*captions, "Image 3 of 12: 2.png"]
    large = page.html.select_one(".mod-gallery img")
    assert (large["width"], large["height"], large["fetchpriority"]) == ("640", "360", "high")


def test_no_page_elsewhere_sees_an_image_of_a_draft(site, author):
    draft = new_mod(site)
    number = put(site, draft, "shot.png", "image/png").rpartition("/")[2]
    own = f"/Modhub/mine/{draft['id']}/images/{number}"
    refused = {416: {"Range": "bytes=99-"}, 412: {"If-Match": '"x"'}, 403: {"Service-Worker": "script"}}
    for status, headers in {200: {}, **refused}.items():
        answer = author.get(own, headers=headers, status=status)
        assert answer.headers.getall("Cross-Origin-Resource-Policy") == ["same-origin"]
        assert not [name for name in answer.headers if name.startswith("Access-Control")]
        assert answer.headers["Cache-Control"] == "no-store"
    upload_asset(site, draft, "code", version="1")
    shown = next(asset["url"] for asset in publish_test_mod(site, draft)["assets"] if asset["kind"] == "image")
    assert site.get(shown).headers["Cross-Origin-Resource-Policy"] == "cross-origin"
