"""A service with what a busy catalogue shows: mods with photographs, games with icons, builds, a wiki, a draft."""

import io
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFilter

from modhub_testing.caller import Caller
from modhub_testing.service import Installation, features_of, free_port

FEATURES = features_of(Path(__file__).parents[2] / "development.ini")
MODS = 30
SCREEN, ICON = (2560, 1440), (256, 256)
KEY = "5" * 64
PICTURE_SECONDS = 120.0
GAMES = (
    "Starfall Rally",
    "Lantern Depths",
    "Night Harbor",
    "Alpine Drift",
    "Copper Sky",
    "Old Town",
    "Tidewater",
    "Paper Kings",
)


class Showcase:
    """The running service and the addresses of its pages."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.origin = f"http://127.0.0.1:{installation.processes[0].port}"
        self.owner = ""
        self.draft = 0
        self.mod = 0
        self.picture_seconds = 0.0


@contextmanager
def serve_showcase(folder: Path) -> Iterator[Showcase]:
    """Serve it on a loopback port until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{folder}/modhub.sqlite"
    port = free_port()
    settings = {"ApiPrivateKeys": f"{KEY} Modhub:app Modhub:wiki", "modhub.base_url": f"http://127.0.0.1:{port}"}
    installation = Installation(folder, url, FEATURES, settings=settings)
    for command in ("migrate", "demo"):
        done = installation.admin(command)
        assert done.returncode == 0, done.stderr
    try:
        installation.start(port=port)
        showcase = Showcase(installation)
        _fill(showcase)
        yield showcase
    finally:
        installation.stop()


def _fill(showcase: Showcase) -> None:
    installation = showcase.installation
    for number, game in enumerate(GAMES):
        icon = installation.folder / "icon.png"
        icon.write_bytes(_photograph(number, ICON, "PNG"))
        done = installation.admin("game", "add", game, "--icon", str(icon))
        assert done.returncode == 0, done.stderr
    owner = installation.register("mira")
    showcase.owner = "mira@example.org"
    guids: list[str] = []
    for number in range(MODS):
        mod = _publish_mod(owner, number, guids[:3])
        guids.append(mod["guid"])
        showcase.mod = mod["id"]
    began = time.monotonic()
    for system in ("linux", "windows"):
        _send_build(installation.caller(), system)
    showcase.draft = owner.new_mod("A draft", description="<p>Not yet published.</p>")["id"]
    _wait_for_pictures(installation.caller(), began)
    showcase.picture_seconds = time.monotonic() - began


def _publish_mod(owner: Caller, number: int, requires: list[str]) -> Any:
    game = GAMES[number % len(GAMES)]
    title = f"{game} panel {number + 1}"
    text = f"<p>Shows what happens in {game} beside the picture, and keeps out of the way.</p>"
    mod = owner.new_mod(title, description=text, games=[game], requires=requires)
    answer = owner.send_file(mod["id"], "code", os.urandom(50_000), version=f"1.{number}", name="panel.zip")
    assert answer.status == 201, answer
    for view in range(4 if number == MODS - 1 else 1):
        name, content = f"view-{view + 1}.jpeg", _photograph(number * 10 + view, SCREEN, "JPEG")
        answer = owner.send_file(mod["id"], "images", content, "image/jpeg", name=name)
        assert answer.status == 201, answer
    return owner.need(200, "POST", f"/api/modhub/{mod['id']}/publish")


def _send_build(caller: Caller, system: str) -> None:
    headers = {"X-Api-Key": KEY, "Content-Type": "application/octet-stream"}
    answer = caller.ask("POST", f"/api/modhub/app/{system}?version=3.1", os.urandom(200_000), headers)
    assert answer.status == 201, answer


def _wait_for_pictures(caller: Caller, began: float) -> None:
    """Wait until every card has its small pictures: until then the originals are shown."""
    while caller.ask("GET", f"/Modhub?size={MODS}").body.count(b"<picture>") < MODS:
        assert time.monotonic() - began < PICTURE_SECONDS, "the pictures were not made"
        time.sleep(0.2)


def _photograph(seed: int, size: tuple[int, int], kind: str) -> bytes:
    """Return a picture that weighs what one of a game does: shapes and gradients under fine noise."""
    chance = random.Random(seed)  # noqa: S311 - pictures, not secrets
    picture = Image.new("RGB", (160, 90), _color(chance))
    pen = ImageDraw.Draw(picture)
    for _ in range(40):
        left, top = chance.randrange(-20, 150), chance.randrange(-10, 80)
        pen.ellipse((left, top, left + chance.randrange(8, 70), top + chance.randrange(8, 50)), fill=_color(chance))
    smooth = picture.resize(size, Image.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(size[0] / 400))
    noise = Image.effect_noise(size, 60).convert("RGB")
    buffer = io.BytesIO()
    Image.blend(smooth, noise, 0.18).save(buffer, kind, quality=88)
    return buffer.getvalue()


def _color(chance: random.Random) -> tuple[int, int, int]:
    return chance.randrange(256), chance.randrange(256), chance.randrange(256)
