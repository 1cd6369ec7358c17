"""The Makefile without a network: help, errors, and the targets that CI uses."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(folder, *arguments):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "-C", str(folder), *arguments]
    return subprocess.run(command, env=clean, capture_output=True, text=True, check=False, timeout=200)


@pytest.fixture
def checkout(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


def test_an_older_python_is_refused_in_one_sentence(checkout):
    ended = make(checkout, "install", "PYTHON=false")
    assert ended.returncode != 0
    assert "Python 3.11 or newer is needed" in ended.stderr
    assert not (checkout / ".venv").exists()


STUB = """#!/bin/sh
echo "$(basename "$0") $*" >> "$(dirname "$0")/../../told"
"""


def test_run_installs_migrates_and_serves_in_this_order(checkout):
    # C-RUN-1
    for name in ("development.ini", "setup.py", "pyproject.toml"):
        shutil.copy(ROOT / name, checkout)
    programs = checkout / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs.parent / "pyvenv.cfg").write_text(f"command = python -m venv {programs.parent}\n")
    for name in ("python", "modhub-admin", "pserve"):
        (programs / name).write_text(STUB)
        (programs / name).chmod(0o755)
    ended = make(checkout, "run")
    assert ended.returncode == 0, ended.stderr
    pip = "python -m pip --quiet --disable-pip-version-check install "
    done = [line for line in (checkout / "told").read_text().splitlines() if "-c import pip" not in line]
    assert done == [
        f"{pip}--require-hashes --requirement requirements/run.txt",
        f"{pip}--no-deps --no-build-isolation --editable .",
        "python -m compileall -q",
        "modhub-admin -c development.ini migrate",
        "pserve development.ini",
    ]
    assert (checkout / "var").is_dir()
    (checkout / "told").unlink()
    assert make(checkout, "run").returncode == 0
    again = [line for line in (checkout / "told").read_text().splitlines() if "-c import pip" not in line]
    assert again == done[2:], "a second run installs nothing"
    settings = re.findall(r"(?m)^(?:listen|modhub.base_url) = (.*)$", (checkout / "development.ini").read_text())
    assert settings == ["http://127.0.0.1:6543", "127.0.0.1:6543"]
