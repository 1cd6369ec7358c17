"""tools/mutants.py on a small source tree: mutants that are noticed, survive, hang, or cannot be made."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SOURCE = "def double(number: int) -> int:\n    return 2 * number\n"
TESTS = """
import pytest
from product import double

def test_double():
    assert double(3) == 6

def test_nothing():
    assert double(2) == 4

@pytest.fixture
def doubled():
    return double(3) // 6 * [6][double(3) - 6]

def test_fixture(doubled):
    assert doubled == 6
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "tests" / "mutants").mkdir(parents=True)
    (root / "modhub").mkdir()
    (root / "modhub" / "contract.md").write_text("- **C-PRO-1** Twice is twice.\n")
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-p modhub_testing"\n')
    (root / "product.py").write_text(SOURCE)
    (root / "part").mkdir()
    (root / "part" / "moved.py").write_text("moved = 1\n")
    (root / "tests" / "test_product.py").write_text(TESTS)
    return root


def table(
    root: Path, name: str, *, old: str = "2 * number", new: str, test: str = "test_double", verify: str = ""
) -> None:
    lines = [
        f"[{name}]",
        'why = "A reason."',
        'file = "product.py"',
        f'old = "{old}"',
        f'new = "{new}"',
        f'test = "tests/test_product.py::{test}"',
        f'verify = "{verify}"',
    ]
    with (root / "tests" / "mutants" / "product.toml").open("a") as file:
        file.write("\n".join(lines) + "\n")


def run(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    ended = tool("mutants.py", "--root", str(root), *words)
    assert (root / "product.py").read_text() == SOURCE, "mutants are made in copies"
    return ended


def tool(name: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "ignore", str(ROOT / "tools" / name), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)


def test_only_a_mutant_that_its_test_notices_is_killed(tree: Path) -> None:
    table(tree, "triple", new="3 * number")
    table(tree, "square", new="number * number", test="test_nothing")
    table(tree, "broken-fixture", new="3 * number", test="test_fixture")
    ended = run(tree)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    said = {line.partition(" (")[0]: line for line in ended.stdout.splitlines()}
    assert said["triple"].endswith("killed: assert 9 == 6")
    assert said["square"].endswith("SURVIVED tests/test_product.py::test_nothing")
    assert "NOT TRIED" in said["broken-fixture"]
    assert ended.stdout.splitlines()[-1].startswith("1 of 3 mutants killed")
