"""The core with accounts and the feature, on a fresh database of each kind."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import insert

from modhub_downloads.counting import DownloadWriter
from modhub_downloads.models import DailyDownloads, day_of
from modhub_downloads.read_service import count_versions
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import mod_address
from tests.people import write

FEATURES = f"{TEST_ACCOUNTS} modhub_downloads"


@pytest.fixture
def site(start):
    return start(FEATURES)


@pytest.fixture
def writer(site):
    return site.find_service(DownloadWriter)


@pytest.fixture
def counts(site, writer):
    """Writes what waits, and returns the downloads of a mod by version."""

    def read(mod):
        writer.write_all()
        assert len(writer.counter) == 0
        counts = count_versions(site.databases.raw_queries, mod["id"])
        return {count.version: count.downloads for count in counts}

    return read


def count(site, mod_id, *rows, version="1"):
    """Rows of (days ago, downloads)."""
    today = day_of(datetime.now(UTC))
    write(site, insert(DailyDownloads).values([(mod_id, version, today - ago, number) for ago, number in rows]))


def total(site, mod):
    """The downloads of a mod that everybody reads."""
    return site.get(mod_address(mod, "downloads")).json["total"]
