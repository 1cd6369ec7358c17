"""The fingerprint of a publisher."""

import pytest

from modhub_testing import TEST_SECRET
from modhub_wiki.read_service import WikiReader

pytestmark = pytest.mark.slow

KEY = {"X-Api-Key": "wiki-key"}


def test_the_fingerprint_is_of_key_and_secret(start):
    authors = []
    for secret in (TEST_SECRET, TEST_SECRET, "another secret of more than 32 characters"):
        site = start("modhub_wiki", ApiPrivateKeys="wiki-key Modhub:wiki", modhub__secret=secret)
        site.put("/Modhub/api/wiki/a", b"# A", headers=KEY, status=201)
        authors.append(WikiReader(site.databases.raw_queries).recent()[0].author)
    assert authors[0] == authors[1] != authors[2]
