"""``modhub-admin``: verify, sweep, keys, the curated games, usage errors."""

import io
import json
import logging
import os
import subprocess
from errno import ENOSPC
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import update
from sqlalchemy.exc import TimeoutError as PoolTimeout

import modhub
from modhub.base.json_lines import JsonLineFormatter
from modhub.blobs import maintenance
from modhub.blobs.disk_errors import write_errors
from modhub.catalogue.models import PublicText
from modhub_testing import stored_files
from modhub_testing.mods import OWNER, published_mod, upload_asset
from modhub_testing.service import script
from tests.people import write

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


@pytest.fixture
def run(site, run_with_ini, monkeypatch):
    """``run("game", "add", "Portal")`` by the site's own application, which takes longer to configure."""
    monkeypatch.setattr(modhub, "configure", lambda *_, **__: site.config)
    return run_with_ini


@pytest.mark.postgres
def test_verify_finds_what_is_damaged_and_rebuild_mends_it(site, run):
    # C-RUN-4, C-RUN-5, T-F10
    mod = published_mod(site)
    assert run("verify") == (0, "No problems found.\n")
    (path,) = stored_files(site)
    content = path.read_bytes()
    for damage in (lambda: path.write_bytes(b"x" * len(content)), lambda: path.write_bytes(b"x"), path.unlink):
        damage()
        code, output = run("verify")
        assert code == 1
        assert output.endswith("Problems found: 1.\n")
        assert len(output.splitlines()) == 2
        assert f'code mod.zip of mod {mod["id"]} "{mod["title"]}", account {OWNER}): ' in output
    code, output = run("verify", "--json")
    (problem,) = json.loads(output)["problems"]
    assert (code, problem["key"]) == (1, path.parent.name + path.name)
    assert str(mod["id"]) in problem["file"]
    # Of what is copied for readers, it is mended.
    path.write_bytes(content)
    write(site, update(PublicText).values(text="other"))
    assert run("verify")[1].endswith("Problems found: 1.\n")
    assert run("rebuild") == (0, "Public copies rebuilt: 1.\n")
    assert run("verify") == (0, "No problems found.\n")


@pytest.mark.postgres
def test_sweep_says_what_it_removes(site, run):
    # C-RUN-4, C-RUN-6
    mod = published_mod(site)
    upload_asset(site, mod, "code", b"two", version="2")
    assert run("sweep") == (0, "Removed 0 replaced or deleted files and 0 orphaned files.\n")
    would = run("sweep", "--older-than", "0", "--dry-run")[1]
    assert would.startswith("Would remove 1 replaced or deleted files and 0 ")
    assert run("sweep", "--older-than", "0") == (0, "Removed 1 replaced or deleted files and 0 orphaned files.\n")


def test_a_curated_game_shows_at_once_and_is_changed_by_its_identity(site, run, tmp_path):
    # C-READ-10, C-RUN-4
    icon = tmp_path / "icon.png"
    Image.new("RGB", (256, 256), "red").save(icon)

    def games():
        return site.get("/api/modhub/games").json["games"]

    assert run("game", "add", " Portal ", "--icon", str(icon), "--display-name", "One")[0] == 0
    assert run("game", "add", "Half-Life")[0] == 0
    first, second = games()
    old = second["iconUrl"]
    assert first == {"name": "Half-Life", "displayName": "Half-Life", "iconUrl": None}
    assert second == {"name": "Portal", "displayName": "One", "iconUrl": old}
    assert "One" in run("game", "list")[1]
    response = site.get(old)
    assert (response.body, response.headers["Content-Type"]) == (icon.read_bytes(), "image/png")
    assert response.headers["Content-Disposition"].startswith("inline")
    assert "immutable" in response.headers["Cache-Control"]
    # A new icon has a new address.
    run("game", "add", "  PORTAL ", "--icon", str(icon))
    changed = games()[1]
    assert (changed["name"], changed["displayName"]) == ("Portal", "One")
    assert changed["iconUrl"] != old
    site.get(old, status=404)
    run("game", "add", "portal", "--display-name", "")
    assert games()[1]["displayName"] == "Portal"
    assert run("game", "remove", "pORTAL") == (0, "The game pORTAL was removed from the list.\n")
    assert run("game", "remove", "Portal") == (1, "There is no curated game with that name.\n")
    assert games() == [first]
    site.get(changed["iconUrl"], status=404)
    assert run("sweep", "--older-than", "0")[1].startswith("Removed 6 ")
    assert stored_files(site) == []


def test_an_invalid_icon_is_one_line_and_stores_nothing(site, run, tmp_path):
    page, cut = tmp_path / "page.html", tmp_path / "cut.png"
    page.write_bytes(b"<html>")
    cut.write_bytes(PNG)
    large = tmp_path / "large.png"
    large.write_bytes(PNG + bytes(2 * 1024 * 1024))
    for icon in (page, cut, tmp_path / "none.png", large):
        code, output = run("game", "add", "Portal", "--icon", str(icon))
        assert code == 1
        assert output.startswith("modhub-admin: ")
        assert output.count("\n") == 1
    assert run("game", "add", "  ")[0] == 1
    assert site.get("/api/modhub/games").json["count"] == 0
    assert stored_files(site) == []


