"""A disk that fills under a process: seen before uploads fail, and nothing else does.

A locked database: tests/core/test_core_busy.py.
"""

import pytest

from modhub_testing.disks import fill_disk, small_disk
from modhub_testing.service import PASSWORD

# No database is on that disk.
pytestmark = [pytest.mark.long, pytest.mark.parametrize("kind", ["sqlite"], scope="module", indirect=True)]

MB = 1024 * 1024


def test_a_store_that_is_nearly_full_is_seen_before_and_when_uploads_fail(services, kind):
    # C-RUN-28, T-D12, T-F2
    service = services(kind, 0, includes="modhub_auth modhub_metrics", schema="modhub_auth")
    with small_disk(service.files, "24m"):
        service.start()
        own = service.register("nearly")
        mod = own.published("Nearly full", bytes(MB))
        fill_disk(service.files / "something else", 100 * 1024)
        ready = own.need(200, "GET", "/readyz")
        assert 0 < ready["freeBytes"]["storage"] <= 100 * 1024
        metrics = own.ask("GET", "/metrics").body.decode()
        assert f'modhub_free_bytes{{folder="storage"}} {ready["freeBytes"]["storage"]}' in metrics
        assert "modhub_alarms_total 0" in metrics
        assert "storage: the disk of the storage folder has 0 MB free" in service.admin("doctor").stdout
        assert "ALARM" not in service.log()
        before, path = service.stored(), f"/api/modhub/{mod['id']}"
        for _ in range(2):
            answer = own.send_file(mod["id"], "code", bytes(300 * 1024), version="2")
            assert (answer.status, answer.json["error"]) == (502, "storage_refused"), answer
        assert service.stored() == before
        assert own.need(200, "GET", path)["version"] == "1"
        assert own.ask("GET", f"{path}/download").status == 200
        own.need(200, "PUT", path, {"title": "Still here"})
        own.need(200, "POST", "/api/auth/login", {"email": "nearly@example.org", "password": PASSWORD})
        assert "ALARM: writing to the file store failed: No space left on device" in service.log()
        assert "modhub_alarms_total 2" in own.ask("GET", "/metrics").body.decode()
        (service.files / "something else").unlink()
        assert own.send_file(mod["id"], "code", bytes(300 * 1024), version="2").status == 201
        assert service.stop() == [0]
