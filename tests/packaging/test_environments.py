"""Each part installs by itself: the core starts alone and with any one feature; what was not installed is not there.

The clients are for other machines: they install without the core and without anybody else's packages.
"""

import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
FEATURES = sorted(
    path.parent.name for path in ROOT.glob("modhub_*/pyproject.toml") if path.parent.name != "modhub_testing"
)
PROGRAMS = ("modhub-get", "modhub-publish", "modhub-verify")
"""The clients."""

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
from paste.deploy import loadapp
from webob import Request
app = loadapp("config:" + sys.argv[1])
for address in sys.argv[2:]:
    print(Request.blank(address).get_response(app).status_int)
"""

# Before SERVE, in the same process: each start costs a second.
UNPACKED = """
import sys
packages, names, *serve = sys.argv[1:]
sys.path.insert(0, packages)
from importlib.util import find_spec
print(*(name for name in names.split() if find_spec(name)), flush=True)
from modhub import admin_main
assert admin_main(["-c", serve[0], "migrate"]) == 0
sys.argv[1:] = serve
"""

INSTALLED = """
import sys
from importlib.util import find_spec
print(*(name for name in sys.argv[1:] if find_spec(name)))
"""


class Environment:
    """A virtual environment that sees this one's third-party packages, and of ours only what is installed into it."""

    def __init__(self, folder, wheel):
        self.folder = folder
        self.bin = folder / "bin"
        venv.create(folder, symlinks=True)
        (self.packages / "third-party.pth").write_text(f"{self._third_party()}\n")
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        options = ["--python", str(self.bin / "python"), "install", "--no-deps", "--no-index"]
        self.run(*pip, *options, str(wheel))

    @property
    def packages(self):
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.folder)}, scheme="venv"))

    def _third_party(self):
        """Make a folder of links: the whole site-packages would bring the editable suite's modules along."""
        links = self.folder / "third-party"
        links.mkdir()
        for source in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
            for entry in Path(source).iterdir():
                if not entry.name.startswith(("modhub", "__editable__")) and entry.suffix != ".pth":
                    (links / entry.name).symlink_to(entry)
        return links

    def run(self, *command, code=0):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
        done = subprocess.run(
            command, cwd=self.folder, env=clean, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + (done.stderr if code else "")

    def python(self, program, *arguments, code=0):
        return self.run(str(self.bin / "python"), "-I", "-c", program, *arguments, code=code)

    def write_ini(self, *features):
        ini = self.folder / f"{'-'.join(['service', *features])}.ini"
        here = self.folder / ini.stem
        here.mkdir(exist_ok=True)
        ini.write_text(INI.format(here=here, features=" ".join(features)))
        return ini

    def serve(self, *addresses):
        ini = self.write_ini()
        self.run(str(self.bin / "modhub-admin"), "-c", str(ini), "migrate")
        return [int(line) for line in self.python(SERVE, str(ini), *addresses).split()]


@pytest.fixture(scope="module")
def wheel(run_hook, tmp_path_factory):
    """``wheel(part)``: built once."""
    folder = tmp_path_factory.mktemp("wheels")

    @cache
    def build(part):
        source = ROOT / part
        copied = folder / "sources" / part
        shutil.copytree(source, copied, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        return run_hook("build_wheel", copied, folder)

    return build


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """``environment(part)``: one that has this part, shared by tests of the same part."""
    return cache(lambda part: Environment(tmp_path_factory.mktemp("environment"), wheel(part)))


def test_core_alone_starts_and_no_feature_can_be_imported(environment):
    alone = environment("modhub")
    assert alone.serve("/healthz", "/api/modhub", "/Modhub") == [200, 200, 200]
    assert alone.python(INSTALLED, "modhub", *FEATURES).split() == ["modhub"]
    assert "ModuleNotFoundError" in alone.python(f"import {FEATURES[0]}", code=1)


def required_features(feature):
    """The features that it declares as dependencies."""
    project = tomllib.loads((ROOT / feature / "pyproject.toml").read_text("utf-8"))["project"]
    names = [line.partition(">")[0].replace("-", "_") for line in project["dependencies"]]
    return [name for name in names if name in FEATURES]


@pytest.mark.parametrize("feature", FEATURES)
def test_core_and_one_feature_start_without_the_others(environment, wheel, tmp_path, feature):
    """A feature has no programs, so an unpacked wheel is as good as an installed one."""
    features = [*required_features(feature), feature]
    for name in features:
        ZipFile(wheel(name)).extractall(tmp_path)
    core = environment("modhub")
    words = [str(tmp_path), " ".join(["modhub", *FEATURES]), str(core.write_ini(*features)), "/healthz", "/api/modhub"]
    output = core.python(UNPACKED + SERVE, *words)
    installed, *_, health, api = output.splitlines()
    assert set(installed.split()) == {"modhub", *features}
    assert (health, api) == ("200", "200")


def test_a_feature_that_is_not_installed_is_reported_in_a_sentence(environment):
    alone = environment("modhub")
    output = alone.python(SERVE, str(alone.write_ini(FEATURES[0])), code=1)
    assert FEATURES[0] in output
    assert "Traceback" not in output


@pytest.mark.parametrize("program", PROGRAMS)
def test_client_runs_where_nothing_else_is_installed(environment, program):
    alone = environment("clients")
    (alone.packages / "third-party.pth").unlink(missing_ok=True)
    assert "ModuleNotFoundError" in alone.python("import modhub", code=1)
    assert alone.run(str(alone.bin / program), "--help").startswith(f"usage: {program} ")


def test_publishing_client_is_one_file_of_a_release(tmp_path):
    build_program = runpy.run_path(str(ROOT / "tools" / "build_release.py"))["build_program"]
    program = [sys.executable, "-I", "-S", str(build_program(ROOT / "clients", tmp_path / "work", tmp_path))]
    schema = subprocess.run([*program, "schema"], capture_output=True, text=True, check=True)
    assert '"guid"' in schema.stdout
    assert subprocess.run([*program, "key"], capture_output=True, check=False, env={}).returncode == 2
