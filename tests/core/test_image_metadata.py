"""What images tell beside what they show: found once, said to their owner, and not in a copy that looks the same."""

import gc
import io
import re
import struct
import time
import zlib

import pytest
from PIL import ExifTags, Image, ImageChops, ImageCms, ImageStat, PngImagePlugin

from modhub.blobs import BlobStore
from modhub.catalogue.models import Asset
from modhub.catalogue.pictures import decoder
from modhub.catalogue.pictures.metadata import read_stored
from modhub_testing.mods import OWNER, mod_address, new_mod, notes_of_mod, published_mod, upload_asset
from modhub_testing.pages import messages_on, new_visitor, workshop_form
from tests.core.test_everything_zip import Remote
from tests.core.test_pictures import work_off
from tests.core.test_pictures_decoding import chunk, encoded
from tests.owning import edit_mod, write_caption, write_note
from tests.people import actions

XMP_NAME = b"<x:xmpmeta><rdf:Description><dc:creator><rdf:Seq><rdf:li>Jo</rdf:li></rdf:Seq></dc:creator></x:xmpmeta>"
XMP_PLACE = b'<rdf:Description exif:GPSLatitude="52,31.2N"/>'
IPTC = b"Photoshop 3.0\x008BIM\x04\x04\0\0" + struct.pack(">L", 7) + b"\x1c\x02\x50\0\x02Jo\0"
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def exif(*, place=False, name="", orientation=1):
    tags = Image.Exif()
    tags[ExifTags.Base.Orientation] = orientation
    if place:
        tags.get_ifd(ExifTags.IFD.GPSInfo).update({1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)})
    if name:
        tags[ExifTags.Base.Artist] = name
    return tags.tobytes()


def picture(form, **saved):
    image = Image.radial_gradient("L").resize((48, 32)).convert("RGB")
    return encoded(image, form, icc_profile=PROFILE, lossless=form == "WEBP", **saved)


def with_segment(jpeg, code, body):
    return jpeg[:2] + struct.pack(">BBH", 0xFF, code, 2 + len(body)) + body + jpeg[2:]


def png_text(**texts):
    info = PngImagePlugin.PngInfo()
    for keyword, value in texts.items():
        info.add_text(keyword.replace("_", " "), value)
    return info


def xmp_of_gif(gif):
    start = 13 + (3 << (gif[10] & 7) + 1)
    trailer = b"\1" + bytes(range(255, -1, -1)) + b"\0"
    return gif[:start] + b"\x21\xff\x0bXMP DataXMP" + XMP_PLACE + trailer + gif[start:]


def hex_profile(content):
    return f"\nexif\n{len(content):8}\n{content.hex()}"


TELLING = {
    "jpeg on its side": (picture("JPEG", exif=exif(place=True, name="Jo", orientation=6)), ["location", "names"]),
    "jpeg xmp": (picture("JPEG", xmp=XMP_NAME), ["names"]),
    "jpeg iptc": (with_segment(picture("JPEG"), 0xED, IPTC), ["names"]),
    "png exif": (picture("PNG", exif=exif(place=True, orientation=8)), ["location"]),
    "png text": (picture("PNG", pnginfo=png_text(Author="Jo")), ["names"]),
    "png xmp on its side": (
        picture("PNG", pnginfo=png_text(**{"XML:com.adobe.xmp": '<a tiff:Orientation="6" dc:creator="Jo"/>'})),
        ["names"],
    ),
    "png of ImageMagick": (
        picture("PNG", pnginfo=png_text(Raw_profile_type_exif=hex_profile(exif(place=True)))),
        ["location"],
    ),
    "webp": (picture("WEBP", exif=exif(place=True, orientation=3), xmp=XMP_NAME), ["location", "names"]),
    "gif": (xmp_of_gif(picture("GIF", comment=b"secret")), ["location"]),
}


def shown(content):
    with Image.open(io.BytesIO(content)) as image:
        return image.size, image.tobytes(), image.info.get("icc_profile"), image.getexif().get(0x0112, 1)


def told_by(content):
    return decoder.answer(io.BytesIO(content))[0].get("told", [])


def copied(content):
    """The copy without metadata; ValueError with the problem if there is none."""
    head, files = decoder.answer(io.BytesIO(content), decoder.copy_image)
    if not files:
        raise ValueError(head["problem"])
    return files[0]


@pytest.mark.parametrize("case", TELLING)
def test_metadata_is_found_and_removed(case):
    # C-PIC-22, C-PIC-23
    content, problems = TELLING[case]
    assert told_by(content) == problems
    stripped = copied(content)
    assert shown(stripped) == shown(content)
    assert told_by(stripped) == []
    assert b"Jo" not in stripped.replace(PROFILE, b"")
    with Image.open(io.BytesIO(stripped)) as image:
        image.load()
        assert set(image.getexif()) <= {0x0112}
        assert not {"xmp", "XML:com.adobe.xmp", "comment", "photoshop", "Author"} & image.info.keys()


