"""Applications that tests share: nothing that a test has stored is there for the next."""

from pathlib import Path

import pytest

from modhub_testing import TEST_ACCOUNTS, Site, stored_files
from modhub_testing.applications import Application, Applications
from modhub_testing.databases import TemplateDatabases
from modhub_testing.mods import published_mod

pytestmark = pytest.mark.slow


@pytest.fixture
def applications(template_databases: TemplateDatabases, tmp_path: Path) -> Applications:
    folder = tmp_path / "applications"
    folder.mkdir()
    return Applications(template_databases, folder)


def site_of(application: Application) -> Site:
    return Site(application.config, application.wsgi)


@pytest.mark.postgres
def test_the_next_test_gets_the_same_application_without_data(applications: Applications, dialect: str) -> None:
    with applications.lend(dialect, TEST_ACCOUNTS, {}, fresh=False) as first:
        published_mod(site_of(first))
        assert site_of(first).get("/api/modhub").json["total"] == 1
        assert stored_files(site_of(first))
    with applications.lend(dialect, TEST_ACCOUNTS, {}, fresh=False) as second:
        assert second is first
        # The serial is that of the kept list: the feed tells them apart.
        assert published_mod(site_of(second), title="Another")["id"] == 1
        assert [mod["title"] for mod in site_of(second).get("/api/modhub").json["mods"]] == ["Another"]
        assert len(stored_files(site_of(second))) == 1


def test_two_at_once_and_other_settings_are_other_applications(
    applications: Applications, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lend(*, fresh: bool = False, **settings: str):
        return applications.lend(dialect, TEST_ACCOUNTS, settings, fresh=fresh)

    with lend() as first, lend() as second:
        published_mod(site_of(first))
        assert site_of(second).get("/api/modhub").json["total"] == 0
    with lend(**{"modhub.base_url": "https://mods.example.org"}) as third:
        assert third not in (first, second)
    with lend(fresh=True) as fourth:
        assert fourth not in (first, second, third)
    assert not fourth.folder.exists()
    monkeypatch.setenv("MODHUB_LOCK_SECONDS", "60")
    with lend() as fifth:
        assert fifth not in (first, second, third)
        assert fifth.config.registry.settings["modhub.lock_seconds"] == 60
