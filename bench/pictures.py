"""``python -m bench.pictures [--images N] [--database KIND] [--json FILE]``: browse while pictures are made.

One process gets photographs and hostile files, from 16 connections at once, while a visitor opens browse again and
again. Prints how long that visitor waits, the memory of the service and of its child processes, and the seconds until
all pictures are made. Nothing is pinned.
"""

import argparse
import io
import json
import multiprocessing
import random
import struct
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from PIL import Image

from bench.client import Client
from bench.measuring import machine, megabytes, table
from bench.pages import database
from modhub_testing.caller import Caller, patiently
from modhub_testing.service import Installation

BROWSE: Final = "/Modhub"
PAUSE: Final = 0.01
"""Seconds between the requests of the visitor."""
QUIET_SECONDS: Final = 15.0
UPLOADS_AT_ONCE: Final = 16
IMAGES_OF_A_MOD: Final = 5
SAMPLE_SECONDS: Final = 0.01
READY_SECONDS: Final = 1200.0
PHOTOGRAPH: Final = (2560, 1440)
LARGE: Final = (8000, 5000)
"""As many pixels as are decoded at all."""


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def photograph() -> bytes:
    """A JPEG with the noise of a camera; about a megabyte."""
    noise = Image.effect_noise(PHOTOGRAPH, 25).convert("RGB")
    light = Image.radial_gradient("L").resize(PHOTOGRAPH).convert("RGB")
    return encoded(Image.blend(light, noise, 0.5), "JPEG", quality=88)


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few kilobytes that claims this size and unpacks to as much."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    packer = zlib.compressobj(9)
    line = bytes(3 * width + 1)
    pixels = b"".join(packer.compress(line) for _ in range(height)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def animation() -> bytes:
    """A GIF of many frames."""
    frames = [Image.new("P", (1200, 800), number % 256) for number in range(200)]
    return encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])


