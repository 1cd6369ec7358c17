"""Two real processes make the pictures of photographs, each once, although one of them is killed."""

import io
import time
from collections import Counter

import pytest
from PIL import Image

from modhub_testing.caller import Caller

pytestmark = [pytest.mark.long, pytest.mark.parametrize("kind", ["postgresql"], scope="module", indirect=True)]

PHOTOGRAPHS = 4
PATIENCE = 180.0
"""Seconds. 30 are promised, on a machine that does nothing else."""


def photograph(number):
    """An image of its own."""
    file = io.BytesIO()
    Image.radial_gradient("L").resize((1280, 720)).rotate(number).convert("RGB").save(file, "JPEG", quality=85)
    return file.getvalue()


def count_pictures(service):
    return Counter(row[0] for row in service.rows("SELECT asset_id FROM core_picture_file"))


@pytest.mark.slow
def test_photographs_have_pictures_soon_whatever_is_killed(service):
    # C-PIC-1
    while len(service.processes) < 2:
        service.start()
    author = service.register("photographer")
    for number in range(PHOTOGRAPHS):
        mod_id = author.new_mod(f"Photograph {number}")["id"]
        assert author.send_file(mod_id, "images", photograph(number), "image/jpeg").status == 201
        assert author.send_file(mod_id, "code", b"code", version="1").status == 201
        author.need(200, "POST", f"/api/modhub/{mod_id}/publish")
    service.processes[0].kill()
    deadline = time.monotonic() + PATIENCE
    while len(count_pictures(service)) < PHOTOGRAPHS and time.monotonic() < deadline:
        time.sleep(0.2)
    assert sorted(count_pictures(service).values()) == [6] * PHOTOGRAPHS
    assert service.rows("SELECT * FROM core_picture_task") == []
    page = Caller([service.processes[1].port]).ask("GET", "/Modhub?page=1").body.decode()
    assert page.count(' srcset="/Modhub/picture/') == 2 * PHOTOGRAPHS
    service.start()
    assert service.admin("verify").stdout == "No problems found.\n"
    rebuilt = service.admin("pictures", "rebuild")
    assert rebuilt.returncode == 0
    assert [line.partition(" modhub.security ")[2] for line in rebuilt.stderr.splitlines()] == [
        f'{{"event": "pictures rebuilt", "catalogue": "", "images": {PHOTOGRAPHS}}}'
    ]
    assert rebuilt.stdout.startswith(f"Images with pictures: {PHOTOGRAPHS}.")
    assert service.admin("sweep", "--older-than", "0").returncode == 0
    assert service.admin("verify").stdout == "No problems found.\n"
