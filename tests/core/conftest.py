"""``modhub-admin`` in this process, with an ini of its own, and the feature of docs/writing-a-feature.md."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import modhub
from modhub.admin import program
from modhub_testing import TEST_SECRET
from modhub_testing.mods import OWNER
from modhub_testing.pages import new_visitor

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-feature.md"
FILES = re.compile(r"(?s)```(?:python\n# |po\n# |toml\n# |jinja\n\{# )([\w/.]+)(?: #\})?\n(.*?)```")


@pytest.fixture
def author(site):
    """A visitor who has signed in and owns mods."""
    return new_visitor(site, OWNER)


@pytest.fixture
def run_program():
    """``run_program(source, "word")``: a Python program that has ended, and what it printed."""

    def run(source, *words):
        command = [sys.executable, "-W", "ignore", "-c", source, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)

    return run


@pytest.fixture
def good(tmp_path):
    """The least settings of a start."""
    return {"sqlalchemy.url": f"sqlite:///{tmp_path}/x.sqlite", "modhub.secret": TEST_SECRET}


@pytest.fixture
def run_at(tmp_path, capsys, monkeypatch):
    """``run_at(url, storage)("sweep")`` over this database and store: (exit code, what it said)."""
    monkeypatch.setattr(program, "set_up_logging", lambda _ini: None)
    ini = tmp_path / "site.ini"

    def command(*words):
        code = modhub.admin_main(["-c", str(ini), *words])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    def begin(url, storage):
        lines = ["[app:main]", "use = egg:modhub", f"modhub.secret = {TEST_SECRET}"]
        lines += [f"sqlalchemy.url = {url}", f"modhub.storage = {storage}"]
        ini.write_text("\n".join(lines) + "\n", "utf-8")
        return command

    return begin


@pytest.fixture
def run_with_ini(site, run_at):
    """``run_with_ini("sweep")`` over the site's database and files."""
    settings = site.registry.settings
    return run_at(settings["sqlalchemy.url"], settings["modhub.storage"])


@pytest.fixture(scope="session")
def guide_feature(tmp_path_factory):
    """``modhub_bookmarks`` as the guide has it; imported once, since it maps a table."""
    folder = tmp_path_factory.mktemp("guide")
    for name, source in FILES.findall(GUIDE.read_text("utf-8")):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield folder
    sys.path.remove(str(folder))
