"""The child program that decodes images: what it makes of odd, broken and hostile files, and its limits."""

import ctypes
import io
import json
import socket
import struct
import zlib

import pytest
from PIL import Image, ImageCms

from modhub.catalogue.pictures import child, decoder
from modhub.catalogue.pictures.child import (
    CHILD_FAILED,
    MAX_OUTPUT,
    PROGRAM,
    Decoder,
    DecodingFailed,
    check_output,
)
from modhub.catalogue.pictures.decoder import FORMATS

pytestmark = pytest.mark.slow

RED, BLUE = (220, 30, 30), (30, 30, 220)


def encoded(image, kind="PNG", **more):
    file = io.BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


def halves(size, mode="RGB"):
    """Red on the left, blue on the right."""
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (size[0] // 2, 0, *size))
    return image.convert(mode)


def decoded(content):
    head, files = decoder.answer(io.BytesIO(content))
    return head, [Image.open(io.BytesIO(file)) for file in files]


def is_like(image, place, color, distance=40):
    at = (int(place[0] * image.width), int(place[1] * image.height))
    pixel = image.convert("RGB").getpixel(at)
    assert isinstance(pixel, tuple)
    return all(abs(channel - expected) <= distance for channel, expected in zip(pixel, color, strict=True))


def chunk(name, content):
    """A part of a PNG."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_of(width, height):
    """The smallest PNG that claims this size; its pixels are a few bytes that would unpack to gigabytes."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 2_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        ((2560, 1440), [[320, 180], [640, 360], [1280, 720]]),
        ((1000, 1000), [[320, 180], [640, 360], [1000, 1000]]),
        ((400, 300), [[320, 180], [400, 225]]),
        ((1, 1), [[1, 1]]),
        ((60, 9000), [[60, 34]]),
    ],
)
def test_sizes_are_never_larger_than_the_image(size, sizes):
    head, pictures = decoded(encoded(halves(size)))
    assert head["size"] == list(size)
    assert [list(made) for made in head["sizes"]] == sizes
    assert [list(picture.size) for picture in pictures] == [made for made in sizes for _ in range(2)]
    assert [picture.format for picture in pictures] == ["WEBP", "JPEG"] * len(sizes)


def test_colours_of_print_are_kept():
    _, pictures = decoded(encoded(halves((800, 450), "CMYK"), "JPEG", quality=95))
    assert len(pictures) == 6
    for picture in pictures:
        assert is_like(picture, (0.2, 0.5), RED)
        assert is_like(picture, (0.8, 0.5), BLUE)


def profile_of():
    """Of a screen whose red is our blue."""
    content = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    tags = {bytes(content[at : at + 4]): at for at in range(132, 132 + 12 * content[131], 12)}
    content[tags[b"rXYZ"] : tags[b"rXYZ"] + 4], content[tags[b"bXYZ"] : tags[b"bXYZ"] + 4] = b"bXYZ", b"rXYZ"
    return bytes(content)


def see_through():
    """Red on the left, and nothing to see on the right."""
    image = Image.new("RGBA", (400, 200), (*RED, 255))
    image.paste((*BLUE, 0), (200, 0, 400, 200))
    return image


@pytest.mark.parametrize(
    ("image", "more"),
    [
        (halves((400, 200)), {}),
        (halves((400, 200)), {"transparency": BLUE}),
        (see_through(), {}),
        (see_through().quantize(), {}),
    ],
    ids=["rgb", "rgb-trns", "rgba", "palette-trns"],
)
def test_a_profile_changes_colours_and_keeps_what_is_transparent(image, more):
    is_transparent = image.mode != "RGB" or bool(more)
    _, files = decoder.answer(io.BytesIO(encoded(image, icc_profile=profile_of(), **more)))
    shown = Image.open(io.BytesIO(files[0]))
    assert is_like(shown, (0.2, 0.5), BLUE)
    if is_transparent:
        assert shown.convert("RGBA").getchannel("A").getpixel((shown.width - 9, 9)) == 0
        assert is_like(Image.open(io.BytesIO(files[1])), (0.8, 0.5), (255, 255, 255))
    else:
        assert is_like(shown, (0.8, 0.5), RED)


def test_a_camera_on_its_side_is_upright_and_says_nothing_of_its_place():
    # T-A10
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x8825] = {1: "N", 2: (48.0, 8.0, 0.0)}
    told = {"exif": exif, "comment": b"at home", "xmp": b"<x:xmpmeta>at home</x:xmpmeta>"}
    head, pictures = decoded(encoded(halves((800, 450)), "JPEG", quality=95, **told))
    assert head["size"] == [450, 800]
    assert is_like(pictures[-1], (0.5, 0.2), RED)
    assert is_like(pictures[-1], (0.5, 0.8), BLUE)
    assert all(not picture.getexif() for picture in pictures)
    assert not {"comment", "xmp", "exif"} & {name for picture in pictures for name in picture.info}


