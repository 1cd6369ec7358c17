"""docs/dependencies.md has every dependency, and nothing else, with its licence and who needs it."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
LOCKS = ROOT / "requirements"
KIT = "modhub_testing"


def rows(heading: str) -> dict[str, list[str]]:
    part = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[0] for row in cells] == sorted({row[0] for row in cells}), "sorted, each once"
    return {row[0]: row[1:] for row in cells}


def locked(name: str) -> dict[str, set[str]]:
    """The packages of a lock file, each with those that need it; ours are ``modhub``."""
    needed: dict[str, set[str]] = {}
    package = ""
    for line in (LOCKS / f"{name}.txt").read_text("utf-8").splitlines():
        if start := re.match(r"([\w.-]+)==", line):
            package = canonicalize_name(start[1])
            needed[package] = set()
        elif (via := re.match(r"    #(?: via|  ) (\S.*)", line)) and package:
            needed[package].add("modhub" if " " in via[1] else canonicalize_name(via[1]))
    return needed


def declared(*manifests: Path) -> set[str]:
    """The names that parts of modhub require, with their extras."""
    projects = [tomllib.loads(path.read_text("utf-8"))["project"] for path in manifests]
    lines = [line for project in projects for line in project["dependencies"]]
    lines += [
        line for project in projects for extra in project.get("optional-dependencies", {}).values() for line in extra
    ]
    return {name for line in lines if not (name := canonicalize_name(Requirement(line).name)).startswith("modhub")}


RUN = locked("run")
MANIFESTS = [path for pattern in ("modhub*", "clients/*") for path in ROOT.glob(f"{pattern}/pyproject.toml")]
DIRECT = declared(*(path for path in MANIFESTS if path.parent.name != KIT)) | {"setuptools"}


def named(lock: str) -> set[str]:
    """What a ``.in`` file asks for."""
    lines = (LOCKS / f"{lock}.in").read_text("utf-8").splitlines()
    return {canonicalize_name(Requirement(line).name) for line in lines if re.match(r"\w", line)}


def test_what_modhub_needs_is_what_its_parts_declare() -> None:
    table = rows("What modhub needs")
    assert table.keys() == DIRECT
    assert [name for name, cells in table.items() if len(cells) != 4 or not all(cells)] == []


def test_what_these_need_is_the_rest_of_the_lock_file() -> None:
    table = rows("What these need")
    assert table.keys() == RUN.keys() - DIRECT, "run `make lock`, then mend docs/dependencies.md"
    assert {name: set(by.split(", ")) for name, (_, by) in table.items()} == {name: RUN[name] for name in table}


def test_what_developers_need_is_what_the_other_lock_files_are_for() -> None:
    asked = {name: {path.stem} for path in LOCKS.glob("*.in") if path.stem != "run" for name in named(path.stem)}
    asked |= {name: {"test"} for name in declared(ROOT / KIT / "pyproject.toml") - RUN.keys()}
    table = rows("What only developers need")
    assert {name: {cells[1]} for name, cells in table.items()} == asked
    assert [name for name, cells in table.items() if len(cells) != 4 or not all(cells)] == []


FAMILIES = ("Repoze", "MPL", "Unlicense", "GPL", "MIT", "Apache", "BSD", "ZPL", "Zope")


def family(text: str) -> str:
    """What a licence is called in all its spellings; empty if none is named."""
    return next((name for name in FAMILIES if name in text), "").replace("Zope", "ZPL")


def test_licences_are_those_that_the_packages_name() -> None:
    differing, compared = {}, 0
    for heading in ("What modhub needs", "What these need", "What only developers need"):
        for name, (licence, *_) in rows(heading).items():
            try:
                own = metadata(name)
            except PackageNotFoundError:  # for another system or Python, or in an environment of its own
                continue
            loose = " ".join(
                [own["License"] or "", *(line for line in own.get_all("Classifier", []) if "License" in line)]
            )
            exact = own["License-Expression"]
            if exact != licence if exact else family(loose) not in {"", family(licence)}:
                differing[name] = (licence, exact or loose)
            compared += bool(exact or family(loose))
    assert differing == {}
    assert compared > 50
