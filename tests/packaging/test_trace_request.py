"""tools/trace_request.py, as docs/contributing.md uses it."""

import subprocess
import sys
from pathlib import Path

import pytest

from modhub_testing.service import Installation

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traced")
    made = Installation(folder, f"sqlite:///{folder}/modhub.sqlite")
    assert made.admin("migrate").returncode == 0
    return made


def trace(installation, *arguments):
    command = [sys.executable, str(ROOT / "tools" / "trace_request.py"), str(installation.ini), *arguments]
    return subprocess.run(
        command, env=installation.environ, capture_output=True, text=True, timeout=200, check=False, cwd=ROOT
    )


def test_a_request_is_shown_with_its_context_view_and_statements(installation):
    ended = trace(installation, "/api/modhub?q=hud", "--header", "Accept: application/json", "--profile", "3")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("GET /api/modhub?q=hud -> 200 OK, ")
    assert "context  modhub.catalogue.resources.CatalogueResource, view name ''\n" in ended.stdout
    assert "view     modhub.catalogue.reading.views.list_mods_view (" in ended.stdout
    assert "sql      SELECT count(*)" in ended.stdout
    assert "function calls" in ended.stdout
