"""Installed files match the repository: each part by itself, and the suite."""

import os
import re
import runpy
import shutil
import subprocess
import tarfile
import zipfile
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
FOLDERS = {path.parent.name: path.parent.name for path in ROOT.glob("modhub*/pyproject.toml")}
SOURCES = FOLDERS | {"modhub_client": "clients"}
"""The folder that each part is built from, by the name of its package."""
FOLDERS |= {"modhub_client": "clients/modhub_client"}
"""The folder of each part's package."""
PARTS = sorted(FOLDERS)
KIT = "modhub_testing"
"""What tests need; a distribution that the suite has no part of."""
RUN = [part for part in PARTS if part != KIT]
SUITE = "the suite"
SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.2 has no filters yet
COMMITTED = 1_750_000_000
"""When the commit was made that wheels are built from, in seconds since 1970."""
build_wheel = runpy.run_path(str(ROOT / "tools" / "build_release.py"))["build_wheel"]


@dataclass
class Built:
    """A wheel that was built from the tracked files, and the one that was built from their source distribution."""

    wheel: Path
    again: Path

    def files(self, wheel=None):
        with zipfile.ZipFile(wheel or self.wheel) as archive:
            return {name for name in archive.namelist() if ".dist-info/" not in name}

    def text(self, name):
        with zipfile.ZipFile(self.wheel) as archive:
            names = [inside for inside in archive.namelist() if inside.endswith(f".dist-info/{name}")]
            return archive.read(names[0]).decode() if names else ""

    def field(self, name):
        return HeaderParser().parsestr(self.text("METADATA")).get_all(name, [])


def tracked():
    """Git's files, and those about to be added."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def disturb(folder):
    """Give the files of another checkout: those of a user with another umask, made an hour later, in another order."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file():
            path.rename(path.with_name("moved"))
            path.with_name("moved").rename(path)
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (COMMITTED + 3600,) * 2)


class Workshop(dict[str, Built]):
    """Builds what it is asked for, once; so that a part that cannot be built is no trouble to the others."""

    def __init__(self, folder, run_hook):
        super().__init__()
        self.folder = folder
        self.run_hook = run_hook
        self.names = tracked()
        for name in self.names:
            (folder / "tracked" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "tracked" / name)

    def expected(self, part):
        """Return what the wheel of this part has to hold."""
        inside = {name.removeprefix(f"{FOLDERS[part]}/") for name in self.names if name.startswith(f"{FOLDERS[part]}/")}
        return {f"{part}/{name}" for name in inside - {"pyproject.toml"}}

    def __missing__(self, name):
        folder = self.folder / name
        source = self.folder / "tracked" / SOURCES.get(name, "")
        archive = self.run_hook("build_sdist", source, folder)
        with tarfile.open(archive) as unpacked:
            unpacked.extractall(folder / "source", **SAFELY)
        inside = next((folder / "source").iterdir())
        disturb(inside)
        before = os.umask(0o077)
        try:
            again = build_wheel(inside, folder / "again", COMMITTED)
        finally:
            os.umask(before)
        self[name] = Built(build_wheel(source, folder, COMMITTED), again)
        return self[name]


@pytest.fixture(scope="module")
def built(run_hook, tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("built"), run_hook)


@pytest.mark.parametrize("part", PARTS)
def test_wheel_of_a_part_holds_its_tracked_files_and_no_others(built, part):
    assert built[part].files() == built.expected(part)
    assert f"{part}/py.typed" in built[part].files()


def test_wheel_of_the_suite_holds_every_part_but_the_test_kit(built):
    assert built[SUITE].files() == set().union(*map(built.expected, RUN))
    assert built[SUITE].text("licenses/LICENSE") == (ROOT / "LICENSE").read_text("utf-8")


@pytest.mark.parametrize("name", [*PARTS, SUITE])
def test_two_builds_are_the_same_bytes(built, name):
    # C-SEC-3
    assert built[name].again.name == built[name].wheel.name
    assert built[name].again.read_bytes() == built[name].wheel.read_bytes()
    with zipfile.ZipFile(built[name].wheel) as archive:
        modes = {entry.external_attr >> 16 for entry in archive.infolist() if not entry.filename.endswith("/RECORD")}
        assert modes <= {0o100644, 0o100755}
        assert {entry.date_time for entry in archive.infolist()} == {(2025, 6, 15, 15, 6, 40)}


def test_versions_agree(built):
    versions = {name: built[name].field("Version") for name in (*PARTS, SUITE)}
    core = versions["modhub"][0]
    assert re.fullmatch(r"\d+\.\d+\.\d+", core)
    assert versions == {part: [core] for part in PARTS} | {SUITE: [f"{core}+suite"]}


def requirements(built):
    lines = map(Requirement, built.field("Requires-Dist"))
    return {(canonicalize_name(line.name), str(line.specifier), str(line.marker or "")) for line in lines}


def test_suite_requires_what_its_parts_require(built):
    names = {canonicalize_name(built[part].field("Name")[0]) for part in PARTS}
    union = set().union(*(requirements(built[part]) for part in RUN))
    union |= {(name, versions, 'extra == "test"') for name, versions, _ in requirements(built[KIT])}
    assert requirements(built[SUITE]) == {line for line in union if line[0] not in names}


def test_suite_has_the_entry_points_of_its_parts(built):
    lines = [line for part in RUN for line in built[part].text("entry_points.txt").splitlines() if "=" in line]
    assert sorted(line for line in built[SUITE].text("entry_points.txt").splitlines() if "=" in line) == sorted(lines)
    assert {
        "main = modhub:main",
        "server = modhub.server:make_server",
        "modhub-admin = modhub:admin_main",
        "pserve = modhub.admin.pserve:pserve_main",
    } <= set(lines)
