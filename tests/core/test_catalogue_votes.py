"""Votes of several accounts."""

import pytest

from modhub_testing.mods import mod_address, published_mod

pytestmark = pytest.mark.slow


def vote(site, mod, account, value, status=200):
    return site.as_account(account).put_json(mod_address(mod, "vote"), {"value": value}, status=status).json


@pytest.mark.postgres
def test_one_vote_an_account_and_zero_withdraws(site):
    # C-VOTE-1, C-VOTE-2
    mod = published_mod(site)
    steps = [(8, 1, 1, 0), (8, 1, 1, 0), (9, -1, 1, 1), (8, -1, 0, 2), (9, 0, 0, 1), (8, 1, 1, 0)]
    for account, value, ups, downs in steps:
        assert vote(site, mod, account, value) == {"ups": ups, "downs": downs, "value": value}
        assert site.get(mod_address(mod, "vote")).json == {"ups": ups, "downs": downs}
        assert site.as_account(account).get(mod_address(mod, "vote")).json == {
            "ups": ups,
            "downs": downs,
            "value": value,
        }
    assert site.as_account(10).get(mod_address(mod, "vote")).json == {"ups": 1, "downs": 0, "value": 0}
