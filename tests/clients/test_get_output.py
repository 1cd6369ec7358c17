"""``modhub-get`` where its output takes few characters, is full, or is closed: what was done is done."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from modhub_client.get.main import main
from modhub_client.get.outcome import ExitCode

COMMAND = [sys.executable, "-m", "modhub_client.get.main"]
FULL = Path("/dev/full")
TITLE = "Größe 日本 é"
ASCII = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}


def run(*words, options=(), environment=None, **streams):
    """The finished program; its standard output is a pipe unless ``streams`` say otherwise."""
    command = [COMMAND[0], *options, *COMMAND[1:], *words]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run(command, env=os.environ | (environment or {}), timeout=100, check=False, **streams)


def is_installed(folder, mod):
    return [path.read_bytes() for path in (folder / mod.guid).iterdir()] == [mod.content]


def test_an_output_that_lacks_characters(fake, folder):
    mod = fake.add(1, title=TITLE, version="1 ☃")
    words = ["--url", fake.url]
    for command in (["install", mod.guid, "--into", str(folder)], ["search", "ünïcode"], ["search", "--game", "日本"]):
        done = run(*words, *command, environment=ASCII)
        assert (done.returncode, done.stderr) == (0, b""), command
        assert mod.guid.encode() in done.stdout
    # A lock is for programs: the same bytes as in a file.
    lock = folder.parent / "mods.lock"
    export = ["export-lock", "--into", str(folder)]
    assert run(*export, "--output", str(lock), environment=ASCII).returncode == 0
    assert run(*export, environment=ASCII).stdout == lock.read_bytes()
    assert is_installed(folder, mod)
    assert "q=%C3%BCn%C3%AFcode" in fake.asked[-2][0]
    refused = run(*words, "install", TITLE, "--into", str(folder), environment=ASCII)
    assert refused.returncode == ExitCode.WRONG_CALL
    assert b"Traceback" not in refused.stderr


def test_a_file_name_that_the_locale_does_not_allow_changes_nothing(fake, folder):
    mod = fake.add(1, name="日本.zip")
    words = ["--url", fake.url, "install", mod.guid, "--into", str(folder)]
    done = run(*words, options=["-X", "utf8=0"], environment={"LC_ALL": "C"})
    assert done.returncode == ExitCode.FOLDER
    assert b"PYTHONUTF8" in done.stderr
    assert b"Traceback" not in done.stderr
    assert run(*words).returncode == 0
    assert is_installed(folder, mod)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_output(fake, folder):
    mod = fake.add(1)
    words = ["--url", fake.url]
    with FULL.open("wb") as full:
        done = run(*words, "install", mod.guid, "--into", str(folder), stdout=full)
        assert done.returncode == 0
        assert done.stderr.startswith(b"modhub-get: The command is done, but its output could not be written: ")
        assert done.stderr.count(b"\n") == 1
        assert is_installed(folder, mod)
        (folder / mod.guid / mod.name).unlink()
        assert run(*words, "check", "--into", str(folder), stdout=full).returncode == ExitCode.DIFFERENT
        for command in (["search"], ["export-lock", "--into", str(folder)]):
            done = run(*words, *command, stdout=full)
            assert done.returncode == ExitCode.FOLDER, command
            assert done.stderr.startswith(b"modhub-get: The output could not be written: ")
        for command in (["--help"], ["install", "no-guid"], ["no-command"]):
            assert b"Traceback" not in run(*words, *command, stdout=full, stderr=subprocess.PIPE).stderr
            assert run(*words, *command, stdout=full, stderr=full).returncode in {0, ExitCode.WRONG_CALL}


def test_a_pipe_that_nobody_reads(fake, folder):
    mod = fake.add(1)
    for command in (["install", mod.guid, "--into", str(folder)], ["search"], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = run("--url", fake.url, *command, stdout=writer)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, b""), command
    assert is_installed(folder, mod)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_outputs_that_were_closed_from_the_beginning(fake, folder):
    mod = fake.add(1)
    words = [*COMMAND, "--url", fake.url, "install", mod.guid, "--into", str(folder)]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *words], timeout=100, check=False)
    assert done.returncode == 0
    assert is_installed(folder, mod)
    words[-3] = "no-guid"
    done = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *words], timeout=100, check=False)
    assert done.returncode == ExitCode.WRONG_CALL


@pytest.mark.parametrize(
    "words",
    [["foo"], ["search", "--size", "none"]],
)
def test_wrong_arguments_are_told_in_json_too(words, capsys):
    assert main(words) == ExitCode.WRONG_CALL
    plain = capsys.readouterr()
    assert plain.out == ""
    assert plain.err.startswith("usage: modhub-get")
    for with_json in (["--json", *words], [*words, "--json"]):
        assert main(with_json) == ExitCode.WRONG_CALL
        printed = capsys.readouterr()
        error = json.loads(printed.out)
        assert (error["exit"], error["error"]) == (2, "wrong_call")
        assert error["message"].rstrip(".") in printed.err
