"""The audit trail of a real service with two processes: complete, sealed without a hand, and checked by command."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from modhub_testing.service import Installation

pytestmark = [pytest.mark.long, pytest.mark.postgres]

SEAL_PATIENCE = 120.0


@pytest.fixture(scope="module")
def service(services: Any, kind: str) -> Installation:
    made: Installation = services(kind, 2, includes="modhub_auth modhub_metrics")
    return made


def wait_until_sealed(service: Installation) -> None:
    deadline = time.monotonic() + SEAL_PATIENCE
    while service.rows("SELECT 1 FROM core_audit_entry WHERE number IS NULL LIMIT 1"):
        assert time.monotonic() < deadline, service.log()
        time.sleep(0.2)


def test_two_processes_record_and_seal(service: Installation) -> None:
    # C-AUD-1, C-AUD-2, C-AUD-3, C-RUN-11
    owners = [service.register(name) for name in ("ada", "grace", "emmy")]

    def work(number: int) -> None:
        owners[number % 3].need(201, "POST", "/api/modhub", {"title": f"Mod {number}"})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(30)))
    assert service.admin("account", "delete", "ada@example.org", "--yes").returncode == 0
    wait_until_sealed(service)
    actions = [row[0] for row in service.rows("SELECT action FROM core_audit_entry ORDER BY number")]
    assert actions.count("registered") == actions.count("signed in") == 3
    assert actions.count("mod created") == 30
    assert actions[-2:] == ["account deleted", "mods deleted with their account"]
    assert {row[0] for row in service.rows("SELECT DISTINCT account_id FROM core_audit_personal")} == {2, 3, None}
    verified = service.admin("audit", "verify", "--json")
    assert (verified.returncode, json.loads(verified.stdout)["problems"]) == (0, [])
    for process in service.processes:
        metrics = service.caller().ask("GET", "/metrics", port=process.port)
        assert metrics.status == 200
    with closing(service.connect()) as connection:
        connection.execute("UPDATE core_audit_entry SET target_id = '999' WHERE number = 10")
    tampered = service.admin("audit", "verify")
    assert (tampered.returncode, "Entry 10 was changed or moved." in tampered.stdout) == (1, True)
    assert "Traceback" not in service.log()
