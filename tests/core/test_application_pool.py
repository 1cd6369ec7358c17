"""Applications shared by tests: nothing of one test is left for the next."""

from pathlib import Path

import pytest

from modhub.db import Databases
from modhub_testing import TEST_ACCOUNTS, Site, stored_files
from modhub_testing.application_pool import ApplicationPool, MemoryState, PooledApplication
from modhub_testing.databases import TemplateDatabases
from modhub_testing.mods import published_mod


@pytest.fixture
def pool(template_databases: TemplateDatabases, tmp_path: Path) -> ApplicationPool:
    return ApplicationPool(template_databases, tmp_path / "applications")


def lend(pool: ApplicationPool, dialect: str, *, fresh: bool = False, **settings: str):
    return pool.application(dialect, TEST_ACCOUNTS, settings, fresh=fresh)


def site_of(application: PooledApplication) -> Site:
    return Site(application.config, application.wsgi)


def test_the_next_test_gets_the_same_application_without_data(pool: ApplicationPool, dialect: str) -> None:
    with lend(pool, dialect) as first:
        site = site_of(first)
        published_mod(site)
        assert site.get("/api/modhub").json["total"] == 1
        assert stored_files(site)
        reader = site.registry[Databases]
        site.registry[Databases] = None
        site.registry.settings["modhub.base_url"] = "http://elsewhere.example"
    with lend(pool, dialect) as second:
        assert second is first
        site = site_of(second)
        assert site.registry[Databases] is reader
        assert site.registry.settings["modhub.base_url"] != "http://elsewhere.example"
        assert site.get("/api/modhub").json["total"] == 0
        assert stored_files(site) == []
        assert published_mod(site)["id"] == 1


@pytest.mark.one_database
def test_two_at_once_and_other_settings_are_other_applications(
    pool: ApplicationPool, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lend(pool, dialect) as first, lend(pool, dialect) as second:
        published_mod(site_of(first))
        assert site_of(second).get("/api/modhub").json["total"] == 0
    with lend(pool, dialect, **{"modhub.base_url": "https://mods.example.org"}) as third:
        assert third not in (first, second)
    with lend(pool, dialect, fresh=True) as fourth:
        assert fourth not in (first, second, third)
    assert not fourth.folder.exists()
    monkeypatch.setenv("MODHUB_LOCK_SECONDS", "60")
    with lend(pool, dialect) as fifth:
        assert fifth not in (first, second, third)
        assert fifth.config.registry.settings["modhub.lock_seconds"] == 60


def test_a_companion_is_lent_again_with_its_application(pool: ApplicationPool, dialect: str) -> None:
    companions = []
    for _ in range(2):
        with lend(pool, dialect) as first:
            with pool.companion(first.url, first.folder, TEST_ACCOUNTS, {}, fresh=False) as companion:
                assert site_of(companion).get("/api/modhub").json["total"] == 0
                mod = published_mod(site_of(first))
                assert site_of(companion).get(f"/api/modhub/{mod['id']}").json["guid"] == mod["guid"]
                companions.append(companion)
            with pool.companion(first.url, first.folder, TEST_ACCOUNTS, {}, fresh=True) as other:
                assert other not in companions
    assert companions[0] is companions[1]


class Cache:
    """Stands for a class of modhub with something in memory."""

    __slots__ = ("entries", "moment")

    def __init__(self) -> None:
        self.entries: dict[str, list[int]] = {"old": [1]}
        self.moment: int | None = None


Cache.__module__ = "modhub.example"


def test_memory_is_put_back() -> None:
    cache, seen = Cache(), []

    def view() -> Cache:
        seen.append(1)
        return cache

    entries = cache.entries
    state = MemoryState(view)
    view()
    cache.moment = 7
    cache.entries["old"].append(2)
    cache.entries["new"] = []
    state.restore()
    assert (seen, cache.moment, cache.entries) == ([], None, {"old": [1]})
    cache.entries = {}
    state.restore()
    assert cache.entries is entries
