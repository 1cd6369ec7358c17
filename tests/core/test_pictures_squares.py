"""Pictures of people: 256×256 pixels of whatever was sent, without anything else that was in the file."""

import io
import threading

import pytest
from PIL import Image

from modhub.base.errors import ApiError
from modhub.catalogue.pictures.child import Decoder
from modhub.catalogue.pictures.squares import SquarePictures
from modhub.plugins.services import ISquarePictures
from tests.core.test_pictures_decoding import BLUE, RED, encoded, halves, is_like, png_of

pytestmark = pytest.mark.process
SECRET = b"52.5200N 13.4050E"


def made_of(content, maker=None):
    picture = Image.open(io.BytesIO((maker or SquarePictures()).make(io.BytesIO(content))))
    picture.load()
    return picture


@pytest.mark.parametrize("size", [(2000, 1000), (1, 1)])
def test_it_is_the_middle_of_any_image(size):
    # C-PRF-4
    picture = made_of(encoded(halves(size)))
    assert (picture.format, picture.size, picture.mode) == ("JPEG", (256, 256), "RGB")
    if min(size) > 1:
        assert is_like(picture, (0.2, 0.5), RED)
        assert is_like(picture, (0.8, 0.5), BLUE)


def test_nothing_of_the_file_is_left():
    # C-PRF-4
    camera = Image.new("RGB", (400, 300), RED)
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()
    exif[0x0112] = 6
    content = encoded(camera, "JPEG", exif=exif, comment=SECRET)
    assert SECRET in content
    made = SquarePictures().make(io.BytesIO(content))
    assert SECRET not in made
    assert not Image.open(io.BytesIO(made)).getexif()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "This file is not a PNG, JPEG, GIF, WebP, BMP or AVIF image."),
        (png_of(30_000, 30_000), "This image has too many pixels."),
        (encoded(halves((300, 300)))[:200], "This image cannot be read."),
    ],
    ids=["empty", "bomb", "cut"],
)
def test_what_is_no_image_is_refused(content, sentence):
    # C-PRF-4, T-A10
    with pytest.raises(ApiError) as refused:
        SquarePictures().make(io.BytesIO(content))
    assert (refused.value.status, refused.value.message) == (400, sentence)


def test_a_process_makes_one_at_a_time(tmp_path, site):
    # C-PRF-4
    slow = tmp_path / "slow.py"
    slow.write_text("import time; time.sleep(30)", "utf-8")
    maker = SquarePictures(Decoder(slow, 1.0), wait=0.1)
    refusals = []

    def make():
        try:
            maker.make(io.BytesIO(b"x"))
        except ApiError as error:
            refusals.append(error.status)

    first = threading.Thread(target=make)
    first.start()
    while not maker._turn.locked():
        pass
    make()
    first.join()
    assert refusals == [503, 400]
    make()
    assert refusals == [503, 400, 400]
    assert isinstance(site.find_service(ISquarePictures), SquarePictures)