def scene(mode="RGB"):
    return Image.merge(
        "RGB", [Image.radial_gradient("L"), Image.linear_gradient("L"), Image.new("L", (256, 256))]
    ).convert(mode)


COPIED = {
    "noise": encoded(Image.effect_noise((256, 256), 90).convert("RGB"), "JPEG", quality=60),
    "several": encoded(scene(), "MPO", save_all=True, append_images=[scene().rotate(90)]),
    "one colour": encoded(scene(), "PNG", transparency=(0, 0, 0)),
    "lossless": encoded(scene("RGBA"), "WEBP", lossless=True),
}


@pytest.mark.filterwarnings("ignore:Palette images with Transparency")
@pytest.mark.parametrize("case", COPIED)
def test_a_copy_looks_the_same(case):
    # C-PIC-23
    with Image.open(io.BytesIO(COPIED[case])) as image, Image.open(io.BytesIO(copied(COPIED[case]))) as copy:
        assert (copy.format, copy.size, copy.mode) == (image.format.replace("MPO", "JPEG"), image.size, image.mode)
        if image.format in {"PNG", "GIF"} or case == "lossless":
            assert copy.convert("RGBA").tobytes() == image.convert("RGBA").tobytes()
        difference = ImageChops.difference(image.convert("RGB"), copy.convert("RGB"))
        assert max(ImageStat.Stat(difference).mean) < 2


def test_the_gamma_of_a_png_is_kept():
    # C-PIC-23
    png = picture("PNG")
    dark = png[:33] + chunk(b"gAMA", struct.pack(">L", 90_000)) + png[33:]
    with Image.open(io.BytesIO(copied(dark))) as copy:
        assert copy.info["gamma"] == 0.9


def sixteen_bits():
    head, rows = struct.pack(">LLBBBBB", 4, 4, 16, 2, 0, 0, 0), zlib.compress(bytes(4 * (1 + 4 * 6)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "content",
    [
        sixteen_bits(),
        encoded(scene(), "BMP"),
        encoded(scene(), "JPEG")[:-300],
    ],
    ids=["16 bits", "bmp", "cut"],
)
def test_what_a_copy_would_damage_is_refused(content):
    # C-PIC-23
    with pytest.raises(ValueError, match="not_copied"):
        copied(content)


def exif_without_a_place():
    """As a phone writes it that may not tell where it is."""
    tags = Image.Exif()
    tags.get_ifd(ExifTags.IFD.GPSInfo).update({1: "N", 2: (0.0, 0.0, 0.0), 29: "2026:11:25"})
    return tags.tobytes()


@pytest.mark.parametrize(
    "content",
    [
        picture("JPEG", exif=exif(orientation=6)),
        picture("JPEG", exif=exif_without_a_place()),
        picture("JPEG", xmp=b'<a dc:creator="" exif:GPSLatitude = " "><photoshop:City></photoshop:City><b>x</b></a>'),
        picture("PNG", pnginfo=png_text(Software="GIMP", Author=" ")),
        with_segment(picture("JPEG"), 0xED, IPTC.replace(b"\x50\0\x02Jo", b"\x78\0\x02Jo")),
    ],
)
def test_programs_and_empty_fields_are_no_names_or_places(content):
    # C-PIC-22
    assert told_by(content) == []


def png_of_texts(count):
    png = picture("PNG")
    return png[:33] + chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(2**20))) * count + png[33:]


