"""An unreachable database: the service and every command report which, where and why, without the password."""

import traceback

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

import modhub
from modhub.admin.migrate import refuse_when_behind, upgrade_or_refuse
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.db import Databases, database_errors
from modhub.plugins.declarations import Declarations
from modhub_testing import TEST_SECRET

PASSWORD = "hunter2"


def start_error(url):
    """The error of the start; `migrate` reports the same."""
    with pytest.raises(SystemExit) as end:
        modhub.main({}, **{"sqlalchemy.url": url, "modhub.secret": TEST_SECRET})
    sentence = str(end.value.code).removeprefix("modhub does not start: ")
    registry = modhub.configure({"sqlalchemy.url": url, "modhub.secret": TEST_SECRET}).registry
    for ask in (refuse_when_behind, upgrade_or_refuse):
        with pytest.raises(StartRefused) as refusal:
            ask(find_service(registry, Databases), find_service(registry, Declarations).migrations)
        # The time that PostgreSQL needs to say no differs, the sentence does not.
        assert f"{refusal.value}." == sentence
    assert "\n" not in sentence
    assert PASSWORD not in sentence
    return sentence


def test_a_missing_file_and_one_that_is_not_a_database(tmp_path):
    (tmp_path / "folder").mkdir()
    sentence = start_error(f"sqlite:///{tmp_path}/folder")
    assert sentence == f"the database cannot be reached (file {tmp_path}/folder): unable to open database file."
    (tmp_path / "text").write_text("this is no database, however long it may be" * 100)
    assert start_error(f"sqlite:///{tmp_path}/text") == "the database cannot be used: file is not a database."


def test_a_password_that_the_driver_repeats_is_not_shown():
    url = make_url(f"postgresql+psycopg://u:{PASSWORD}@h/d")
    assert database_errors.driver_reason(ValueError(f"bad: {PASSWORD}.\nmore"), url) == "bad: ***"
    assert database_errors.driver_reason(ValueError(), url) == "ValueError"


@pytest.mark.postgres
def test_errors_show_no_values(site):
    """They are logged, with the statement: what it writes may be an address or the hash of a password."""
    statement = text("SELECT nothing FROM core_mod WHERE title = :title")
    for engine in (site.databases.write_engine, site.databases.readonly_engine, site.databases.best_effort_engine):
        with engine.connect() as connection, pytest.raises(DBAPIError) as raised:
            connection.execute(statement, {"title": PASSWORD})
        shown = "".join(traceback.format_exception(raised.value))
        assert "SELECT nothing" in shown
        assert PASSWORD not in shown


@pytest.mark.parametrize("name", ["psycopg", None], ids=["no psycopg", "psycopg without its library"])
def test_a_missing_driver_is_named_with_the_extra_that_brings_it(monkeypatch, name):
    def absent(*_, **__):
        raise ModuleNotFoundError(name=name) if name else ImportError("no pq wrapper available")

    monkeypatch.setattr("modhub.db.create_engine", absent)
    with pytest.raises(StartRefused, match=r"needs the Python package psycopg.*\[postgres\]"):
        Databases("postgresql+psycopg://x/y")
