"""``modhub-publish mod mod.toml`` against the real server: a file is what the mod becomes, and once is enough."""

import json
import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from modhub.catalogue.models import Mod
from modhub.db import now
from modhub_client.publish import client, command, mods
from modhub_testing.running_server import running
from tests.people import Person, make_key, register, write

pytestmark = pytest.mark.process
PNG = b"\x89PNG\r\n\x1a\n"
ABSENT = "01234567-89ab-cdef-0123-456789abcdef"
STEPS = [
    *("code 1.0", "css hud.css", "image one.png", "image two.png", "captions", "order"),
    *("title", "games", "requires", "conflictsWith", "description", "supersededBy", "changelog"),
]
FILE = """
title = "Rally HUD"
description = { file = "README.md" }
games = ["Dirt Rally 2.0"]
requires = []
conflictsWith = ["01234567-89ab-cdef-0123-456789abcdef"]
supersededBy = ""
version = "1.0"
code = "hud.lua"
css = "hud.css"
notes = "First **version**."

[[images]]
file = "shots/two.png"
caption = "At night"

[[images]]
file = "shots/one.png"
"""


@dataclass
class Release:
    """An author with a key for all mods, a folder with a release, and a running service."""

    ada: Person
    folder: Path
    url: str
    capsys: Any
    guid: str = ""

    def write(self, text=FILE):
        file = self.folder / "mod.toml"
        line = f'guid = "{self.guid}"\n' if self.guid else ""
        file.write_text(line + text, "utf-8")
        return file

    def run(self, *words, code=client.DONE):
        """Standard output of a run."""
        self.capsys.readouterr()
        arguments = ["--url", self.url, "mod", str(self.folder / "mod.toml"), *map(str, words)]
        assert command.main(arguments) == code, self.capsys.readouterr().err
        shown = self.capsys.readouterr()
        assert os.environ["MODHUB_API_KEY"][20:] not in shown.out + shown.err
        self.complaints = shown.err
        return str(shown.out)

    def run_json(self, *words):
        return json.loads(self.run("--json", *words))

    def create(self, *words):
        """Create the mod of the file, and write its GUID into it."""
        self.write()
        told = self.run_json("--create", *words)
        self.guid = told["guid"]
        self.write()
        return told

    def own_mods(self):
        return self.ada.call("get", "/api/modhub/mine").json["mods"]

    def state(self):
        """All that the service has of the first mod."""
        mod = self.own_mods()[0]
        return [mod, *(self.ada.call("get", f"/api/modhub/{mod['id']}/{name}").json for name in ("files", "notes"))]

    def images(self):
        return [(file["name"], file["caption"]) for file in self.state()[1]["files"] if file["kind"] == "image"]

    def image_ids(self):
        return [file["assetId"] for file in self.state()[1]["files"] if file["kind"] == "image"]


@pytest.fixture
def release(app, tmp_path, monkeypatch, capsys):
    (tmp_path / "shots").mkdir()
    (tmp_path / "hud.lua").write_bytes(b"the code")
    (tmp_path / "hud.css").write_text("p {}")
    (tmp_path / "README.md").write_text("# What it does\n\nA **calm** HUD.")
    for name in ("one", "two"):
        (tmp_path / f"shots/{name}.png").write_bytes(PNG + name.encode())
    with running(app.app) as service:
        url = "http://{}:{}".format(*service.addresses[0])
        ada = register(app, "Ada")
        monkeypatch.setenv("MODHUB_API_KEY", make_key(app, ada.id))
        yield Release(ada, tmp_path, url, capsys)