HOSTILE = {
    "texts in the depth": picture("WEBP", xmp=b"<creator>x" * 190_000),
    "texts": png_of_texts(1_000),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_images_take_bounded_work(case):
    # C-PIC-22, T-A10
    # What ends the work must not be raised in a callback for garbage of other tests, which would swallow it: the
    # process of a real decoder has none.
    gc.collect()
    gc.disable()
    began = time.process_time()
    try:
        decoder.answer(io.BytesIO(HOSTILE[case]))
    finally:
        gc.enable()
    # 50 ms to open it, 50 to look for personal data, and to decode a picture of 48×32; unbounded some take seconds.
    assert time.process_time() - began < 3


def test_damaged_images_are_read_as_far_as_they_go():
    # C-PIC-22, C-PIC-23, T-A10
    for content, _ in TELLING.values():
        for stop in range(0, len(content), 37):
            decoder.answer(io.BytesIO(content[:stop]))
            decoder.answer(io.BytesIO(content[:stop]), decoder.copy_image)
    assert told_by(encoded(scene(), "JPEG", exif=exif(place=True))[:-300]) == ["location"]


PHOTOGRAPH, _ = TELLING["jpeg on its side"]


def add(site, mod, content, name):
    """Upload an image and return its id."""
    answer = upload_asset(site, mod, "images", content, content_type="image/jpeg", name=name)
    work_off(site)
    return str(next(asset["url"] for asset in answer["assets"] if asset["name"] == name).rpartition("/")[2])


def rehearsed_images(site, mod):
    return site.as_account(OWNER).post(mod_address(mod, "rehearsal"), status=200).json["images"]


@pytest.mark.postgres
def test_the_owner_is_told_and_may_have_a_copy_without_it(site):
    # C-PIC-22, C-PIC-23
    mod = published_mod(site)
    shot, plain = add(site, mod, PHOTOGRAPH, "b"), add(site, mod, picture("JPEG"), "a")
    assert rehearsed_images(site, mod) == [
        {"assetId": int(shot), "name": "b", "problem": problem} for problem in ("location", "names")
    ]
    author, here = new_visitor(site, OWNER), f"/Modhub/mine/{mod['id']}"
    assert "b: says where it was taken" in author.get(f"{here}/rehearsal").html.text
    text = f'<p><img src="/Modhub/file/{shot}" alt="x"> <img src="/Modhub/file/{shot}0" alt="y"></p>'
    edit_mod(site, mod, description=text)
    (note,) = notes_of_mod(site, mod)
    write_note(site, mod, note["id"], text)
    write_caption(site, mod, {"url": f"/Modhub/file/{shot}"}, "A hut")
    workshop = author.get(f"{here}?part=images")
    assert not workshop.html.select(f'#image-{plain} [formaction$="/clean"]')
    warning = workshop.html.select_one(f"#image-{shot} .note.warn")
    assert "This image names a person or a device." in warning.text
    before = site.get(mod_address(mod)).json
    page = workshop_form(author, f"{here}/images/{shot}/clean").submit(status=303).follow()
    assert messages_on(page) == ["image-cleaned"]
    after = site.get(mod_address(mod)).json
    assert after["updatedAt"] > before["updatedAt"]
    assert [asset["name"] for asset in after["assets"] if asset["kind"] == "image"] == ["b", "a"]
    url = next(asset["url"] for asset in after["assets"] if asset["name"] == "b")
    new = url.rpartition("/")[2]
    site.get(f"/Modhub/file/{shot}", status=404)
    stripped = site.get(url, status=200)
    assert stripped.content_type == "image/jpeg"
    assert shown(stripped.body) == shown(PHOTOGRAPH)
    assert [entry["caption"] for entry in site.get(mod_address(mod, "captions")).json["captions"]] == ["A hut", ""]
    for shown_text in (after["description"], notes_of_mod(site, mod)[0]["text"]):
        assert re.findall(r"/Modhub/file/(\d+)", shown_text) == [new, f"{shot}0"]
    work_off(site)
    assert rehearsed_images(site, mod) == []
    assert "image metadata removed" in actions(site)


def test_an_image_of_an_object_store_is_fetched():
    # C-PIC-22
    store = type("Store", (), {"open": lambda *_: Remote(PHOTOGRAPH)})()
    assert read_stored(store, "", len(PHOTOGRAPH), "") == PHOTOGRAPH


def test_what_is_found_is_stored_with_the_image(site, monkeypatch):
    # C-PIC-22, C-OWN-17
    mod = new_mod(site)
    upload_asset(site, mod, "code", b"code", version="1")
    upload_asset(site, mod, "images", PHOTOGRAPH, content_type="image/jpeg", name="b")
    author, here = new_visitor(site, OWNER), f"/Modhub/mine/{mod['id']}"
    assert [image["problem"] for image in rehearsed_images(site, mod)] == ["pending"]
    assert "not looked at yet" in author.get(f"{here}/rehearsal")
    assert "/clean" not in author.get(f"{here}?part=images")
    work_off(site)
    monkeypatch.setattr(site.find_service(BlobStore), "open", None)
    for _ in range(2):
        assert [image["problem"] for image in rehearsed_images(site, mod)] == ["location", "names"]
        assert "/clean" in author.get(f"{here}?part=images")


def test_a_copy_that_cannot_be_made_is_refused_with_a_sentence(site):
    # C-PIC-23
    mod = new_mod(site)
    frames = {"save_all": True, "append_images": [Image.new("RGB", (48, 32), "red")], "exif": exif(place=True)}
    shot = add(site, mod, picture("WEBP", **frames), "b")
    here = f"/Modhub/mine/{mod['id']}"
    refused = workshop_form(new_visitor(site, OWNER), f"{here}/images/{shot}/clean").submit(status=400)
    assert "cannot be copied without changing how it looks" in refused
    assert site.count_rows(Asset) == 1


def test_what_follows_the_image_and_thumbnails_goes_too():
    # C-PIC-23
    jpeg = picture("JPEG")
    thumbnail = jpeg[:18] + b"\1\1abc" + jpeg[20:]
    thumbnail = thumbnail[:4] + struct.pack(">H", 19) + thumbnail[6:]
    for content in (thumbnail, picture("PNG"), picture("GIF"), picture("WEBP")):
        copy = copied(content + b"a film")
        assert b"a film" not in copy
        assert b"abc" not in copy
