"""A file with malware beside sixteen others, sent to two processes at once."""

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from modhub_moderation.scanning.clamd import EICAR
from modhub_testing.clamd import RULE, FakeClamd
from tests.races import patiently_at_once

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
        sent = zip(mods, contents, strict=True)
        calls = [partial(own.send_file, mod, "code", content, version=str(turn)) for mod, content in sent]
        answers = patiently_at_once(calls)
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
