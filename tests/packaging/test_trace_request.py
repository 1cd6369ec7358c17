"""tools/trace_request.py, as docs/contributing.md uses it."""

import subprocess
import sys
from pathlib import Path

import pytest

from modhub_testing.service import Installation

pytestmark = pytest.mark.long

TOOL = str(Path(__file__).parents[2] / "tools" / "trace_request.py")


def test_a_request_is_shown_with_its_context_view_and_statements(tmp_path):
    installation = Installation(tmp_path, f"sqlite:///{tmp_path}/modhub.sqlite")
    installation.admin("migrate")
    command = [sys.executable, TOOL, str(installation.ini), "/api/modhub?q=hud", "--profile", "3"]
    shown = subprocess.run(command, env=installation.environ, capture_output=True, text=True, timeout=200, check=True)
    assert shown.stdout.startswith("GET /api/modhub?q=hud -> 200 OK, ")
    assert "context  modhub.catalogue.resources.CatalogueResource, view name ''\n" in shown.stdout
    assert "view     modhub.catalogue.reading.views.list_mods_view (" in shown.stdout
    assert "sql      SELECT count(*)" in shown.stdout
    assert "function calls" in shown.stdout
