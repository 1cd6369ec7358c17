"""Calls of one account at two processes on one database."""

from collections import Counter
from functools import partial

import pytest

from tests.races import patiently_at_once

pytestmark = [pytest.mark.long, pytest.mark.postgres]

CALLS = 16


@pytest.fixture(scope="module")
def service(services, kind):
    settings = {
        "modhub_moderation.quota_mods": str(CALLS + 4),
        "modhub_moderation.quota_uploads": str(CALLS // 2),
        "modhub.lock_seconds": "60",
    }
    return services(kind, 2, includes="modhub_auth modhub_moderation", settings=settings)


def outcomes(answers):
    """How many answers of each status and code there are."""
    return Counter((answer.status, answer.json.get("error")) for answer in answers)


def test_calls_at_two_processes_never_pass_a_quota(service):
    # C-QUO-2, C-QUO-4, C-QUO-1
    own = service.register("eager")
    mods = [own.new_mod(f"Mod {number}")["id"] for number in range(CALLS)]
    created = patiently_at_once([partial(own.ask, "POST", "/api/modhub", {"title": "One more"})] * CALLS)
    assert outcomes(created) == {(201, None): 4, (403, "quota"): CALLS - 4}
    assert own.need(200, "GET", "/api/modhub/mine")["count"] == CALLS + 4
    sent = patiently_at_once([partial(own.send_file, mod, "code", b"code", version="1") for mod in mods])
    assert outcomes(sent) == {(201, None): CALLS // 2, (429, "quota"): CALLS // 2}
    stored = [mod for mod in own.need(200, "GET", "/api/modhub/mine")["mods"] if mod["assets"]]
    assert len(stored) == CALLS // 2
    assert service.stored() == service.named()
