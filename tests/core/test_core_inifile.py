"""An unreadable ini is reported in one sentence by ``modhub-admin``, and by ``pserve`` where possible."""

import subprocess
import sys
from pathlib import Path

import pytest

import modhub
from modhub_testing import TEST_SECRET

pytestmark = pytest.mark.process

APP = f"""[app:main]
use = egg:modhub
sqlalchemy.url = sqlite:////nonexistent/x.sqlite
modhub.secret = {TEST_SECRET}
"""
SERVER = "[server:main]\nuse = egg:modhub#server\nlisten = 127.0.0.1:0\n"
PASSWORD = "hunter2"
# What is said, and whether pserve reads the ini without a fault before our code runs: its own stack trace else.
BROKEN = {
    "a percent sign": (f"{APP}mail.password = {PASSWORD}%40x\n", "[app:main] mail.password holds a %", True),
    "a name without a value": (f"{APP}mail.password = %({PASSWORD})s\n", "[app:main] mail.password holds a %", True),
    "another egg": ("[app:main]\nuse = egg:modhubb\n", "the egg modhubb, which is not installed", True),
    "another entry point": (
        "[app:main]\nuse = egg:modhub#nope\n",
        "the egg modhub has nothing of the name nope",
        True,
    ),
    "a module that is not there": ("[app:main]\npaste.app_factory = nope:make\n", "No module named 'nope'", True),
    "a section that is not there": ("[app:main]\nuse = config:other\n", "", True),
    "a key twice": (f"{APP}modhub.secret = {PASSWORD}\n", "line 5: [app:main] has modhub.secret twice", False),
    "a section twice": (f"{APP}[app:main]\nx = 1\n", "line 5: there is a second section [app:main]", False),
    "no section first": (f"x = {PASSWORD}\n{APP}", "line 1: a section such as [app:main] must come first", False),
    "no key": (f"{APP}{PASSWORD}\n", "line 5: neither a section nor a key", False),
    "logging without a formatter": (f"{APP}[loggers]\nkeys = root\n", "its logging sections cannot be used", False),
}


@pytest.mark.parametrize("name", BROKEN)
def test_modhub_admin_says_it_in_one_line_without_a_value(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, sentence, _ = BROKEN[name]
    ini = tmp_path / "broken.ini"
    ini.write_text(text)
    assert modhub.admin_main(["-c", str(ini), "migrate"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"modhub-admin: {ini}: ")
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert PASSWORD not in printed.err


def test_a_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "latin.ini").write_bytes(b"[app:main]\nx = \xe4\n")
    (tmp_path / "empty.ini").touch()
    (tmp_path / "folder.ini").mkdir()
    sentences = {
        "none.ini": "there is no such configuration file",
        "folder.ini": "the configuration file cannot be read",
        "latin.ini": "is not UTF-8",
        "empty.ini": "there is no section [app:main]",
        "none.toml": "",
    }
    for file, sentence in sentences.items():
        assert modhub.admin_main(["-c", str(tmp_path / file), "migrate"]) == 2
        output = capsys.readouterr().err
        assert sentence in output
        assert (output.count("\n"), output[:14]) == (1, "modhub-admin: ")


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, (_, _, ours) in BROKEN.items() if ours])
def test_pserve_says_it_in_one_line_and_ends_with_a_code(name: str, tmp_path: Path) -> None:
    text, sentence, _ = BROKEN[name]
    (tmp_path / "broken.ini").write_text(text + SERVER)
    command = [sys.executable, "-W", "ignore", "-m", "pyramid.scripts.pserve", "broken.ini"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 1, ended
    assert ended.stderr.startswith("modhub does not start: ")
    assert sentence in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert PASSWORD not in ended.stderr


def test_an_ini_whose_application_has_another_name_is_not_judged(tmp_path: Path) -> None:
    """``pserve -n other`` serves it."""
    (tmp_path / "served.py").write_text("def make(global_conf):\n    raise SystemExit(7)\n")
    (tmp_path / "other.ini").write_text("[app:other]\npaste.app_factory = served:make\n" + SERVER)
    command = [sys.executable, "-W", "ignore", "-m", "pyramid.scripts.pserve", "-n", "other", "other.ini"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 7, ended
