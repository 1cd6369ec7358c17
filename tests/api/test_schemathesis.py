"""schemathesis drives a running service by its own description, with and without credentials (C-API-10)."""

import json
import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from modhub_testing.caller import Caller
from modhub_testing.service import Installation

from .conftest import ADDRESS_KEY, DRAFT, MACHINE_KEY, PROGRAMS, Served

HERE = Path(__file__).parent
CREDENTIALS = """
[[operations]]
include-operation-id = "delete_mod"
# Else the mod that the other calls are about is deleted early. Sequences of calls delete those that they have created.
phases.coverage.enabled = false
phases.fuzzing.enabled = false

[auth.openapi.account]
bearer = "${MODHUB_TOKEN}"
[auth.openapi.machine]
api_key = "${MODHUB_MACHINE_KEY}"
[auth.openapi.address]
api_key = "${MODHUB_ADDRESS_KEY}"
"""
REQUEST = re.compile(r"modhub\.requests (\{.*\})$", re.MULTILINE)
SEGMENT = re.compile(r"\\\{[^}]*\\\}")
# It needs a key that people make on a page.
NEVER_SUCCEEDS = {"exchange_publisher_key"}


def drive(served: Served, folder: Path, *options: str, token: str = "") -> str:
    """Run schemathesis and return what it says; AssertionError if it has found anything."""
    config = folder / "schemathesis.toml"
    config.write_text((HERE / "schemathesis.toml").read_text("utf-8") + (CREDENTIALS if token else ""), "utf-8")
    environ = {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SCHEMATHESIS_HOOKS": "hooks",
        "MODHUB_DRAFT": DRAFT,
        "MODHUB_TOKEN": token,
        "MODHUB_MACHINE_KEY": MACHINE_KEY,
        "MODHUB_ADDRESS_KEY": ADDRESS_KEY,
    }
    command = [str(PROGRAMS / "schemathesis"), "--config-file", str(config), "run", *options]
    done = subprocess.run(
        [*command, "--no-color", "--continue-on-failure", f"{served.url}/api/openapi.json"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr
    return done.stdout


def answered(installation: Installation, description: dict, since: int) -> dict[str, set[int]]:
    """The statuses of each operation in the log of the service, which begins at ``since``."""
    operations = [
        (method.upper(), re.compile(SEGMENT.sub(".+", re.escape(path))), operation["operationId"])
        for path, methods in sorted(description["paths"].items(), key=lambda item: item[0].count("{"))
        for method, operation in methods.items()
    ]
    statuses = defaultdict(set)
    for line in REQUEST.findall(installation.log()[since:]):
        request = json.loads(line)
        for method, pattern, name in operations:
            if method == request["method"] and pattern.fullmatch(request["path"]):
                statuses[name].add(request["status"])
                break
    return statuses


@pytest.fixture
def description(served: Served) -> dict:
    return Caller([served.installation.processes[0].port]).need(200, "GET", "/api/openapi.json")


def test_every_answer_to_a_caller_with_credentials_is_as_described(served: Served, description, tmp_path: Path):
    # C-API-10
    since = len(served.installation.log())
    drive(served, tmp_path, token=served.token)
    statuses = answered(served.installation, description, since)
    failed = {name for name, seen in statuses.items() if min(seen) >= 400}
    assert max(status for seen in statuses.values() for status in seen) < 500
    assert failed == NEVER_SUCCEEDS


def test_without_credentials_all_is_read_and_nothing_else_is_done(served: Served, description, tmp_path: Path):
    # C-API-10
    since = len(served.installation.log())
    drive(served, tmp_path, "--phases", "coverage,fuzzing")
    statuses = answered(served.installation, description, since)
    guarded = {
        operation["operationId"]
        for methods in description["paths"].values()
        for operation in methods.values()
        if operation["security"] not in ([], [{}, {"account": []}])
    }
    assert len(guarded) >= 30
    assert {name: seen for name, seen in statuses.items() if name in guarded and min(seen) < 400} == {}
