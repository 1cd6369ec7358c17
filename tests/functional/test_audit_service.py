"""The audit trail of a real service with two processes: complete, and without what was erased."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from modhub_testing.service import Installation

pytestmark = [pytest.mark.long, pytest.mark.postgres]


@pytest.fixture(scope="module")
def service(services: Any, kind: str) -> Installation:
    made: Installation = services(kind, 2, includes="modhub_auth")
    return made


def test_two_processes_record(service: Installation) -> None:
    # C-AUD-1, C-AUD-3, C-AUD-5
    owners = [service.register(name) for name in ("ada", "grace", "emmy")]

    def work(number: int) -> None:
        owners[number % 3].need(201, "POST", "/api/modhub", {"title": f"Mod {number}"})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(30)))
    assert service.admin("account", "delete", "ada@example.org", "--yes").returncode == 0
    actions = [row[0] for row in service.rows("SELECT action FROM core_audit_entry ORDER BY id")]
    assert actions.count("registered") == actions.count("signed in") == 3
    assert actions.count("mod created") == 30
    assert set(actions[-2:]) == {"account deleted", "mods deleted with their account"}
    personal = "SELECT DISTINCT actor_kind, actor_id FROM core_audit_entry WHERE address IS NOT NULL"
    assert {tuple(row) for row in service.rows(personal)} == {("account", "2"), ("account", "3")}
    exported = service.admin("audit", "export").stdout.splitlines()
    assert [json.loads(line)["action"] for line in exported] == actions
    assert "Traceback" not in service.log()
