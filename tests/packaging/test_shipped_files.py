"""Each file in ``deploy/`` is proved by a test that reads or installs it, in a run that CI makes (docs/testing.md)."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `deploy/([^`]+)` \| (.+) \| `make (test-\w+)` \|", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
FOLDERS = {"test-debian": "debian", "test-deploy": "deploy"}


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall((ROOT / "docs" / "testing.md").read_text("utf-8"))


def names_in(module: Path) -> set[str]:
    """The names of files, and their patterns, in a test and in what it uses."""
    texts = [path.read_text("utf-8") for path in (module, module.with_name("conftest.py"))]
    if module.parent.name == "debian":
        document = (ROOT / "docs" / "operations.md").read_text("utf-8")
        texts.append("\n".join(re.findall(r"^```sh\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)))
    return set(re.findall(r"[\w@*-]+(?:\.\w+)?", "\n".join(texts)))


def is_named(file: str, names: set[str]) -> bool:
    return any(name == file or ("*." in name and fnmatch(file, name)) for name in names)


def test_every_shipped_file_is_proved() -> None:
    shipped = {str(path.relative_to(ROOT / "deploy")) for path in (ROOT / "deploy").rglob("*") if path.is_file()}
    assert {file for file, _, _ in rows()} == shipped


@pytest.mark.parametrize(("file", "proofs", "target"), rows())
def test_a_proof_exists_and_reads_or_installs_the_file(file: str, proofs: str, target: str) -> None:
    named = TEST.findall(proofs)
    assert named
    for name, function in named:
        module = ROOT / name
        assert module.parent.name == FOLDERS[target]
        assert re.search(rf"^def {function}\(", module.read_text("utf-8"), re.MULTILINE), f"{name} has no {function}"
        assert is_named(file, names_in(module)), f"{name} neither reads nor installs {file}"


def test_ci_makes_these_runs() -> None:
    (command,) = re.findall(r"^make (.+)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    targets = {"lint", "coverage", "test-rest", "test-browser", *(target for _, _, target in rows())}
    assert targets <= set(command.split())