def test_sixteen_bits_of_grey_are_not_white():
    image = Image.new("I;16", (5200, 2900), 32768)
    _, pictures = decoded(encoded(image))
    assert is_like(pictures[0], (0.5, 0.5), (128, 128, 128), 10)


def test_noise_weighs_little():
    # Twenty cards are to weigh less than a megabyte, whatever the photographs show.
    noise = Image.merge("RGB", [Image.effect_noise((2560, 1440), 60) for _ in range(3)])
    head, pictures = decoded(encoded(noise, "JPEG", quality=88))
    covers = head["lengths"][:4]
    assert max(covers) < 50_000, covers
    assert [picture.size for picture in pictures[:4]] == [(320, 180)] * 2 + [(640, 360)] * 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"Just a text, whatever its name.", "not_an_image"),
        (encoded(halves((700, 400)), "TIFF"), "not_an_image"),
        (encoded(halves((700, 400)), "JPEG")[:900], "cut"),
        (encoded(halves((700, 400)), "JPEG").partition(b"\xff\xda")[0], "damaged"),
        (encoded(halves((700, 400)))[:900], "damaged"),
        (png_of(60_000, 60_000), "too_large"),
        (png_of(7_000, 7_000), "too_large"),
        (png_of(6_000, 6_000), "damaged"),
    ],
    ids=[
        "text",
        "tiff",
        "cut jpeg",
        "head of a jpeg",
        "cut png",
        "bomb",
        "large",
        "short of pixels",
    ],
)
def test_what_cannot_be_decoded_has_a_reason(content, problem):
    # T-A10
    assert decoder.answer(io.BytesIO(content)) == ({"problem": problem}, [])


def program(tmp_path, source):
    file = tmp_path / "program.py"
    file.write_text(source, "utf-8")
    return file


@pytest.mark.process
def test_the_child_is_given_the_image_alone(tmp_path, monkeypatch):
    # T-A10
    monkeypatch.setenv("MODHUB_SECRET", "of the service")
    report = tmp_path / "report"
    source = f"""
import os, pathlib
opened = [name for name in os.listdir("/proc/self/fd") if int(name) > 2]
pathlib.Path({str(report)!r}).write_text(repr((sorted(os.environ), len(opened), os.getcwd())))
"""
    with (tmp_path / "other").open("wb"), pytest.raises(DecodingFailed):
        Decoder(program(tmp_path, source)).decode(io.BytesIO(b"x"), print)
    names, opened, folder = eval(report.read_text("utf-8"))
    assert [name for name in names if name != "LC_CTYPE"] == []
    # The listing itself.
    assert (opened, folder) == (1, "/")


TAKEN_OVER = f"""
import ctypes, json, os, pathlib, runpy, socket, subprocess, sys
folder, parent = pathlib.Path({{folder!r}}), os.getppid()
system = ctypes.CDLL(None)

class Part(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("length", ctypes.c_size_t)]

def read_memory():
    copied = ctypes.create_string_buffer(4)
    here, there = Part(ctypes.addressof(copied), 4), Part({{address}}, 4)
    assert system.process_vm_readv(parent, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) == 4

def attach():
    assert system.ptrace(16, parent, 0, 0) == 0  # PTRACE_ATTACH
    os.waitpid(parent, 0x40000000)
    system.ptrace(17, parent, 0, 0)

def send(family, kind, address):
    with socket.socket(family, kind) as opened:
        opened.connect(address)
        opened.send(b"x")

ATTEMPTS = dict(
    file=lambda: (folder / "database").read_bytes(),
    new_file=lambda: (folder / "written").write_bytes(b"x"),
    listing=lambda: os.listdir(folder),
    environment=lambda: pathlib.Path(f"/proc/{{{{parent}}}}/environ").read_bytes(),
    unix_socket=lambda: send(socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "socket")),
    udp=lambda: send(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 9)),
    tcp=lambda: send(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {{port}})),
    pipe=os.pipe,
    program=lambda: subprocess.run(["/bin/true"], check=True),
    removal=lambda: (folder / "written").unlink(),
    memory=read_memory,
    ptrace=attach,
)

def reached():
    names = []
    for name, attempt in ATTEMPTS.items():
        try:
            attempt()
        except Exception:
            continue
        names.append(name)
    return names

before = reached()
missed = runpy.run_path({str(PROGRAM)!r})["set_limits"]()
print(json.dumps([before, reached(), missed]))
"""