def test_a_file_is_what_the_mod_becomes(release, monkeypatch):
    # C-OWN-20, C-TOK-5, C-TOK-6
    told = release.create()
    first = ["created", "code 1.0", "css hud.css", "image two.png", "image one.png", "captions"]
    assert told["changed"] == [*first, "games", "conflictsWith", "description", "changelog"]
    assert told["unchanged"] == ["order", "title", "requires", "supersededBy"]
    assert (told["ready"], told["problems"], told["dryRun"]) == (True, [], False)
    mod, _, notes = release.state()
    assert (told["mod"], told["guid"], told["version"]) == (mod["id"], mod["guid"], "1.0")
    assert (mod["title"], mod["version"], mod["published"]) == ("Rally HUD", "1.0", False)
    assert mod["description"] == "<h2>What it does</h2>\n<p>A <strong>calm</strong> HUD.</p>"
    assert (mod["games"], mod["conflictsWith"]) == (["Dirt Rally 2.0"], [ABSENT])
    assert release.images() == [("two.png", "At night"), ("one.png", "")]
    assert [note["text"] for note in notes["notes"]] == ["<p>First <strong>version</strong>.</p>"]
    # Twice, by any key that is for it, of a draft and of a published mod: nothing changes.
    monkeypatch.setenv("MODHUB_API_KEY", make_key(release.ada.site, release.ada.id, mod["id"]))
    for words in ((), ("--publish",), ("--publish", "--prune")):
        before = release.state()
        told = release.run_json(*words)
        assert told["changed"] == (["published"] if words == ("--publish",) else [])
        assert set(STEPS) <= set(told["unchanged"])
        assert told["changed"] or release.state() == before
    assert release.state()[0]["published"]


def test_without_a_guid_only_create_goes_on(release):
    # C-OWN-20
    release.write()
    release.run(code=client.USAGE_ERROR)
    assert release.own_mods() == []
    shown = release.run("--create")
    guid = release.own_mods()[0]["guid"]
    assert f'Write this line to the top of the file: guid = "{guid}"\n' in shown
    # The same file, once more: the same mod. An edited one, a day later: told, not created.
    assert release.run_json("--create")["changed"] == []
    write(release.ada.site, update(Mod).values(created_at=now() - mods.REPEATABLE_FOR - timedelta(minutes=1)))
    release.run("--create", code=client.USAGE_ERROR)
    assert guid in release.complaints
    assert [mod["guid"] for mod in release.own_mods()] == [guid]


def test_a_dry_run_sends_nothing(release):
    # C-OWN-20
    release.write()
    told = release.run_json("--create", "--dry-run", "--publish")
    assert (told["mod"], told["guid"], told["dryRun"], release.own_mods()) == (None, None, True, [])
    release.create()
    before = release.state()
    (release.folder / "shots/one.png").write_bytes(PNG + b"ONE")
    release.write(FILE.replace("Rally HUD", "Rally").replace('"1.0"', '"1.1"').replace("At night", "By day"))
    shown = release.run("--dry-run", "--publish")
    would = {line.removeprefix("Would do: ") for line in shown.splitlines() if line.startswith("Would do: ")}
    assert would == {"code 1.1", "image one.png", "captions", "title", "changelog", "published"}
    assert release.state() == before


def test_an_image_is_replaced_in_its_place_with_its_caption(release):
    # C-OWN-20
    release.create("--publish")
    old = release.image_ids()
    mod = release.own_mods()[0]
    captions = {"captions": [{"assetId": old[1], "caption": "From the workshop"}]}
    release.ada.call("put_json", f"/api/modhub/{mod['id']}/captions", params=captions)
    for name in ("one", "two"):
        (release.folder / f"shots/{name}.png").write_bytes(PNG + b"new " + name.encode())
    assert release.run_json()["changed"] == ["image two.png", "image one.png"]
    assert release.images() == [("two.png", "At night"), ("one.png", "From the workshop")]
    assert not set(old) & set(release.image_ids())


def test_an_upload_that_fails_removes_nothing(release):
    # C-OWN-20
    release.create()
    before = release.state()[1]
    (release.folder / "shots/one.png").write_bytes(PNG + b"x" * 3_000_000)
    assert "Done: image" not in release.run("--prune", code=client.REJECTED)
    assert release.state()[1] == before