def samples() -> dict[str, tuple[bytes, bool]]:
    """What is uploaded, by name: the bytes, and whether pictures can be made of them."""
    picture = photograph()
    return {
        "photograph": (picture, True),
        "polyglot": (picture + b"PK\x03\x04<script>alert(1)</script>", True),
        "40 megapixels, grey": (encoded(Image.new("L", LARGE, 90), "PNG"), True),
        "40 megapixels, 4 colours": (encoded(Image.new("CMYK", LARGE, (90, 30, 0, 9)), "JPEG", quality=40), True),
        "40 megapixels, palette": (encoded(Image.new("P", LARGE, 9), "PNG"), True),
        "40 megapixels, 16 bits": (encoded(Image.new("I;16", LARGE, 900), "PNG"), True),
        "animation": (animation(), True),
        "bomb, 49 megapixels": (bomb(7000, 7000), False),
        "bomb, 400 megapixels": (bomb(20_000, 20_000), False),
        "cut in the middle": (picture[: len(picture) // 2], False),
        "text": (b"Just a text, whatever its name.\n" * 50, False),
        "TIFF": (encoded(Image.new("RGB", (700, 400)), "TIFF"), False),
        "SVG named PNG": (b'<svg xmlns="http://www.w3.org/2000/svg"/>', False),
    }


def order(count: int) -> list[str]:
    """Names of samples: four of five are photographs, the others in turns."""
    names = list(samples())
    hostile = [names[1 + number % (len(names) - 1)] for number in range(count // 5)]
    mixed = ["photograph"] * (count - len(hostile)) + hostile
    random.Random(16).shuffle(mixed)
    return mixed


def upload(port: int, token: str, mod_ids: list[int], names: list[str]) -> None:
    """Upload them all; in a process of its own."""
    content = samples()

    def send(number: int) -> None:
        body = content[names[number]][0] + number.to_bytes(4, "big")
        mod_id = mod_ids[number // IMAGES_OF_A_MOD]
        caller = Caller([port], token)
        address = f"/api/modhub/{mod_id}/images?name={number}.jpg"
        sent = patiently(lambda: caller.ask("POST", address, body, {"Content-Type": "image/jpeg"}))
        assert sent.status == 201, (names[number], sent)

    with ThreadPoolExecutor(UPLOADS_AT_ONCE) as pool:
        list(pool.map(send, range(len(names))))


def browse(port: int, go_on: Callable[[], bool]) -> list[float]:
    """The seconds of each request of one visitor, sorted."""
    client, latencies = Client(port), []
    while go_on():
        began = time.perf_counter()
        status, _, _ = client.get(BROWSE)
        latencies.append(time.perf_counter() - began)
        assert status == 200, status
        time.sleep(PAUSE)
    client.close()
    return sorted(latencies)


class ChildMemory:
    """Watches the child processes of a service: the peak memory of one, and how many ran at the same time."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = Event()
        self.most = 0
        self.peak_mb = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        thread = Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _run(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            peaks = []
            for file in Path(f"/proc/{self._pid}/task").glob("*/children"):
                peaks += [float(peak) for pid in file.read_text().split() if (peak := _peak_of(int(pid)))]
            self.most = max(self.most, len(peaks))
            self.peak_mb = max([self.peak_mb, *peaks])


def _peak_of(pid: int) -> float:
    """0 for a process that has ended."""
    try:
        return megabytes(pid, "VmHWM")
    except (OSError, StopIteration):
        return 0.0


def waiting(service: Installation) -> int:
    return int(service.rows("SELECT count(*) FROM core_picture_task")[0][0])


def check_results(service: Installation, names: list[str], port: int) -> dict[str, int]:
    """What became of the images. AssertionError if a picture is missing, or was made of what is not one."""
    content = samples()
    outcomes: Counter[str] = Counter()
    rows = service.rows(
        "SELECT core_asset.name, core_picture_set.problem FROM core_asset"
        " JOIN core_picture_set ON core_picture_set.asset_id = core_asset.id"
    )
    assert len(rows) == len(names), (len(rows), len(names))
    for name, problem in rows:
        kind = names[int(name.partition(".")[0])]
        assert (problem is None) == content[kind][1], (kind, problem)
        outcomes[problem or "pictures"] += 1
    assert b'srcset="/Modhub/picture/' in Client(port).get(BROWSE, keep_body=True)[2]
    return dict(outcomes)


def measure(service: Installation, images: int) -> dict[str, Any]:
    """All figures."""
    process = service.start()
    author = service.register("photographer")
    mod_ids = [author.published(f"Mod {number}")["id"] for number in range(-(-images // IMAGES_OF_A_MOD))]
    names = order(images)
    ends = time.perf_counter() + QUIET_SECONDS
    quiet = browse(process.port, lambda: time.perf_counter() < ends)
    idle_mb = megabytes(process.popen.pid)
    children = ChildMemory(process.popen.pid)
    sender = multiprocessing.get_context("spawn").Process(
        target=upload, args=(process.port, author.token, mod_ids, names)
    )
    with children.watching():
        sender.start()
        while not waiting(service):
            time.sleep(0.01)
        began = time.perf_counter()
        uploading = browse(process.port, sender.is_alive)
        assert sender.exitcode == 0
        uploaded = time.perf_counter() - began
        deriving = browse(process.port, lambda: _are_due(service) and time.perf_counter() - began < READY_SECONDS)
        ready = time.perf_counter() - began
    results = check_results(service, names, process.port)
    maps = Path(f"/proc/{process.popen.pid}/maps").read_text("utf-8")
    assert "_imaging" not in maps, "the service itself has loaded an image decoder"
    return {
        "browse": {"quiet": quiet, "while they are uploaded": uploading, "while pictures are made": deriving},
        "images": images,
        "results": results,
        "uploaded after, s": round(uploaded, 1),
        "ready after, s": round(ready, 1),
        "service idle, MB": round(idle_mb),
        "service peak, MB": round(megabytes(process.popen.pid, "VmHWM")),
        "child peak, MB": round(children.peak_mb),
        "children at once": children.most,
    }


_asked: dict[str, float] = {"at": 0.0, "waiting": 1.0}


def _are_due(service: Installation) -> bool:
    """Asked of the database once a second."""
    if time.perf_counter() - _asked["at"] > 1:
        _asked.update(at=time.perf_counter(), waiting=waiting(service))
    return bool(_asked["waiting"])


def milliseconds(latencies: list[float], share: float) -> str:
    return f"{latencies[min(int(len(latencies) * share), len(latencies) - 1)] * 1e3:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.pictures", description=__doc__)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    facts = machine()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="modhub-bench-")))
        url = stack.enter_context(database(arguments.database, folder))
        service = Installation(folder / "service", url, "modhub_auth")
        stack.callback(service.stop)
        migrated = service.admin("migrate")
        assert migrated.returncode == 0, migrated.stderr
        measured = measure(service, arguments.images)
    shares = {"p50": 0.5, "p99": 0.99, "most": 1.0}
    rows = [
        [what, str(len(latencies)), *(milliseconds(latencies, share) for share in shares.values())]
        for what, latencies in measured.pop("browse").items()
    ]
    facts |= measured | {"load afterwards": machine()["load"]}
    sys.stdout.write("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n\n")
    sys.stdout.write(table(["browse", "requests", *(f"{name} ms" for name in shares)], rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(facts | {"browse": rows}, indent=1))


if __name__ == "__main__":
    main()
