"""The main job end to end over HTTP: create a mod, upload, publish, find, resolve, download."""

import hashlib
import random
import shutil
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from modhub_testing.caller import Caller
from modhub_testing.service import Installation

MB = 1024 * 1024
CODE = random.Random(20).randbytes(20 * MB)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(1000)


@pytest.fixture(scope="module")
def running(services):
    made = services("postgresql", 2)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def mod(running: Installation):
    """The mod of the main job, as its publication answered it."""
    own = running.register("ada")
    library = own.published("Библиотека Library", games=["Portal"])
    absent = str(uuid.uuid4())
    made = own.new_mod(
        "Überlagerung für Pokémon",
        description="<p>Zeigt <b>alles</b>.</p><script>alert(1)</script>",
        games=["Pokémon Émeraude", "Portal 2"],
        requires=[library["guid"], absent],
    )
    mod_id = made["id"]
    answer = own.send_file(mod_id, "code", CODE, version="1.0", name="überlagerung.zip")
    assert answer.status == 201
    assert own.send_file(mod_id, "css", b"body { color: red }", "text/css", name="a.css").status == 201
    assert own.send_file(mod_id, "images", PNG, "image/png", name="one.png").status == 201
    assert running.caller().ask("GET", f"/api/modhub/{mod_id}").status == 404
    published = own.need(200, "POST", f"/api/modhub/{mod_id}/publish")
    return {**published, "chain": [library["id"], mod_id], "missing": [absent]}


def test_it_is_found_read_and_downloaded_at_each_process(running, mod):
    # C-READ-9
    path, etag = f"/api/modhub/{mod['id']}/download", f'"{hashlib.sha256(CODE).hexdigest()}"'
    assert (mod["version"], mod["description"]) == ("1.0", "<p>Zeigt <b>alles</b>.</p>")
    for process in running.processes:
        caller = Caller([process.port])
        for query in ("q=uberlagerung%20pokemon", "game=" + quote(" PORTAL 2 ")):
            assert [hit["id"] for hit in caller.need(200, "GET", f"/api/modhub?{query}")["mods"]] == [mod["id"]]
        read = caller.need(200, "GET", f"/api/modhub/{mod['id']}")
        assert [entry["id"] for entry in read["install"]] == mod["chain"]
        assert read["missing"] == mod["missing"]
        whole = caller.ask("GET", path)
        assert (whole.status, whole.body == CODE, whole.headers["ETag"]) == (200, True, etag)
        assert "filename*=UTF-8''%C3%BCberlagerung.zip" in whole.headers["Content-Disposition"]
        assert caller.ask("GET", path, headers={"If-None-Match": etag}).status == 304
        for asset, content in zip(mod["assets"], (CODE, b"body { color: red }", PNG), strict=True):
            assert caller.ask("GET", asset["url"]).body == content


def four_at_once(url: str, path: Path) -> None:
    """What aria2c does: four connections, each for a part of its own."""
    parts = urlsplit(url)
    caller = Caller([parts.port])
    quarter = len(CODE) // 4
    ranges = [f"bytes={at * quarter}-{(at + 1) * quarter - 1}" for at in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda byte_range: caller.ask("GET", parts.path, headers={"Range": byte_range}), ranges)
        )
    assert [answer.status for answer in answers] == [206] * 4
    path.write_bytes(b"".join(answer.body for answer in answers))


def go_on(url: str, path: Path) -> None:
    """What curl and wget do: ask for the rest."""
    have = path.read_bytes()
    parts = urlsplit(url)
    answer = Caller([parts.port]).ask("GET", parts.path, headers={"Range": f"bytes={len(have)}-"})
    assert answer.status == 206
    path.write_bytes(have + answer.body)


PROGRAMS = {
    "curl": (["curl", "--silent", "--fail", "-C", "-", "--output", "got"], go_on),
    "wget": (["wget", "--quiet", "--continue", "--output-document", "got"], go_on),
    "aria2c": (["aria2c", "--quiet", "-x4", "-s4", "-k1M", "--out=got"], four_at_once),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_go_on_with_a_download_that_broke_off_and_take_it_in_parts(running, mod, program, tmp_path: Path):
    """Where a program is not installed, http.client asks as it would."""
    path = tmp_path / "got"
    if program != "aria2c":  # it keeps a list of the parts that it has beside the file
        path.write_bytes(CODE[: 5 * MB])
    url = f"http://127.0.0.1:{running.processes[-1].port}/api/modhub/{mod['id']}/download"
    command, instead = PROGRAMS[program]
    if shutil.which(program):
        subprocess.run([*command, url], cwd=tmp_path, check=True, timeout=60)
    else:
        instead(url, path)
    assert path.read_bytes() == CODE
