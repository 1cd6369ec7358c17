"""No SQL leaves state in a session of PostgreSQL: behind a pooler the next transaction of anybody would meet it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = re.compile(
    r"""
    (^|;) \s* ( (UN)?LISTEN\b | SET\s+(?!LOCAL\b) | RESET\s | PREPARE\s | DEALLOCATE\s | DISCARD\s | LOAD\s )
    | \b WITH\s+HOLD \b | \b TEMP(ORARY)?\s+(TABLE|VIEW|SEQUENCE) \b
    | \b pg_(try_)?advisory_(un)?lock(_shared|_all)? \b
    | \b set_config \s* \( [^)]* \b false \b
    """,
    re.VERBOSE,
)
OF_SQLALCHEMY = re.compile(r"pg_(try_)?advisory_(un)?lock(_shared|_all)?")


def session_states(source: str) -> Iterator[str]:
    """The SQL of ``source`` that outlives its transaction; documentation strings are none."""
    tree = ast.parse(source)
    prose = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        sql = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (prose | parts):
            sql = node.value
        elif isinstance(node, ast.JoinedStr):
            sql = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Attribute) and OF_SQLALCHEMY.fullmatch(node.attr):
            yield node.attr
        if WORDS.search(sql):
            yield sql


def test_no_sql_outlives_its_transaction() -> None:
    # C-RUN-52
    files_with_state = {
        str(path.relative_to(ROOT)): states
        for path in sorted(ROOT.glob("modhub*/**/*.py"))
        if path.parts[len(ROOT.parts)] != "modhub_testing" and (states := list(session_states(path.read_text("utf-8"))))
    }
    assert files_with_state == {}


@pytest.mark.parametrize(
    "source",
    [
        'run("LISTEN changes")',
        'run("SET lock_timeout = 1")',
        'run("SELECT 1; SET TimeZone = 1")',
        'run(f"SET {name} = 1")',
        'run("SELECT pg_advisory_lock(1)")',
        "run(func.pg_try_advisory_lock(1))",
        'run(f"SELECT set_config({name}, {value}, false)")',
        'run("CREATE TEMPORARY TABLE t (id int)")',
        'run("DECLARE c CURSOR WITH HOLD FOR SELECT 1")',
        'run("PREPARE p AS SELECT 1")',
    ],
)
def test_what_would_outlive_it_is_found(source: str) -> None:
    assert len(list(session_states(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""SET is a word of SQL."""',
        'run("SET LOCAL work_mem = 1")',
        'run(f"SELECT set_config({name}, {value}, true)")',
        'run("UPDATE t SET a = 1")',
        "run(func.pg_advisory_xact_lock(1))",
    ],
)
def test_what_ends_with_it_is_not(source: str) -> None:
    assert list(session_states(source)) == []
