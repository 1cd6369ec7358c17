"""tools/mutants.py on a small source tree: a mutant that its test notices, and one that survives."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SOURCE = "def double(number: int) -> int:\n    return 2 * number\n"
TESTS = """
from product import double

def test_three():
    assert double(3) == 6

def test_two():
    assert double(2) == 4
"""
MUTANT = """
[of-{test}]
why = "A reason."
file = "product.py"
old = "2 * number"
new = "number * number"
test = "tests/test_product.py::test_{test}"
"""


def test_only_a_mutant_that_its_test_notices_is_killed(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    files = {
        "modhub/contract.md": "- **C-PRO-1** Twice is twice.\n",
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p modhub_testing"\n',
        "product.py": SOURCE,
        "tests/test_product.py": TESTS,
        "tests/mutants/product.toml": MUTANT.format(test="three") + MUTANT.format(test="two"),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    command = [sys.executable, "-W", "ignore", str(ROOT / "tools" / "mutants.py"), "--root", str(root)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    said = {line.partition(" (")[0]: line for line in ended.stdout.splitlines()}
    assert said["of-three"].endswith("killed: assert 9 == 6")
    assert said["of-two"].endswith("SURVIVED tests/test_product.py::test_two")
    assert (root / "product.py").read_text() == SOURCE, "mutants are made in copies"
