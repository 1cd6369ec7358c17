"""What a start does not import."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.one_database]

START = """
import sys
from modhub.db import Databases
Databases(sys.argv[1])
from zope.sqlalchemy import datamanager
print("psycopg" in sys.modules, len(datamanager._retryable_errors))
"""


@pytest.mark.parametrize(
    ("url", "printed"), [("sqlite:////nowhere/x", "False 0"), ("postgresql+psycopg:///x", "True 1")]
)
def test_psycopg_is_imported_for_postgresql_alone(tmp_path: Path, url: str, printed: str) -> None:
    """With PostgreSQL its errors are retried; without, it would only cost 9 MB."""
    command = [sys.executable, "-W", "ignore", "-c", START, url]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=100, check=False)
    assert done.stdout.split("\n")[0] == printed, done.stderr
