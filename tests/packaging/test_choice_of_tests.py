"""Which tests run where (docs/testing.md)."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PARTS = {"auth", "builds", "downloads", "following", "metrics", "sync", "wiki"}
REPEATED = next(line for line in (TESTS / "sqlite_only.txt").read_text("utf-8").split() if line.startswith("builds/"))
TABLE = "core/test_catalogue_edits.py::test_an_invalid_title_is_400_and_creates_nothing"
PG_TABLE = "core/test_catalogue_search.py::test_postgresql_reads_its_index_of_trigrams_only_for_words_that_have_one"
MARKED = "functional/accounts/test_account_secrets.py::test_no_secret_is_in_clear_after_a_whole_journey"
"""As ``postgres_in_ci``."""
CHOICE = [f"tests/{TABLE}", f"tests/{PG_TABLE}", "tests/builds", "tests/functional/accounts"]
"""One collection for several tests: it takes a second."""


@cache
def collect(*words: str, **environ: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *words]
    env = {name: value for name, value in os.environ.items() if name != "CI"} | environ
    done = subprocess.run(command, cwd=TESTS.parent, env=env, capture_output=True, text=True, timeout=200, check=False)
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.parametrize("measured", ["slow.txt", "sqlite_only.txt"])
def test_nearly_every_measured_test_exists(measured: str) -> None:
    """Else ``make test-times`` is due. A renamed test may be slow for a while."""
    lines = (TESTS / measured).read_text("utf-8").split()
    assert lines == sorted(set(lines))
    gone = []
    for line in lines:
        file, _, name = line.partition("::")
        source = TESTS / file
        if not source.is_file() or not re.search(rf"^def {name}\(", source.read_text("utf-8"), re.MULTILINE):
            gone.append(line)
    assert len(gone) < len(lines) / 20, gone


@pytest.mark.parametrize(("environ", "on_postgresql"), [({}, 2), ({"CI": "1"}, 10)])
def test_of_a_table_two_cases_run_on_postgresql_outside_ci(environ: dict[str, str], on_postgresql: int) -> None:
    cases = [case for case in collect(*CHOICE, **environ) if case.startswith(f"tests/{TABLE}[")]
    assert (len(cases), sum("[postgresql" in case for case in cases)) == (10 + on_postgresql, on_postgresql)


@pytest.mark.parametrize("environ", [{}, {"CI": "1"}])
def test_a_table_of_postgresql_alone_keeps_its_cases(environ: dict[str, str]) -> None:
    assert len([case for case in collect(*CHOICE, **environ) if case.startswith(f"tests/{PG_TABLE}[")]) == 5


@pytest.mark.parametrize("function", [REPEATED, MARKED])
@pytest.mark.parametrize(
    ("named", "environ", "on_postgresql"),
    [(False, {}, False), (False, {"CI": "1"}, True), (True, {}, True)],
    ids=["all", "CI", "named"],
)
def test_what_others_run_on_postgresql_is_repeated_there_in_ci_and_where_its_file_is_named(
    function: str, environ: dict[str, str], *, named: bool, on_postgresql: bool
) -> None:
    words = [f"tests/{function.partition('::')[0]}"] if named else CHOICE
    cases = [case for case in collect(*words, **environ) if case.startswith(f"tests/{function}[")]
    assert any("sqlite" in case for case in cases)
    assert any("postgresql" in case for case in cases) == on_postgresql


def test_every_part_has_quick_tests() -> None:
    """A broken view, model or template of any feature is seen in the edit loop."""
    quick = "not postgres and not process and not slow"
    parts = Counter(name.split("/")[1] for name in collect("-m", quick, *(f"tests/{part}" for part in PARTS)))
    assert {part for part in PARTS if parts[part] > 10} == PARTS


@pytest.mark.parametrize(
    ("folder", "environ", "code"), [("deploy", {"CI": "1"}, 1), ("deploy", {}, 0), ("functional", {"CI": "1"}, 0)]
)
def test_in_ci_what_a_test_of_deploy_lacks_is_a_failure(
    tmp_path: Path, folder: str, environ: dict[str, str], code: int
) -> None:
    for name in ("conftest.py", "slow.txt", "sqlite_only.txt"):
        shutil.copy(TESTS / name, tmp_path)
    test = tmp_path / folder / "test_x.py"
    test.parent.mkdir()
    test.write_text("import pytest\n\ndef test_x():\n    pytest.skip('there is no nginx')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "modhub_testing", str(test)]
    env = {name: value for name, value in os.environ.items() if name != "CI"} | environ
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "there is no nginx" in done.stdout or not code
