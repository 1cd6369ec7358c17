"""schemathesis drives a running service by its own description, with and without credentials (C-API-10)."""

import json
import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from modhub_testing.caller import Caller

from .conftest import ADDRESS_KEY, DRAFT, MACHINE_KEY, PROGRAMS

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
# Else a run would prove little: no token, no mod of the caller's own, or no link that is followed.
MUST_SUCCEED = {
    *("create_mod", "edit_mod", "upload_code", "upload_css", "upload_image", "publish_mod", "delete_mod"),
    *("read_account", "read_mod", "download_mod", "upload_build", "publish_wiki_page", "report_storage_address"),
}
# A key that people make on a page, one image of many, one of three votes: what is seldom met by chance.
SELDOM = 8


def drive(served, folder, token=""):
    """Run schemathesis with all credentials if there is a token, else with none; AssertionError for what it finds."""
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
    options = ["--no-color", "--continue-on-failure", f"{served.url}/api/openapi.json"]
    done = subprocess.run(
        [str(PROGRAMS / "schemathesis"), "--config-file", str(config), "run", *options],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr


def segment(name):
    """What a variable segment matches: only the path of a page has slashes."""
    return ".+" if "path" in name[0] else "[^/]+"


def answered(installation, description, since):
    """The statuses of each operation in the log of the service, which begins at ``since``."""
    operations = [
        (method.upper(), re.compile(SEGMENT.sub(segment, re.escape(path))), operation["operationId"])
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


def has_numbers(operation):
    """Whether only numbers vary in the address of a call, which are found without another call."""
    segments = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "path"]
    return all(segment["schema"]["type"] == "integer" for segment in segments)


@pytest.fixture
def description(served):
    return Caller([served.installation.processes[0].port]).need(200, "GET", "/api/openapi.json")


def test_every_answer_to_a_caller_with_credentials_is_as_described(served, description, tmp_path):
    # C-API-10
    since = len(served.installation.log())
    drive(served, tmp_path, token=served.token)
    statuses = answered(served.installation, description, since)
    succeeded = {name for name, seen in statuses.items() if min(seen) < 400}
    assert max(status for seen in statuses.values() for status in seen) < 500
    assert MUST_SUCCEED - succeeded == set()
    assert len(statuses.keys() - succeeded) <= SELDOM


def test_without_credentials_all_is_read_and_nothing_else_is_done(served, description, tmp_path):
    # C-API-10
    since = len(served.installation.log())
    drive(served, tmp_path)
    succeeded = {name for name, seen in answered(served.installation, description, since).items() if min(seen) < 400}
    operations = [
        (method, operation) for methods in description["paths"].values() for method, operation in methods.items()
    ]
    guarded = {operation["operationId"] for _, operation in operations if {} not in (operation["security"] or [{}])}
    reads = {operation["operationId"] for method, operation in operations if method == "get" and has_numbers(operation)}
    assert len(guarded) >= 30
    assert succeeded & guarded == set()
    assert reads - guarded - succeeded == set()
