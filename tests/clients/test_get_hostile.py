"""``modhub-get`` against hostile services, bad connections, links and kills: never a wrong file in place."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import modhub_client
from modhub_client.get.installation import PRIVATE
from modhub_client.get.main import main
from modhub_client.get.outcome import ExitCode
from modhub_client.names import clean_name
from modhub_testing.commands import run_on_terminal

from .conftest import expected, files, renew

ROOT = Path(modhub_client.__file__).parents[1]
PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from modhub_client.get.main import main; sys.exit(main())"
COMMAND = [sys.executable, "-I", "-S", "-c", PROGRAM, str(ROOT)]
"""With the standard library alone, which is all that it needs."""
MB = 1 << 20


@pytest.mark.parametrize(
    "lie",
    [
        *({"name": name} for name in ("../x", "", "a\0b")),
        *({"url": url} for url in ("//127.0.0.1:9/x", "/a\r\nHost: x")),
        {"size": (1 << 30) + 1},
    ],
    ids=repr,
)
def test_an_answer_that_no_service_gives_is_refused(fake, install, folder, lie, capsys):
    good, bad = fake.add(1), fake.add(2, **lie)
    assert install(good, bad) == ExitCode.BAD_ANSWER
    assert capsys.readouterr().err.startswith("modhub-get: ")
    assert files(folder) == {}
    assert fake.fetched == []


def of_plan(change):
    return lambda path, answer: change(answer) if path.endswith("/plan") else answer


def of_lookup(change):
    return lambda path, answer: change(answer) if path.endswith("/lookup") else answer


@pytest.mark.parametrize(
    "changed",
    [
        of_plan(lambda answer: b"<html>"),
        of_plan(lambda answer: b"[" * 200_000),
        of_plan(lambda answer: {**answer, "lock": {**answer["lock"], "digest": "0" * 64}}),
        of_plan(lambda answer: {**answer, "steps": [{**answer["steps"][0], "action": "run"}]}),
        of_plan(lambda answer: {**answer, "steps": [{**answer["steps"][0], "guid": "0" * 8 + "-0000" * 4 + "0" * 8}]}),
        of_lookup(lambda answer: {**answer, "mods": [{**answer["mods"][0], "guid": "../../x"}]}),
        of_lookup(lambda answer: {**answer, "mods": [{**answer["mods"][0], "version": "other"}]}),
        of_lookup(lambda answer: {**answer, "mods": []}),
        of_lookup(lambda answer: {**answer, "more": [answer["mods"][0]["guid"]]}),
    ],
)
def test_an_answer_without_sense_is_refused(fake, install, folder, changed, capsys):
    mod = fake.add(1)
    fake.changed = changed
    assert install(mod) == ExitCode.BAD_ANSWER
    assert "Traceback" not in capsys.readouterr().err
    assert files(folder) == {}


def test_an_answer_without_end_is_refused(fake, install, monkeypatch):
    monkeypatch.setattr("modhub_client.get.service.MAX_ANSWER", 1000)
    fake.changed = lambda *_: b" " * 2000
    assert install(fake.add(1)) == ExitCode.BAD_ANSWER


def test_no_redirect_is_followed(fake, install, folder):
    mod = fake.add(1)
    fake.served = lambda *_: (307, {"Location": "/Modhub/file/1"}, b"")
    assert install(mod) == ExitCode.BAD_ANSWER
    assert files(folder) == {}
    assert len(fake.fetched) == 1


@pytest.mark.parametrize(
    "tampered",
    [
        lambda mod: (200, {"ETag": f'"{mod.sha256}"'}, b"x" * len(mod.content)),
        lambda mod: (200, {"ETag": f'"{mod.sha256}"'}, mod.content + b"more"),
        lambda mod: (200, {"ETag": f'"{mod.sha256}"', "Content-Length": str(10**12)}, mod.content),
        lambda mod: (200, {}, mod.content),
        lambda mod: (206, {"ETag": f'"{mod.sha256}"', "Content-Range": "bytes 5-9/10"}, b"other"),
        lambda mod: (200, {"ETag": f'"{mod.sha256}"', "Content-Encoding": "gzip"}, mod.content),
        lambda mod: (404, {}, b""),
    ],
)
def test_a_file_that_is_another_one_is_not_put_in_place(fake, install, folder, tampered):
    old, mod = fake.add(1), fake.add(2)
    assert install(old) == 0
    fake.served = lambda served, _headers: tampered(served) if served is mod else None
    assert install(mod) == ExitCode.BAD_ANSWER
    assert files(folder) == expected(old)


def test_a_file_that_is_replaced_meanwhile_is_planned_again(fake, install, folder):
    mod = fake.add(1)

    def replace(*_):
        if mod.version == "1":
            renew(mod)

    fake.served = replace
    assert install(mod) == 0
    assert files(folder) == {f"{mod.guid}/{mod.name}": b"newer 1"}


def test_a_name_that_was_damaged_on_its_way_is_asked_for_again(fake, install, folder):
    mod, damaged = fake.add(1), []

    def damage(path, answer):
        if path.endswith("/lookup") and not damaged:
            damaged.append(answer["mods"][0]["assets"][0].update(name="moe.zip"))
        return answer

    fake.changed = damage
    assert install(mod) == 0
    assert files(folder) == expected(mod)


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        ("../../x", "x"),
        ("C:\\x\\y.dll", "y.dll"),
        ("..", "file"),
        (".htaccess", "_htaccess"),
        ("con.txt", "_con.txt"),
        ('a<b>c:"d|e?*.zip', "a_b_c__d_e__.zip"),
        ("a\u202e\x1b[31mgpj.exe. . ", "a[31mgpj.exe"),
        ("ä" * 255, "ä" * 100),
    ],
)
def test_names_are_safe_on_every_system(name, cleaned):
    assert clean_name(name) == cleaned
    assert clean_name(cleaned) == cleaned


def test_a_cut_download_goes_on_where_it_ended(fake, install, bad_line):
    mod = fake.add(1, random.Random(1).randbytes(2 * MB))
    line = bad_line(1, cut=300_000)
    assert install(mod, url=line.endpoint) == 0
    ranges = [headers for call, headers in fake.asked if "Range" in headers]
    assert ranges
    assert all(headers["If-Range"] == f'"{mod.sha256}"' for headers in ranges)
    starts = [int(headers["Range"].removeprefix("bytes=").rstrip("-")) for headers in ranges]
    assert starts == sorted(starts)
    assert len(starts) < 20


def test_a_later_run_goes_on_with_what_has_arrived(fake, install, folder):
    mod = fake.add(1, random.Random(1).randbytes(MB))
    part = folder / PRIVATE / "parts" / f"{mod.guid}.{mod.sha256}"
    part.parent.mkdir(parents=True)
    part.write_bytes(mod.content[:700_000])
    assert install(mod) == 0
    assert [headers["Range"] for _, headers in fake.asked if "Range" in headers] == ["bytes=700000-"]
    assert files(folder) == expected(mod)


@pytest.mark.parametrize("seed", range(3))
def test_a_bad_line_never_puts_a_wrong_file_in_place(fake, install, folder, bad_line, seed):
    noise = random.Random(seed)
    old = [fake.add(number, noise.randbytes(MB)) for number in range(3)]
    assert install(*old) == 0
    before = files(folder)
    for mod in old:
        mod.content = noise.randbytes(MB)
    top = fake.add(9, noise.randbytes(MB), requires=[0, 1, 2])
    line = bad_line(seed, cut=400_000, flip=500_000 if seed % 3 == 0 else 6 * MB, busy=0.1)
    code = install(top, url=line.endpoint)
    after = files(folder)
    if code == 0:
        assert after == expected(*old, top)
    else:
        assert code in {ExitCode.BAD_ANSWER, ExitCode.UNREACHABLE}
        assert after == before


def test_a_killed_program_leaves_a_whole_folder(fake, folder):
    noise = random.Random(5)
    mods = [fake.add(number, noise.randbytes(3 * MB)) for number in range(4)]
    command = [*COMMAND, "--url", fake.url, "install", *(mod.guid for mod in mods), "--into", str(folder)]
    complete = expected(*mods)
    for _ in range(4):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(noise.uniform(0.05, 0.5))
            process.send_signal(signal.SIGKILL)
        assert all(complete[name] == content for name, content in files(folder).items())
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    assert files(folder) == complete


def test_no_link_is_followed(fake, install, run, folder, tmp_path):
    mod = fake.add(1)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / mod.name).write_text("precious")
    folder.mkdir()
    (folder / mod.guid).symlink_to(outside)
    assert install(mod) == ExitCode.FOLDER
    (folder / mod.guid).unlink()
    (folder / mod.guid).mkdir()
    (folder / mod.guid / mod.name).symlink_to(outside / mod.name)
    assert install(mod) == 0
    assert not (folder / mod.guid / mod.name).is_symlink()
    assert (outside / mod.name).read_text() == "precious"
    (folder / mod.guid / mod.name).unlink()
    (folder / mod.guid / mod.name).symlink_to(outside / mod.name)
    run(ExitCode.DIFFERENT, "check", "--offline")
    run(0, "remove", mod.guid)
    assert (outside / mod.name).read_text() == "precious"


@pytest.mark.parametrize("name", ["", "parts/{part}", "state.json", "lock"])
def test_no_link_among_its_own_files_is_followed(fake, install, folder, tmp_path, name):
    mod = fake.add(1)
    link = folder / PRIVATE / name.format(part=f"{mod.guid}.{mod.sha256}")
    link.parent.mkdir(parents=True)
    outside = tmp_path / "outside"
    link.symlink_to(outside)
    assert install(mod) == ExitCode.FOLDER
    assert not outside.exists()
    assert files(folder) == {}


def test_a_damaged_state_is_said(fake, install, folder):
    mod = fake.add(1)
    assert install(mod) == 0
    (folder / PRIVATE / "state.json").write_text('{"format": 1, "url": "", "mods": [{"guid": "../x"}]}')
    assert install(mod) == ExitCode.FOLDER


def test_a_folder_that_cannot_be_written(fake, install, folder):
    folder.write_text("a file")
    assert install(fake.add(1)) == ExitCode.FOLDER


def on_a_terminal(*words):
    return run_on_terminal([*COMMAND, *words], {"COLUMNS": "80"})


def test_a_bar_on_a_terminal_alone(fake, install, tmp_path, capsys):
    mod = fake.add(1, bytes(MB))
    words = ["--url", fake.url, "install", mod.guid, "--into", str(tmp_path / "one")]
    code, out, shown = on_a_terminal(*words)
    assert (code, out) == (0, f"Installed Mod 1 1: {tmp_path / 'one' / mod.guid / mod.name}\n")
    steps = shown.split("\r")
    assert max(map(len, steps)) <= 80
    assert steps[-2].endswith("] 100 %")
    words[-1] = str(tmp_path / "two")
    code, out, shown = on_a_terminal("--json", *words)
    assert (code, shown, json.loads(out)["exit"]) == (0, "", 0)
    assert install(mod) == 0
    assert capsys.readouterr().err == ""


def test_what_a_service_says_does_not_reach_the_terminal(fake, capsys):
    fake.add(1, version="\x1b[2J\u202e")
    assert main(["search", "--url", fake.url]) == 0
    assert "\x1b" not in (out := capsys.readouterr().out)
    assert "\u202e" not in out