@pytest.mark.process
def test_an_image_that_takes_the_decoder_over_reaches_nothing(tmp_path, monkeypatch):
    # T-A10b
    written = list[bytes]()
    monkeypatch.setattr(child, "check_output", written.append)
    (tmp_path / "database").write_bytes(b"x")
    kept = ctypes.create_string_buffer(b"kept")
    with socket.socket(socket.AF_UNIX) as local, socket.create_server(("127.0.0.1", 0)) as listener:
        local.bind(str(tmp_path / "socket"))
        local.listen()
        port = listener.getsockname()[1]
        source = TAKEN_OVER.format(folder=str(tmp_path), address=ctypes.addressof(kept), port=port)
        Decoder(program(tmp_path, source)).decode(io.BytesIO(b"x"), print)
    before, after, missed = json.loads(written[0])
    # These two may be refused at first too, and without Landlock, which is then said, nothing refuses them to root.
    by_kernel = {"memory", "ptrace"}
    assert set(before) | by_kernel == {
        *("file", "new_file", "listing", "environment", "unix_socket", "udp", "tcp", "pipe", "program", "removal"),
        *by_kernel,
    }
    assert set(after) - (by_kernel if "landlock" in missed else set()) == set()


@pytest.mark.process
@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_decoded_by_a_program_that_can_open_nothing(kind):
    # T-A10b
    exif = Image.Exif()
    exif[0x0112] = 6
    more = {} if kind in {"GIF", "BMP"} else {"exif": exif}
    made = Decoder().decode(io.BytesIO(encoded(halves((400, 200)), kind, **more)), print)
    assert (made.width, made.height) == ((200, 400) if more else (400, 200))


LIMITED = f"""
import runpy, sys
decoder = runpy.run_path({str(PROGRAM)!r})
decoder["set_limits"]()
"""


@pytest.mark.process
@pytest.mark.parametrize(
    "act",
    [
        "kept = bytearray(2 * 1024**3)",
        "sys.stdout.buffer.write(b'x' * (20 * 1024**2)); sys.stdout.buffer.flush()",
        "import os; os.abort()",
    ],
)
def test_a_child_beyond_its_limits_fails_alone(tmp_path, act):
    # T-A10
    with pytest.raises(DecodingFailed) as caught:
        Decoder(program(tmp_path, f'{LIMITED}\n{act}\nprint(\'{{"problem": "damaged"}}\')')).decode(
            io.BytesIO(b"x"), print
        )
    assert caught.value.problem == CHILD_FAILED


@pytest.mark.process
def test_a_child_that_hangs_is_ended(tmp_path):
    # T-A10
    with pytest.raises(DecodingFailed) as caught:
        Decoder(program(tmp_path, "import time; time.sleep(300)"), seconds=0.5).decode(io.BytesIO(b"x"), print)
    assert caught.value.problem == CHILD_FAILED


def output(content=b"\xff\xd8\xff" + b"x" * 9, **head):
    webp = b"RIFF\0\0\0\0WEBP"
    header = {"size": [9, 9], "sizes": [[9, 9]], "lengths": [len(webp), len(content)], **head}
    return json.dumps(header).encode() + b"\n" + webp + content


def test_output_is_believed_only_if_it_is_whole():
    assert check_output(output()).sizes == [(9, 9)]
    assert check_output(output(colour="#ff00ff")).colour == "#ff00ff"
    for wrong in (
        b"",
        b"{}\n",
        b"\xff\n",
        b"x" * 2000,
        output() + b"more",
        output(content=b"<html>" + b"x" * 9),
        output(sizes=[[9, 99999]]),
        output(sizes=[]),
        output(sizes=[[9, 9], [9, 9]]),
        output(lengths=[12, -12]),
        output(lengths=[0, 24]),
        output(colour="red"),
        output(colour="#ff00ff\n"),
        b'{"problem": "of my own"}\n',
        output() + b"x" * MAX_OUTPUT,
    ):
        with pytest.raises(DecodingFailed) as caught:
            check_output(wrong)
        assert caught.value.problem == CHILD_FAILED, wrong[:100]


@pytest.mark.process
def test_a_long_decoding_renews_its_claim(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "BEAT_SECONDS", 0.05)
    beats = []
    with pytest.raises(DecodingFailed):
        Decoder(program(tmp_path, "import time; time.sleep(1)")).decode(io.BytesIO(b"x"), lambda: beats.append(1))
    assert beats