def test_images_without_a_line_follow_until_they_are_pruned(release):
    # C-OWN-20
    release.create()
    release.write('[[images]]\nfile = "shots/one.png"\ncaption = ""')
    told = release.run_json()
    assert told["changed"] == ["order"]
    assert "--prune removes: two.png" in release.complaints
    assert release.images() == [("one.png", ""), ("two.png", "At night")]
    assert release.run_json("--prune")["changed"] == ["image two.png removed"]
    assert release.images() == [("one.png", "")]
    release.write('title = "Rally HUD"')
    assert release.run_json("--prune")["changed"] == []
    assert release.images() == [("one.png", "")]


def test_problems_keep_a_draft_from_being_published(release):
    # C-OWN-20
    release.create()
    release.write(FILE.replace("requires = []", f'requires = ["{ABSENT[:-1]}0"]'))
    release.run("--publish", code=client.REJECTED)
    assert f"problem: required, but nobody could install it: {ABSENT[:-1]}0" in release.complaints
    assert "hint: images: not every image has a caption" in release.complaints
    assert not release.own_mods()[0]["published"]
    assert "Done: published" in release.run("--publish", "--allow-problems")


def test_an_older_release_changes_its_notes_alone(release):
    # C-OWN-20
    release.create("--publish")
    (release.folder / "hud.lua").write_bytes(b"newer code")
    release.write(FILE.replace('"1.0"', '"1.1"').replace("Rally HUD", "Newer").replace("First", "Second"))
    release.run()
    newer = release.state()
    (release.folder / "hud.lua").write_bytes(b"the code")
    (release.folder / "hud.css").write_text("old {}")
    release.write(FILE.replace("First", "Very first"))
    told = release.run_json("--publish")
    assert told["changed"] == ["changelog"]
    assert "1.0 is not the mod's newest version" in release.complaints
    mod, files, notes = release.state()
    assert ([mod, files], notes["notes"][0]) == (newer[:2], newer[2]["notes"][0])
    assert "Very first" in notes["notes"][1]["text"]
    # Other bytes under a version that is used are refused.
    (release.folder / "hud.lua").write_bytes(b"other code")
    release.run(code=client.REJECTED)


def test_texts_in_each_format(release):
    release.create()
    (release.folder / "about.html").write_text("<p onclick='x'>One<script>x</script>")
    texts = {
        '{ text = "# One", format = "text" }': "<p># One</p>",
        '{ file = "about.html" }': "<p>One</p>",
    }
    for value, html in texts.items():
        release.write(f"description = {value}")
        assert release.run_json()["changed"] == ["description"]
        assert release.own_mods()[0]["description"] == html
        assert ("removed: <script>, onclick" in release.complaints) == (value == '{ file = "about.html" }')


def test_a_mod_is_named_by_guid_number_or_address(release):
    # C-OWN-20
    release.create()
    mod = release.own_mods()[0]
    words = [str(release.folder / "hud.lua"), "--version", "1.0", "--json"]
    named = {
        mod["guid"].upper(): client.DONE,
        str(mod["id"]): client.DONE,
        f"{release.url}/Modhub/mine/{mod['id']}#files": client.DONE,
        ABSENT: client.KEY_REJECTED,
        "999999": client.KEY_REJECTED,
        "Rally HUD": client.USAGE_ERROR,
    }
    for name, code in named.items():
        assert command.main(["--url", release.url, "mod", name, *words]) == code
    # One file for two services: the other one's mod is named by --mod.
    release.guid = ABSENT
    release.write()
    release.run(code=client.KEY_REJECTED)
    assert release.run_json("--mod", mod["id"])["changed"] == []


def test_a_long_run_begins_a_new_session(release, monkeypatch):
    # C-TOK-1
    key = make_key(release.ada.site, release.ada.id)
    service = client.Publisher(release.url, key)
    sessions = []
    begin = client.Publisher._begin_session
    monkeypatch.setattr(client.Publisher, "_begin_session", lambda self: [sessions.append(self), begin(self)])
    later = client.monotonic() + 1000
    assert service.read_own_mods() == []
    monkeypatch.setattr(client, "monotonic", lambda: later)
    assert (service.read_own_mods(), service.read_own_mods()) == ([], [])
    assert sessions == [service]
