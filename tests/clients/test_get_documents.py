"""The examples of docs/clients.md run against the real service."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import new_mod, publish_test_mod, published_mod, upload_asset
from modhub_testing.running_server import served

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "clients.md").read_text("utf-8")
PYTHON = (ROOT / "docs" / "examples" / "client.py").read_text("utf-8")
SERVICE = "https://mods.example.org"
GUID = "6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90"
CONTENT = b"a file of some length " * 1000


@pytest.fixture
def published(start):
    """The address of a service, and a mod with something that it requires."""
    site = start(f"{TEST_ACCOUNTS} modhub_sync")
    required = published_mod(site)
    mod = new_mod(site, title="Rally", requires=[required["guid"]])
    upload_asset(site, mod, "code", CONTENT, name="rally.zip", version="1.0")
    with served(site.app) as url:
        yield url, publish_test_mod(site, mod)


def here(example, published):
    """An example for this service and this mod."""
    return example.replace(SERVICE, published[0]).replace(GUID, published[1]["guid"])


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, (command[-1], done.stdout, done.stderr)
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_examples_for_curl(published, tmp_path):
    blocks = re.findall(r"^```sh\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    shown = [run(tmp_path, "bash", "-euo", "pipefail", "-c", here(block, published)) for block in blocks]
    assert len(shown) > 5
    assert published[1]["guid"] in shown[0]
    assert (tmp_path / "mod.part").read_bytes() == CONTENT
    assert '"changed":[{' in shown[4]


def test_the_examples_for_python(published, tmp_path):
    ends = f"\nassert known[{published[1]['guid']!r}] == {published[1]['id']}\nassert len(known) == 2\n"
    (tmp_path / f"{published[1]['guid']}.part").write_bytes(CONTENT[:100])
    run(tmp_path, sys.executable, "-c", here(PYTHON, published) + ends)
    assert (tmp_path / f"{published[1]['guid']}.mod").read_bytes() == CONTENT
    assert len(list(tmp_path.glob("*.mod"))) == 2
    assert not list(tmp_path.glob("*.part"))


def test_the_python_example_refuses_other_addresses(published, tmp_path):
    url = "//elsewhere.example/x"
    calls = f"\nassert address_of('/Modhub/file/1') == SERVICE + '/Modhub/file/1'\naddress_of({url!r})\n"
    code = here(PYTHON, published) + calls
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == f"Not an address of this service: {url}\n"


def test_the_commands_of_modhub_get(published, tmp_path):
    lines = re.findall(r"^    modhub-get (.*)$", TEXT, re.MULTILINE)
    assert len(lines) == 10
    command = str(Path(sys.executable).parent / "modhub-get")
    for line in lines:
        words = line.replace(SERVICE, published[0]).replace(GUID, published[1]["guid"]).split()
        run(tmp_path, command, *words)
    kept = tmp_path / "elsewhere" / published[1]["guid"] / "rally.zip"
    assert kept.read_bytes() == CONTENT
    assert sorted(path.name for path in (tmp_path / "mods").iterdir()) == [".modhub-get"]