def test_a_terminal_shows_sentences_and_no_json(run, monkeypatch, caplog):
    shown = io.StringIO()
    handler = logging.StreamHandler(shown)
    handler.setFormatter(JsonLineFormatter())
    monkeypatch.setattr(logging.root, "handlers", [handler])
    with caplog.at_level(logging.INFO, "modhub"):  # as production.ini
        run("game", "add", "Portal")
        assert json.loads(shown.getvalue())["event"] == "curated game changed"
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        run("game", "add", "Hades")
        logging.getLogger("modhub").warning("the key is weak.")
    assert shown.getvalue().splitlines()[1:] == ["WARNING: the key is weak."]


@pytest.mark.parametrize(
    ("words", "target", "sentence"),
    [
        ("migrate", "modhub.admin.migrate.upgrade", "everything was migrated or nothing: run the command again"),
        ("backup DEST", "modhub.admin.backup.dump_database", "nothing is left of the backup"),
        ("sweep", "modhub.blobs.maintenance.sweep", "finished work is kept"),
    ],
)
def test_ctrl_c_says_what_is_left(  # noqa: PLR0917 - fixtures
    run, tmp_path, monkeypatch, words, target, sentence
):
    folder = tmp_path / "saved"

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(target, interrupted)
    code, line = run(*words.replace("DEST", str(folder)).split())
    assert (code, line.count("\n")) == (130, 1)
    assert line.startswith(f"modhub-admin: interrupted; {sentence}")


def test_wrong_calls_are_one_line(run_with_ini, capsys, tmp_path):
    assert modhub.admin_main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: modhub-admin -c INI COMMAND\n")
    assert modhub.admin_main([]) == 2
    assert modhub.admin_main(["-c", str(tmp_path / "none.ini"), "verify"]) == 2
    printed = capsys.readouterr()
    assert len(printed.err.splitlines()) == 2
    assert "Traceback" not in printed.err
    for words in ((), ("nonsense",)):
        with pytest.raises(SystemExit) as end:
            run_with_ini(*words)
        assert end.value.code == 2
    capsys.readouterr()
    # A program reads standard output.
    assert modhub.admin_main(["-c", str(tmp_path / "site.ini"), "game", "remove", "Nothing"]) == 1
    assert capsys.readouterr() == ("", "There is no curated game with that name.\n")
    bad = tmp_path / "bad.ini"
    bad.write_text("x = hunter2\n", "utf-8")
    assert modhub.admin_main(["-c", str(bad), "verify"]) == 2
    sentence = f"modhub-admin: {bad}: line 1: a section such as [app:main] must come first.\n"
    assert capsys.readouterr().err == sentence


def test_a_database_that_is_behind_is_one_line(run_at, tmp_path):
    run = run_at(f"sqlite:///{tmp_path}/new.sqlite", "")
    for words in (("check",), ("game", "add", "Portal")):
        code, said = run(*words)
        assert (code, "the database is behind (modhub)" in said) == (1, True)
    assert run("key", "new")[0] == 0
    # Nobody but `migrate` makes a database: as another user, the service could not use it.
    assert not (tmp_path / "new.sqlite").exists()


def test_only_who_stores_files_makes_the_folder(site, run_at, tmp_path):
    """Made by root's `migrate` it would be a folder that the service cannot use."""
    folder = tmp_path / "other files"
    run = run_at(site.registry.settings["sqlalchemy.url"], f"file://{folder}")
    for words in (("migrate",), ("game", "add", "Portal"), ("verify",)):
        assert run(*words)[0] == 0, words
    code, output = run("sweep")
    assert (code, output.count("\n")) == (1, 1)
    assert not folder.exists()
    icon = tmp_path / "icon.svg"
    icon.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    assert run("game", "add", "Portal", "--icon", str(icon))[0] == 0
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 1
    assert run("sweep")[0] == 0


@pytest.mark.process
def test_a_process_says_nothing_else():
    # C-RUN-4: neither a traceback nor Pyramid's warning about pkg_resources
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [str(script("modhub-admin")), "--help"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environ, text=True, check=False)
    expected = "modhub-admin: the output cannot be written (No space left on device).\n"
    assert (done.returncode, done.stderr) == (1, expected)


def full_disk():
    with write_errors():
        raise OSError(ENOSPC, "No space left on device", "/secret/place")


def busy_pool():
    raise PoolTimeout("QueuePool limit")


@pytest.mark.parametrize(
    ("fails", "sentence"),
    [
        (full_disk, "the file store cannot be written (No space left on device)"),
        (busy_pool, "the database is busy or cannot be written (QueuePool limit)"),
    ],
)
def test_a_fault_of_the_moment_is_one_line_with_its_cause(run, monkeypatch, fails, sentence):
    monkeypatch.setattr(maintenance, "sweep", lambda *_: fails())
    assert run("sweep") == (1, f"modhub-admin: {sentence}; finished work is kept, run the command again.\n")
