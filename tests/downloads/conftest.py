"""The core with accounts and the feature, on a fresh database of each kind."""

import pytest

from modhub_downloads.counting import DownloadWriter
from modhub_downloads.read_service import count_versions
from modhub_testing import TEST_ACCOUNTS

FEATURES = f"{TEST_ACCOUNTS} modhub_downloads"


@pytest.fixture
def site(start):
    return start(FEATURES)


@pytest.fixture
def counts(site):
    """Writes what waits, and returns the downloads of a mod by version."""

    def read(mod):
        site.find_service(DownloadWriter).write_all()
        assert len(site.find_service(DownloadWriter).counter) == 0
        counts = count_versions(site.databases.raw_queries, mod["id"])
        return {count.version: count.downloads for count in counts}

    return read
