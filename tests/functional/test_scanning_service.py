"""A file with malware beside sixteen others, sent to two processes at once."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from modhub_moderation.scanning.probe import EICAR
from modhub_testing.caller import Caller, CallerResponse, patiently
from modhub_testing.clamd import RULE, FakeClamd

pytestmark = [pytest.mark.long, pytest.mark.postgres]

OTHERS = 16
TURNS = 3


@pytest.fixture(scope="module")
def clamd() -> Iterator[FakeClamd]:
    with FakeClamd(EICAR) as clamd:
        yield clamd


def test_malware_is_refused_beside_sixteen_other_uploads(services: Any, kind: str, clamd: FakeClamd) -> None:
    # C-SCN-1, C-SCN-2
    settings = {"modhub_moderation.scanner": clamd.url}
    service = services(kind, 2, includes="modhub_auth modhub_moderation", settings=settings)
    own = service.register("sender")
    mods = [own.new_mod(f"Mod {number}")["id"] for number in range(OTHERS + 1)]
    for turn in range(TURNS):
        contents = [random.Random(turn * 100 + number).randbytes(700_000) for number in range(OTHERS)]
        contents.insert(turn * 7, contents[0][:400_000] + EICAR + contents[0][400_000:])
        answers = at_once(own, mods, contents, str(turn))
        assert [answer.status == 201 for answer in answers] == [EICAR not in content for content in contents]
        refused = answers[turn * 7]
        assert (refused.status, refused.json["error"]) == (400, "rejected_by_scan")
        for mod, answer, content in zip(mods, answers, contents, strict=True):
            if answer.status == 201:
                own.need(200, "POST", f"/api/modhub/{mod}/publish")
                assert own.ask("GET", f"/api/modhub/{mod}/download").body == content
        assert service.stored() == service.named()
    assert service.rows("SELECT rule FROM moderation_scan_hit") == [(RULE,)] * TURNS
    assert RULE in service.log()
    assert "Traceback" not in service.log()


def at_once(own: Caller, mods: list[int], contents: list[bytes], version: str) -> list[CallerResponse]:
    barrier = threading.Barrier(len(mods))

    def send(mod: int, content: bytes) -> CallerResponse:
        barrier.wait()
        return patiently(lambda: own.send_file(mod, "code", content, version=version))

    with ThreadPoolExecutor(len(mods)) as pool:
        return list(pool.map(send, mods, contents))
