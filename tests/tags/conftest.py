"""The core with accounts and the feature, on a fresh database of each kind."""

import pytest

from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import OWNER, mod_address

FEATURES = f"{TEST_ACCOUNTS} modhub_tags"
SHIPPED = ["accessibility", "chat", "cosmetic", "hud", "language", "library", "map", "timer", "tool", "tracker"]


@pytest.fixture
def site(start):
    return start(FEATURES)


def tag(site, mod, *names, owner=OWNER, status=200):
    """Give a mod these tags, as its owner does."""
    return site.as_account(owner).put_json(mod_address(mod, "tags"), {"tags": names}, status=status).json


def tags_of(site, mod):
    """The tags of a mod that everybody reads."""
    return site.get(mod_address(mod, "tags")).json["tags"]
