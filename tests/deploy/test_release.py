"""Steps of docs/contributing.md that nothing else runs."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.utils import canonicalize_name

from modhub_testing.commands import find_program

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "tools" / "build_release.py"
# Fourteen wheels are built, and fifty are installed.
pytestmark = pytest.mark.timeout(1000)
VERSION = tomllib.loads((ROOT / "modhub" / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def build(*words):
    return subprocess.run([sys.executable, BUILD, *words], capture_output=True, text=True, check=False, timeout=900)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "clone"
    subprocess.run([find_program("git"), "clone", "--quiet", ROOT, folder], check=True, timeout=100)
    return folder


@pytest.fixture(scope="module")
def release(clone):
    """The folder that ``make release`` fills."""
    target = clone.parent / "dist"
    made = build("--repository", clone, "--into", target)
    assert made.returncode == 0, made.stdout + made.stderr
    return target


def test_a_release_has_every_wheel_with_its_digest(release):
    # C-SEC-3
    parts = [*(path.parent.name for path in ROOT.glob("modhub*/pyproject.toml")), "modhub_client"]
    wheels = {f"{part}-{VERSION}-py3-none-any.whl" for part in parts} | {f"modhub-{VERSION}+suite-py3-none-any.whl"}
    assert {path.name for path in release.iterdir()} == wheels | {
        f"modhub-{VERSION}.cdx.json",
        "modhub-publish.pyz",
        "SHA256SUMS",
    }
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout.count(b": OK\n")) == (0, len(wheels) + 2), checked


def locked():
    text = (ROOT / "requirements" / "run.txt").read_text("utf-8")
    for name, version, marker in re.findall(r"(?m)^([\w.-]+)==(\S+)(?: ; (.*?))? \\$", text):
        if not marker or Marker(marker).evaluate():
            yield canonicalize_name(name), version


def test_the_sbom_lists_what_is_installed_with_licences_and_who_needs_it(release):
    # C-SEC-3
    sbom = json.loads((release / f"modhub-{VERSION}.cdx.json").read_text("utf-8"))
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    subject = sbom["metadata"]["component"]
    assert (subject["type"], subject["name"], subject["version"]) == ("application", "modhub", f"{VERSION}+suite")
    listed = {(canonicalize_name(entry["name"]), entry["version"]) for entry in sbom["components"]}
    assert listed == set(locked())
    assert [entry["name"] for entry in sbom["components"] if not entry.get("licenses")] == []
    names = {entry["bom-ref"]: canonicalize_name(entry["name"]) for entry in (*sbom["components"], subject)}
    needs = {names[entry["ref"]]: {names[ref] for ref in entry.get("dependsOn", ())} for entry in sbom["dependencies"]}
    assert {"pyramid", "bleach", "argon2-cffi"} <= needs["modhub"]
    assert "webencodings" in needs["bleach"]


def test_a_release_is_never_made_of_uncommitted_files_or_mixed_with_another(clone, release):
    # C-SEC-3
    mixed = build("--repository", clone, "--into", release)
    assert (mixed.returncode, "is not empty" in mixed.stderr) == (1, True)
    (clone / "notes.txt").write_text("not committed")
    uncommitted = build("--repository", clone, "--into", clone.parent / "other")
    assert (uncommitted.returncode, "made from a commit" in uncommitted.stderr) == (1, True)
    assert not (clone.parent / "other").exists()
