"""Derived pictures: made by a worker, shown as their image is, deleted with it."""

import io
import re
from datetime import timedelta
from functools import partial

import pytest
from PIL import Image
from sqlalchemy import delete, select, update

from modhub.base.errors import ApiError, storage_unreachable
from modhub.blobs import BlobStore
from modhub.blobs.maintenance import sweep
from modhub.catalogue.models import Asset
from modhub.catalogue.pictures import maker
from modhub.catalogue.pictures.child import CHILD_FAILED, Decoder, DecodingFailed, DerivedFile, DerivedPictures
from modhub.catalogue.pictures.maker import LEASE, MAX_ATTEMPTS, PictureMaker
from modhub.catalogue.pictures.models import PictureFile, PictureSet, PictureTask
from modhub.catalogue.pictures.services import forget_deleted_images, picture_damage
from modhub.db import now
from modhub_testing import stored_files
from modhub_testing.mods import (
    OWNER,
    hide_mod,
    mod_address,
    new_mod,
    publish_test_mod,
    published_mod,
    restore_mod,
    upload_asset,
)
from modhub_testing.pages import new_visitor
from tests.core.test_pictures_decoding import encoded
from tests.owning import asset_id, delete_mod
from tests.people import read, write
from tests.races import at_once

pytestmark = pytest.mark.slow


PHOTOGRAPH = encoded(Image.radial_gradient("L").resize((900, 500)).convert("RGB"), "JPEG")


def add_image(site, mod, content=PHOTOGRAPH, content_type="image/jpeg"):
    """Upload an image and return its document."""
    return upload_asset(site, mod, "images", content, content_type=content_type, name="shot.jpg")["assets"][-1]


def worker_of(site, decoder=None):
    return PictureMaker(site.databases, site.find_service(BlobStore), decoder)


def work_off(site, decoder=None):
    worker, count = worker_of(site, decoder), 0
    while worker.make_next():
        count += 1
    return count


def sources(page, selector):
    """The addresses of all sizes of the first image, as the page names them."""
    image = page.html.select_one(selector)
    both = [image["srcset"], image.find_parent("picture").find("source")["srcset"]]
    return [entry.split()[0] for srcset in both for entry in srcset.split(", ")]


class FakeDecoder(Decoder):
    """Returns one tiny picture, or raises ``error``; calls ``meanwhile`` first."""

    def __init__(self, error=None, meanwhile=None):
        super().__init__()
        self.error, self.meanwhile, self.calls = error, meanwhile, 0

    def decode(self, source, beat):
        self.calls += 1
        if self.meanwhile is not None:
            self.meanwhile()
        if self.error is not None:
            raise self.error
        return DerivedPictures(9, 9, [(9, 9)], [DerivedFile(9, "jpg", b"jpeg")])


@pytest.mark.process
def test_pictures_answer_as_their_image_does(site):
    # C-PIC-1
    mod = new_mod(site)
    upload_asset(site, mod, "code", version="1")
    original = add_image(site, mod)["url"]
    assert work_off(site) == 1
    names = read(site, select(PictureFile.name).order_by(PictureFile.id))
    number = original.rpartition("/")[2]
    drafts = [f"/Modhub/picture/{number}/{name}" for name in names]
    absent = site.get("/Modhub/picture/999/320-0.jpg", status=404)
    assert {site.get(address, status=404).body for address in drafts} == {absent.body}
    publish_test_mod(site, mod)

    page = site.get("/Modhub")
    image = page.html.select_one(".card img")
    widths = [int(entry.split()[1].removesuffix("w")) for entry in image["srcset"].split(", ")]
    assert widths == [320, 640, 900]
    assert sorted(sources(page, ".card img")) == sorted(drafts)
    assert sorted(sources(site.get(mod["url"]), ".mod-gallery img")) == sorted(drafts)
    assert image["src"] in drafts
    assert re.search(r'og:image" content="[^"]*/900-[0-9a-f]+\.jpg"', site.get(mod["url"]).text)
    for address in drafts:
        answer = site.get(address)
        extension = address.rpartition(".")[2]
        assert answer.headers["Content-Type"] == {"jpg": "image/jpeg", "webp": "image/webp"}[extension]
        width = int(address.rpartition("/")[2].partition("-")[0])
        assert Image.open(io.BytesIO(answer.body)).size == (width, {320: 180, 640: 360, 900: 500}[width])
        assert answer.headers["Cache-Control"] == "public, max-age=86400"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        site.get(address, headers={"Service-Worker": "script"}, status=403)
    hide_mod(site, mod)
    for address in drafts:
        site.get(address, status=404)
    restore_mod(site, mod)
    site.get(drafts[0], status=200)
    delete_mod(site, mod)
    for address in drafts:
        site.get(address, status=404)
    assert site.count_rows(PictureFile) == site.count_rows(PictureSet) == site.count_rows(PictureTask) == 0
    sweep(site.databases, site.find_service(BlobStore), 0)
    assert stored_files(site) == []


