"""The core with accounts, builds and the feature, on a fresh database of each kind."""

import pytest

from modhub_testing import TEST_ACCOUNTS

FEATURES = f"{TEST_ACCOUNTS} modhub_builds modhub_sync"


@pytest.fixture
def site(start):
    return start(FEATURES, ApiPrivateKeys="agent")


def plan(site, *want, have=()):
    return site.post_json("/api/modhub/plan", {"want": list(want), "have": list(have)}, status=200).json
