"""The lock files: complete, hashed, without an index, and installable on Debian 12's Python 3.11.2."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PARTS = [*(path.parent for path in sorted(ROOT.glob("modhub*/pyproject.toml"))), ROOT / "clients"]
LOCKS = ("run", "test")
"""Those whose packages are installed beside the suite's."""
ALL_LOCKS = tuple(path.stem for path in sorted((ROOT / "requirements").glob("*.in")))
DEBIAN_12 = default_environment() | {"python_version": "3.11", "python_full_version": "3.11.2", "sys_platform": "linux"}


def locked(name):
    """Return each requirement of a lock with its hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(" --hash=") for line in text.splitlines()]
    return [(Requirement(line[0]), [entry.strip() for entry in line[1:]]) for line in lines]


def versions(name, environment=DEBIAN_12):
    chosen = {}
    for line, _ in locked(name):
        if line.marker is None or line.marker.evaluate(environment):
            chosen.setdefault(canonicalize_name(line.name), []).append(str(line.specifier).removeprefix("=="))
    return chosen


@pytest.mark.parametrize("name", [f"{lock}.{kind}" for lock in ALL_LOCKS for kind in ("in", "txt")])
def test_files_name_no_index_and_no_place(name):
    text = (ROOT / "requirements" / name).read_text("utf-8")
    assert re.findall(r"https?:|file:|--(?:extra-)?index|--find-links|(?:^|\s)/\S+", text) == []


@pytest.mark.parametrize("folder", ["tests/api/typescript", "tools/judge_pages"])
def test_locks_for_node_have_digests_and_name_no_registry(folder):
    packages = json.loads((ROOT / folder / "package-lock.json").read_text("utf-8"))["packages"]
    listed = {name: package for name, package in packages.items() if name}
    assert [name for name, package in listed.items() if "resolved" in package or "integrity" not in package] == []
    versions = [*packages[""]["dependencies"].values(), *(package["version"] for package in listed.values())]
    assert [
        version for version in versions if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.-]+)?", version)
    ] == []


def declared(parts):
    projects = [tomllib.loads((part / "pyproject.toml").read_text("utf-8"))["project"] for part in parts]
    lines = [line for project in projects for line in project["dependencies"]]
    for project in projects:
        lines += project.get("optional-dependencies", {}).get("postgres", [])
    own = {canonicalize_name(part.name) for part in PARTS}
    return [entry for entry in map(Requirement, lines) if canonicalize_name(entry.name) not in own]


@pytest.mark.parametrize("name", LOCKS)
def test_lock_satisfies_what_the_parts_declare(name):
    chosen = versions(name)
    parts = [part for part in PARTS if part.name != "modhub_testing" or name == "test"]
    unmet = [
        str(entry)
        for entry in declared(parts)
        if not any(entry.specifier.contains(version) for version in chosen.get(canonicalize_name(entry.name), []))
    ]
    assert unmet == [], "run `make lock`"
