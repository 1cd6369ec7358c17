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

pytestmark = pytest.mark.postgres

MB = 1024 * 1024
CODE = random.Random(20).randbytes(20 * MB)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(1000)
JPEG = b"\xff\xd8\xff\xe0" + bytes(2000)


@pytest.fixture(scope="module", params=[("sqlite", 1), ("sqlite", 2), ("postgresql", 1), ("postgresql", 2)], ids=str)
def running(request, services):
    made = services(*request.param)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def mod(running: Installation):
    """The mod of the main job, as its publication answered it."""
    own = running.register("ada")
    library = own.published("Библиотека Library", games=["Portal"])
    middle = own.published("Middle", requires=[library["guid"]])
    draft = own.new_mod("Draft")
    absent = str(uuid.uuid4())
    made = own.new_mod(
        "Überlagerung für Pokémon",
        description="<p>Zeigt <b>alles</b>.</p><script>alert(1)</script>",
        games=["Pokémon Émeraude", "Portal 2"],
        requires=[middle["guid"], draft["guid"], absent],
    )
    mod_id = made["id"]
    answer = own.send_file(mod_id, "code", CODE, version="1.0", name="überlagerung.zip")
    assert answer.status == 201
    assert own.send_file(mod_id, "css", b"body { color: red }", "text/css", name="a.css").status == 201
    assert own.send_file(mod_id, "images", PNG, "image/png", name="one.png").status == 201
    assert own.send_file(mod_id, "images", JPEG, "image/jpeg", name="two.jpg").status == 201
    anonymous = running.caller()
    assert anonymous.ask("GET", f"/api/modhub/{mod_id}").status == 404
    published = own.need(200, "POST", f"/api/modhub/{mod_id}/publish")
    return {**published, "chain": [library["id"], middle["id"], mod_id], "missing": [draft["guid"], absent]}


def everywhere(running: Installation) -> list[Caller]:
    """An anonymous caller of each process."""
    return [Caller([process.port]) for process in running.processes]


def test_what_was_published_is_as_it_was_sent(running, mod):
    assert mod["published"] is True
    assert mod["version"] == "1.0"
    assert mod["description"] == "<p>Zeigt <b>alles</b>.</p>"
    assert [(asset["kind"], asset["name"], asset["bytes"]) for asset in mod["assets"]] == [
        ("code", "überlagerung.zip", len(CODE)),
        ("css", "a.css", 19),
        ("image", "one.png", len(PNG)),
        ("image", "two.jpg", len(JPEG)),
    ]


@pytest.mark.parametrize("query", ["Überlagerung", "uberlagerung", "POKEMON", "pokémon emeraude", "ub", "für portal"])
def test_it_is_found_with_and_without_accents(running, mod, query):
    for caller in everywhere(running):
        results = caller.need(200, "GET", f"/api/modhub?q={quote(query)}")
        assert [(hit["id"], hit["title"]) for hit in results["mods"]] == [(mod["id"], "Überlagerung für Pokémon")]
        assert (results["count"], results["total"], results["more"]) == (1, 1, False)


def test_it_heads_the_list_and_is_found_by_its_game_alone(running, mod):
    for caller in everywhere(running):
        listed = caller.need(200, "GET", "/api/modhub?size=2")
        assert listed["mods"][0]["id"] == mod["id"]
        assert (listed["total"], listed["more"]) == (3, True)
        by_game = caller.need(200, "GET", "/api/modhub?game=" + quote(" PORTAL 2 "))
        assert [hit["id"] for hit in by_game["mods"]] == [mod["id"]]
        assert caller.need(200, "GET", "/api/modhub?game=portal")["mods"][0]["id"] == mod["chain"][0]
        assert caller.need(200, "GET", "/api/modhub?q=nothingofthekind")["total"] == 0


def test_it_is_read_with_its_chain_and_what_is_missing(running, mod):
    for caller in everywhere(running):
        read = caller.need(200, "GET", f"/api/modhub/{mod['id']}")
        assert [entry["id"] for entry in read["install"]] == mod["chain"]
        assert read["missing"] == mod["missing"]
        assert {name: read[name] for name in read["install"][-1]} == read["install"][-1]
        notes = caller.need(200, "GET", f"/api/modhub/{mod['id']}/changelog")
        assert notes["count"] == 1
        assert (notes["notes"][0]["title"], notes["notes"][0]["automatic"]) == ("1.0", True)


def test_it_is_downloaded_whole_and_by_ranges(running, mod):
    # C-READ-9
    path = f"/api/modhub/{mod['id']}/download"
    for caller in everywhere(running):
        whole = caller.ask("GET", path)
        assert (whole.status, whole.body == CODE) == (200, True)
        etag = f'"{hashlib.sha256(CODE).hexdigest()}"'
        assert whole.headers["ETag"] == etag
        assert "filename*=UTF-8''%C3%BCberlagerung.zip" in whole.headers["Content-Disposition"]
        pieces = []
        for start in range(0, len(CODE), 7 * MB):
            ranges = {"Range": f"bytes={start}-{start + 7 * MB - 1}", "If-Range": etag}
            part = caller.ask("GET", path, headers=ranges)
            assert part.status == 206
            stop = start + len(part.body) - 1
            assert part.headers["Content-Range"] == f"bytes {start}-{stop}/{len(CODE)}"
            pieces.append(part.body)
        assert b"".join(pieces) == CODE
        assert caller.ask("GET", path, headers={"If-None-Match": etag}).status == 304
        for asset, content in zip(mod["assets"], (CODE, b"body { color: red }", PNG, JPEG), strict=True):
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
