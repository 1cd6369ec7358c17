"""``/Modhub/profile`` and what an author's page shows of it: a picture, a sentence and links."""

import io
import re

import pytest
from PIL import Image
from sqlalchemy import select

from modhub.blobs import BlobStore
from modhub.blobs.maintenance import sweep
from modhub.blobs.models import StoredBlob
from modhub_profiles.limits import PICTURE
from modhub_testing import stored_files
from modhub_testing.mods import OWNER, hide_mod, new_mod, published_mod, restore_mod
from modhub_testing.pages import form_at, messages_on, new_visitor
from tests.owning import delete_mod
from tests.people import actions, read

from .conftest import image

HERE, AUTHOR = "/Modhub/profile", f"/Modhub/by/{OWNER}"
SENTENCE = 'I build <i>overlays</i> & "maps".'


def describe(site, **fields):
    form = form_at(new_visitor(site, OWNER).get(HERE), HERE)
    for name, value in fields.items():
        form[name] = value
    return form.submit(expect_errors=True)


def send_picture(site, content, name="me.png"):
    form = form_at(new_visitor(site, OWNER).get(HERE), f"{HERE}/picture")
    form["file"] = (name, content, "image/png")
    return form.submit(expect_errors=True)


def portrait(site):
    shown = site.get(AUTHOR).html.select_one("img.portrait")
    return None if shown is None else str(shown["src"])


def test_an_author_describes_themselves(site):
    # C-PRF-4
    published_mod(site)
    assert not site.get(AUTHOR).html.select(".profile")
    saved = describe(site, sentence=SENTENCE, link2="https://bücher.example/ada", link1="https://example.org")
    assert messages_on(saved.follow()) == ["saved"]
    assert actions(site)[-1] == "profile changed"
    page = site.get(AUTHOR)
    assert page.html.select_one(".profile p").text == SENTENCE
    assert "<i>" not in page.text
    shown = [(link.text, link["href"], " ".join(link["rel"])) for link in page.html.select(".profile li a")]
    rel = "ugc nofollow noopener"
    assert shown == [
        ("example.org", "https://example.org", rel),
        ("xn--bcher-kva.example/ada", "https://xn--bcher-kva.example/ada", rel),
    ]
    assert not page.html.select(f'a[href="{HERE}"]')
    assert new_visitor(site, OWNER).get(AUTHOR).html.select(f'.profile a[href="{HERE}"]')
    refused = describe(site, sentence="New", link1="http://example.org", link3="https://[::1]/")
    assert refused.status_int == 400
    assert messages_on(refused) == ["link1", "link3"]
    assert site.get(AUTHOR).html.select_one(".profile p").text == SENTENCE
    assert messages_on(describe(site, sentence="x" * 201).follow()) == ["cut"]
    assert site.get(AUTHOR).html.select_one(".profile p").text == "x" * 200
    describe(site, sentence="", link1="", link2="")
    assert not site.get(AUTHOR).html.select(".profile")


def test_only_our_picture_is_served(site):
    # C-PRF-4
    published_mod(site)
    assert portrait(site) is None
    assert messages_on(send_picture(site, image("teal")).follow()) == ["picture"]
    assert actions(site)[-1] == "picture changed"
    address = portrait(site)
    assert re.fullmatch(AUTHOR + r"/picture/[0-9a-f]{16}\.jpg", address or "")
    served = site.get(address)
    made = Image.open(io.BytesIO(served.body))
    assert (served.content_type, made.format, made.size) == ("image/jpeg", "JPEG", (256, 256))
    assert served.headers["Cache-Control"] == "public, max-age=86400"
    assert "sandbox" in served.headers["Content-Security-Policy"]
    site.get(address, headers={"If-None-Match": served.headers["ETag"]}, status=304)
    # The file that was sent is nowhere.
    assert [file.read_bytes() for file in stored_files(site)].count(served.body) == 1
    assert not any(file.read_bytes() == image("teal") for file in stored_files(site))
    # Links to the author are shared with it.
    base = site.registry.settings["modhub.base_url"]
    tags = {tag["property"]: tag["content"] for tag in site.get(AUTHOR).html.find_all("meta", property=True)}
    assert (tags["og:image"], tags["og:image:width"]) == (f"{base}{address}", "256")
    # Another picture has another address, and the one before is swept.
    send_picture(site, image("maroon"))
    assert portrait(site) != address
    site.get(address, status=404)
    assert read(site, select(StoredBlob.id).where(StoredBlob.trashed_at.is_not(None)))
    assert sweep(site.databases, site.find_service(BlobStore), -1)
    site.get(portrait(site))
    owner = new_visitor(site, OWNER)
    page = form_at(owner.get(HERE), f"{HERE}/remove-picture").submit(status=303).follow()
    assert messages_on(page) == ["removed"]
    assert portrait(site) is None


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", 400),
        (b"", 400),
        (image()[:80], 400),
        (b"\x89PNG" + bytes(PICTURE), 413),
    ],
    ids=["svg", "empty", "cut", "large"],
)
def test_a_bad_picture_changes_nothing(site, content, status):
    # C-PRF-4
    published_mod(site)
    send_picture(site, image())
    before, files = portrait(site), len(stored_files(site))
    refused = send_picture(site, content)
    assert refused.status_int == status
    assert messages_on(refused) == ["picture"]
    assert refused.html.select_one("#file-error").text
    assert (portrait(site), len(stored_files(site))) == (before, files)


def test_a_profile_is_seen_while_a_mod_is(site):
    # C-PRF-6, C-PRO-2
    draft = new_mod(site)
    describe(site, sentence=SENTENCE)
    send_picture(site, image())
    owner = new_visitor(site, OWNER)
    own = owner.get(owner.get(HERE).html.select_one("img.portrait")["src"])
    assert own.headers["Cache-Control"] == "no-cache"
    assert "Everyone sees this on your author page, once" in owner.get(HERE).text
    mod = published_mod(site)
    address = portrait(site) or ""
    site.get(address)
    hide_mod(site, mod)
    absent = site.get(address.replace(f"/{OWNER}/", "/999/"), status=404).text.replace("/999/", f"/{OWNER}/")
    for visitor in (site, owner):
        visitor.get(AUTHOR, status=404)
        visitor.get(address, status=404)
    assert site.get(address, status=404).text == absent
    restore_mod(site, mod)
    site.get(address)
    for path in ("/Modhub", mod["url"], "/Modhub/by/8", f"/Modhub/{draft['id']}"):
        assert SENTENCE not in site.get(path, status="*").text
    delete_mod(site, mod)
    site.get(address, status=404)


def test_a_blocked_account_changes_nothing(site):
    # C-PRF-6
    published_mod(site)
    describe(site, sentence=SENTENCE)
    blocked = new_visitor(site)
    blocked.set_cookie("account", f"{OWNER}-blocked")
    for path in (HERE, f"{HERE}/remove-picture"):
        blocked.post(path, {"sentence": "x"}, status=403)
    assert site.get(AUTHOR).html.select_one(".profile p").text == SENTENCE