def card_source(site):
    """The address that the card of the only mod names; None for a tile."""
    image = site.get("/Modhub").html.select_one(".card .picture > img, .card picture > img")
    return image and image["src"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("content", "content_type", "first", "later"),
    [
        (PHOTOGRAPH, "application/octet-stream", "tile", "pictures"),
        (PHOTOGRAPH[:-2000], "image/jpeg", "original", "original"),
        (b"<svg/>", "image/svg+xml", "original", "original"),
        (b"Just a text.", "image/png", "original", "tile"),
    ],
    ids=["unnamed", "cut", "svg", "text"],
)
def test_what_no_browser_shows_is_a_file(site, content, content_type, first, later):
    # C-PIC-5
    mod = published_mod(site)
    url = add_image(site, mod, content, content_type)["url"]
    author, here = new_visitor(site, OWNER), f"/Modhub/mine/{mod['id']}"
    for expected, count in ((first, 1), (later, 0)):
        source, page = card_source(site), site.get(mod["url"])
        shown = source and ("original" if source == url else "pictures")
        assert (shown or "tile") == expected
        assert page.html.find("meta", property="og:image")["content"].endswith(url) == (expected == "original")
        assert bool(page.html.select(".mod-gallery img")) == (expected != "tile")
        assert ("Other files" in page) == ("Other files" in author.get(f"{here}?part=images")) == (expected == "tile")
        assert site.get(url).headers["Content-Type"] == content_type
        assert work_off(site) == count
    report = site.as_account(OWNER).post(mod_address(mod, "rehearsal")).json
    problems = [entry["problem"] for entry in report["images"]]
    assert problems == {"tile": ["not_shown"], "pictures": []}.get(later, ["cut"] if "jpeg" in content_type else [])


@pytest.mark.postgres
def test_an_image_that_is_deleted_meanwhile_leaves_nothing(site):
    # C-PIC-1
    mod = published_mod(site)
    number = asset_id(add_image(site, mod))
    before = len(stored_files(site))
    removal = mod_address(mod, "images", number)
    decoder = FakeDecoder(meanwhile=lambda: site.as_account(OWNER).delete(removal, status=204))
    assert worker_of(site, decoder).make_next()
    assert site.count_rows(PictureFile) == site.count_rows(PictureSet) == site.count_rows(PictureTask) == 0
    assert len(stored_files(site)) == before


@pytest.mark.postgres
def test_a_task_belongs_to_one_worker(site):
    mod = published_mod(site)
    for _ in range(5):
        add_image(site, mod)
    decoders = [FakeDecoder() for _ in range(3)]
    at_once([partial(work_off, site, decoder) for decoder in decoders])
    assert sum(decoder.calls for decoder in decoders) == 5
    assert (site.count_rows(PictureSet), site.count_rows(PictureTask)) == (5, 0)


class _Killed(BaseException):
    """As if the process ended."""


@pytest.mark.postgres
def test_a_killed_worker_is_succeeded(site, monkeypatch):
    add_image(site, published_mod(site))

    def end():
        raise _Killed

    with pytest.raises(_Killed):
        worker_of(site, FakeDecoder(meanwhile=end)).make_next()
    assert not worker_of(site).make_next()
    monkeypatch.setattr(maker, "now", lambda: now() + LEASE + timedelta(seconds=1))
    assert worker_of(site, FakeDecoder()).make_next()
    assert site.count_rows(PictureSet) == 1


def test_an_image_that_ends_its_process_is_given_up(site):
    add_image(site, published_mod(site))
    write(site, update(PictureTask).values(attempts=MAX_ATTEMPTS))
    decoder = FakeDecoder()
    assert worker_of(site, decoder).make_next()
    assert decoder.calls == 0
    assert read(site, select(PictureSet.problem)) == [CHILD_FAILED]


def test_a_child_that_fails_is_tried_again_and_a_store_that_fails_is_waited_for(site):
    add_image(site, published_mod(site))
    failing = worker_of(site, FakeDecoder(DecodingFailed(CHILD_FAILED)))
    for left in (1, 1, 0):
        assert failing.make_next()
        assert site.count_rows(PictureTask) == left
    assert not failing.make_next()
    add_image(site, published_mod(site))
    away = worker_of(site, FakeDecoder(storage_unreachable()))
    with pytest.raises(ApiError, match="cannot be read"):
        away.make_next()
    assert not away.make_next()
    (task,) = read(site, select(PictureTask))
    assert task.attempts == 0
    assert task.due_at > now()


@pytest.mark.postgres
def test_missing_pictures_and_those_of_no_image_are_damage(site):
    number = asset_id(add_image(site, published_mod(site)))
    assert worker_of(site, FakeDecoder()).make_next()
    with site.databases.write_session() as session:
        assert list(picture_damage(session)) == []
        session.execute(delete(PictureFile))
        (sentence,) = picture_damage(session)
    assert sentence == f"The pictures of image {number} are missing; run modhub-admin pictures rebuild."
    with site.databases.write_session.begin() as session:
        session.execute(delete(Asset).where(Asset.id == number))
        assert list(picture_damage(session)) == [f"Image {number} was deleted, but its pictures were not."]
        assert forget_deleted_images(session) == 1
        assert list(picture_damage(session)) == []


def test_a_picture_by_its_width_alone(site):
    # C-PIC-1
    mod = published_mod(site)
    image = add_image(site, mod)
    original, address = image["url"], image["url"].replace("/file/", "/picture/")
    before = site.get(f"{address}/320")
    assert (before.body, before.headers["Cache-Control"]) == (PHOTOGRAPH, "no-cache")
    work_off(site)
    webp = site.get(f"{address}/320", headers={"Accept": "image/avif,image/webp,*/*;q=0.5"})
    jpeg = site.get(f"{address}/320", headers={"Accept": "image/png, image/jpeg"})
    assert (webp.content_type, jpeg.content_type) == ("image/webp", "image/jpeg")
    assert Image.open(io.BytesIO(webp.body)).size == Image.open(io.BytesIO(jpeg.body)).size == (320, 180)
    assert webp.headers["Cache-Control"] == "public, max-age=86400"
    assert "Accept" in webp.headers["Vary"].split(", ")
    site.get(f"{address}/320", headers={"If-None-Match": webp.headers["ETag"]}, status=304)
    # The image has 900 pixels.
    assert site.get(f"{address}/1280", headers={"Accept": "image/webp"}).body == site.get(original).body
