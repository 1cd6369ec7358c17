"""Large uploads over real sockets: their limit, memory, files left on disk, and the end of a process."""

import os
import time
from functools import partial

import pytest

from tests.races import patiently_at_once

pytestmark = [pytest.mark.long, pytest.mark.parametrize("kind", ["sqlite"], scope="module", indirect=True)]

MB = 1024 * 1024
LIMIT = 64 * MB
# An upload to an object store holds a few pieces of 5 MB besides (`make test-machines LONG=1`).
MEMORY_CEILING = (512 if "MODHUB_TEST_OBJECT_STORE" in os.environ else 300) * MB


@pytest.fixture(scope="module")
def own(service):
    return service.register("sizes")


def wait_empty_spool(service):
    """The bodies that a request spooled are gone (the server lets go of them right after the answer)."""
    deadline = time.monotonic() + 60
    while list(service.spool.iterdir()):
        assert time.monotonic() < deadline, list(service.spool.iterdir())
        time.sleep(0.02)


def pieces(size):
    """A body that is sent chunked."""
    for start in range(0, size, MB):
        yield bytes(min(MB, size - start))


@pytest.mark.parametrize("chunked", [False, True])
def test_64_mb_are_taken_and_one_byte_more_is_not(service, own, chunked):
    # C-UP-11, T-D3
    mod = own.new_mod("Large")
    exact = pieces(LIMIT) if chunked else bytes(LIMIT)
    answer = own.send_file(mod["id"], "code", exact, version="1")
    assert answer.status == 201
    assert answer.json["assets"][0]["bytes"] == LIMIT
    before = service.stored()
    over = pieces(LIMIT + 1) if chunked else bytes(LIMIT + 1)
    refused = own.send_file(mod["id"], "code", over, version="2")
    assert (refused.status, refused.json["error"], refused.json["limitBytes"]) == (413, "too_large", LIMIT)
    assert service.stored() == before
    wait_empty_spool(service)
    [same] = [listed for listed in own.need(200, "GET", "/api/modhub/mine")["mods"] if listed["id"] == mod["id"]]
    assert (same["version"], same["assets"][0]["bytes"]) == ("1", LIMIT)
    own.need(204, "DELETE", f"/api/modhub/{mod['id']}")


def test_sixteen_uploads_of_64_mb_at_once_are_all_taken_in_bounded_memory(service, own):
    mods = [own.new_mod(f"Heavy {number}")["id"] for number in range(16)]
    body = bytes(LIMIT)
    sends = [partial(own.send_file, mod_id, "code", body, version="1") for mod_id in mods]
    answers = patiently_at_once([*sends, partial(service.caller().ask, "GET", "/api/modhub")])
    assert [answer.status for answer in answers] == [201] * 16 + [200]
    assert max(process.memory() for process in service.processes) < MEMORY_CEILING
    for mod_id in mods:
        own.need(204, "DELETE", f"/api/modhub/{mod_id}")
    service.admin("sweep", "--older-than", "0")
    wait_empty_spool(service)
