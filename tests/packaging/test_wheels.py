"""Wheels hold what the repository has, and each part runs by itself: the core alone and with any one feature.

The clients are for other machines: they run without the core and without anybody else's packages.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
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
RELEASE = runpy.run_path(str(ROOT / "tools" / "build_release.py"))
build_wheel = RELEASE["build_wheel"]
FEATURES = [part for part in RUN if part not in {"modhub", "modhub_client"}]
OTHERS = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
"""Where the packages of others are."""

SDIST = """
import sys
from setuptools import build_meta
print(build_meta.build_sdist(sys.argv[1]))
"""

INI = """
[app:main]
use = egg:modhub
pyramid.includes = {features}
sqlalchemy.url = sqlite:///{here}/modhub.sqlite
modhub.base_url = http://127.0.0.1:6543
modhub.secret = a secret for this one test alone, of forty characters
modhub.storage = file://{here}/files
modhub.mail_dir = {here}/mail
"""

SERVE = """
import sys
from importlib.util import find_spec
names, ini, *addresses = sys.argv[1:]
print(*(name for name in names.split() if find_spec(name)), flush=True)
from modhub import admin_main
if admin_main(["-c", ini, "migrate"]):
    sys.exit(1)
from paste.deploy import loadapp
from webob import Request
app = loadapp("config:" + ini)
for address in addresses:
    print(Request.blank(address).get_response(app).status_int)
"""

HELP = """
import sys
from importlib.metadata import entry_points
name = sys.argv[1]
sys.argv = [name, "--help"]
entry_points(group="console_scripts", name=name)[name].load()()
"""


@dataclass
class Built:
    """A wheel that was built from the tracked files."""

    wheel: Path

    def files(self):
        with zipfile.ZipFile(self.wheel) as archive:
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

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.names = tracked()
        for name in self.names:
            (folder / "tracked" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "tracked" / name)

    def expected(self, part):
        """Return what the wheel of this part has to hold."""
        inside = {name.removeprefix(f"{FOLDERS[part]}/") for name in self.names if name.startswith(f"{FOLDERS[part]}/")}
        return {f"{part}/{name}" for name in inside - {"pyproject.toml"}}

    def source(self, name):
        return self.folder / "tracked" / SOURCES.get(name, "")

    def __missing__(self, name):
        self[name] = Built(build_wheel(self.source(name), self.folder / name, COMMITTED))
        return self[name]

    def build_again(self, name):
        """The wheel that is made of the part's source distribution."""
        folder = self.folder / "again" / name
        folder.mkdir(parents=True)
        made = RELEASE["run"](sys.executable, "-I", "-c", SDIST, folder, cwd=self.source(name))
        with tarfile.open(folder / made.split()[-1]) as unpacked:
            unpacked.extractall(folder / "source", **SAFELY)
        inside = next((folder / "source").iterdir())
        disturb(inside)
        before = os.umask(0o077)
        try:
            return build_wheel(inside, folder, COMMITTED)
        finally:
            os.umask(before)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("built"))


@pytest.mark.parametrize("part", PARTS)
def test_wheel_of_a_part_holds_its_tracked_files_and_no_others(built, part):
    assert built[part].files() == built.expected(part)
    assert f"{part}/py.typed" in built[part].files()


def test_wheel_of_the_suite_holds_every_part_but_the_test_kit(built):
    assert built[SUITE].files() == set().union(*map(built.expected, RUN))
    assert built[SUITE].text("licenses/LICENSE") == (ROOT / "LICENSE").read_text("utf-8")


@pytest.mark.parametrize("name", ["modhub_client", SUITE])
def test_two_builds_are_the_same_bytes(built, name):
    # C-SEC-3
    again = built.build_again(name)
    assert again.name == built[name].wheel.name
    assert again.read_bytes() == built[name].wheel.read_bytes()
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


@pytest.fixture
def run(built, tmp_path):
    """``run(parts, program, *words)``: what a program prints that sees these parts of ours alone."""

    def run(parts, program, *words, others=OTHERS, code=0):
        for part in parts:
            with zipfile.ZipFile(built[part].wheel) as archive:
                archive.extractall(tmp_path / "parts")
        source = f"import sys; sys.path[:0] = {[str(tmp_path / 'parts'), *others]!r}\n{program}"
        # Without the module `site` nothing brings this checkout along.
        command = [sys.executable, "-I", "-S", "-c", source, *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    return run


@pytest.fixture
def ini(tmp_path):
    """``ini(features)``: a file of settings."""

    def write(features):
        path = tmp_path / "service.ini"
        path.write_text(INI.format(here=tmp_path, features=" ".join(features)), "utf-8")
        return str(path)

    return write


def required_features(feature):
    """The features that it declares as dependencies."""
    project = tomllib.loads((ROOT / feature / "pyproject.toml").read_text("utf-8"))["project"]
    names = [line.partition(">")[0].replace("-", "_") for line in project["dependencies"]]
    return [name for name in names if name in FEATURES]


@pytest.mark.parametrize("feature", [None, *FEATURES])
def test_the_core_starts_alone_and_with_one_feature(run, ini, feature):
    features = [*required_features(feature), feature] if feature else []
    addresses = ["/healthz", "/api/modhub", "/Modhub"]
    output = run(["modhub", *features], SERVE, " ".join(RUN), ini(features), *addresses)
    installed, *_, health, api, page = output.splitlines()
    assert set(installed.split()) == {"modhub", *features}
    assert (health, api, page) == ("200", "200", "200")


def test_a_feature_that_is_not_installed_is_reported_in_a_sentence(run, ini):
    output = run(["modhub"], SERVE, "", ini(FEATURES[:1]), code=1)
    assert FEATURES[0] in output
    assert "Traceback" not in output


@pytest.mark.parametrize("program", ["modhub-get", "modhub-publish", "modhub-verify"])
def test_a_client_runs_where_nothing_else_is_installed(run, program):
    assert run(["modhub_client"], HELP, program, others=()).startswith(f"usage: {program} ")


def test_publishing_client_is_one_file_of_a_release(tmp_path):
    program = RELEASE["build_program"](ROOT / "clients", tmp_path / "work", tmp_path)
    command = [sys.executable, "-I", "-S", str(program)]
    schema = subprocess.run([*command, "schema"], capture_output=True, text=True, check=True)
    assert '"guid"' in schema.stdout
    assert subprocess.run([*command, "key"], capture_output=True, check=False, env={}).returncode == 2
