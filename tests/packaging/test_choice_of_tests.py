"""Which tests run where (docs/testing.md)."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PARTS = {"auth", "builds", "downloads", "following", "metrics", "sync", "wiki"}
CASES = """import pytest

def test_any(dialect): ...
@pytest.mark.postgres
def test_race(dialect): ...
@pytest.mark.parametrize("dialect", ["sqlite"])
def test_sqlite(dialect): ...
@pytest.mark.parametrize("dialect", ["postgresql"])
def test_postgresql(dialect): ...
def test_server(postgres): ...
def test_text(): ...
"""
SQLITE = {"test_any[sqlite]", "test_race[sqlite]", "test_sqlite[sqlite]", "test_text"}
POSTGRESQL = {"test_postgresql[postgresql]", "test_server"}


def run_pytest(folder: Path, *words: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "modhub_testing", *words]
    env = {name: value for name, value in os.environ.items() if name != "CI"} | environ
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=200, check=False)


def collected(folder: Path, *words: str) -> list[str]:
    lines = run_pytest(folder, "--collect-only", *words).stdout.splitlines()
    return [line for line in lines if "::" in line]


@pytest.mark.long
@pytest.mark.parametrize(
    ("databases", "tests"),
    [
        ("sqlite", SQLITE),
        ("marked", SQLITE | POSTGRESQL | {"test_race[postgresql]"}),
        ("all", SQLITE | POSTGRESQL | {"test_race[postgresql]", "test_any[postgresql]"}),
    ],
)
def test_one_marker_says_what_runs_on_postgresql_too(tmp_path: Path, databases: str, tests: set[str]) -> None:
    (tmp_path / "test_x.py").write_text(CASES)
    names = [line.rpartition("::")[2] for line in collected(tmp_path, "--databases", databases)]
    assert sorted(names) == sorted(tests)


@pytest.mark.long
def test_ci_runs_every_test_once(tmp_path: Path) -> None:
    """What the two parts of `make test-all` choose is together all, each once."""
    (tmp_path / "test_x.py").write_text(f"{CASES}@pytest.mark.process\ndef test_program(dialect): ...\n")
    makefile = (TESTS.parent / "Makefile").read_text("utf-8")
    parts = re.findall(r"^(?:MEASURED|REST) := (.+)$", makefile, re.MULTILINE)
    assert len(parts) == 2
    both = [name for part in parts for name in collected(tmp_path, *shlex.split(part))]
    assert sorted(both) == sorted(collected(tmp_path, "--databases", "all"))


@pytest.mark.long
def test_every_part_has_quick_tests() -> None:
    """A broken view, model or template of any feature is seen in the edit loop."""
    words = ["--databases", "sqlite", "-m", "not process and not slow", *(f"tests/{part}" for part in PARTS)]
    parts = Counter(name.split("/")[1] for name in collected(TESTS.parent, *words))
    assert {part for part in PARTS if parts[part] > 10} == PARTS


@pytest.mark.long
@pytest.mark.parametrize(
    ("folder", "environ", "code"), [("deploy", {"CI": "1"}, 1), ("deploy", {}, 0), ("functional", {"CI": "1"}, 0)]
)
def test_in_ci_what_a_test_of_deploy_lacks_is_a_failure(
    tmp_path: Path, folder: str, environ: dict[str, str], code: int
) -> None:
    shutil.copy(TESTS / "conftest.py", tmp_path)
    test = tmp_path / folder / "test_x.py"
    test.parent.mkdir()
    test.write_text("import pytest\n\ndef test_x():\n    pytest.skip('there is no nginx')\n")
    done = run_pytest(tmp_path, str(test), **environ)
    assert done.returncode == code, done.stdout + done.stderr
    assert "there is no nginx" in done.stdout or not code


@pytest.mark.long
@pytest.mark.parametrize(("unsteady", "failures", "code"), [(1, 1, 0), (3, 1, 0), (4, 1, 1), (1, 2, 1)])
def test_ci_tries_a_failed_test_once_more_and_says_so(tmp_path: Path, unsteady: int, failures: int, code: int) -> None:
    # ADR 051: three tests of a run at most, and none that fails twice.
    (tmp_path / "test_x.py").write_text(
        "import pytest\n\nruns = {}\n\n"
        f"@pytest.mark.parametrize('number', range({unsteady}))\n"
        "def test_x(number):\n"
        "    runs[number] = runs.get(number, 0) + 1\n"
        f"    assert runs[number] > {failures}, 'a first failure'\n"
    )
    makefile = (TESTS.parent / "Makefile").read_text("utf-8")
    (words,) = re.findall(r"^SECOND_TRY := \$\(if \$\(CI\),(.+)\)$", makefile, re.MULTILINE)
    assert re.search(r"^PYTEST := .*\$\(SECOND_TRY\)$", makefile, re.MULTILINE)
    done = run_pytest(tmp_path, *shlex.split(words), "-n", "2")
    assert done.returncode == code, done.stdout + done.stderr
    assert "a first failure" in done.stdout
    assert "rerun" in done.stdout
    assert run_pytest(tmp_path, "-n", "2").returncode == 1
