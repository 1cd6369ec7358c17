"""Migrations: they make what the models say, once, and a service whose database is behind does not start."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import inspect, select, text

import modhub
from modhub import admin, migrate
from modhub.catalogue import moderation, public
from modhub.catalogue.models import Mod
from modhub.db import Base
from modhub.testing import SECRET, Site
from modhub.testing.mods import address, new_mod, published_mod, upload
from modhub.testing.postgres import PostgresServer

GUID = "11111111-2222-4333-8444-555555555555"
ABSENT = "ABCDEF01-2345-6789-ABCD-EF0123456789"


@pytest.fixture
def empty(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """The address of a database without a table."""
    if dialect == "sqlite":
        yield f"sqlite:///{tmp_path}/empty.sqlite"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.database() as url:
        yield url


@pytest.fixture
def configured(empty: str) -> Any:
    registry: Any = modhub.configure({"sqlalchemy.url": empty, "modhub.secret": SECRET}).registry
    yield registry
    registry.databases.dispose()


def test_models_and_migrations_agree(configured: Any) -> None:
    assert migrate.upgrade(configured.databases, configured.migrations) == ["modhub"]
    for package in configured.migrations:
        assert migrate.differences(configured.databases, package) == []
    assert migrate.behind(configured.databases, configured.migrations) == []
    assert migrate.upgrade(configured.databases, configured.migrations) == []


def test_a_difference_is_found(configured: Any) -> None:
    migrate.upgrade(configured.databases, configured.migrations)
    with configured.databases.writer.begin() as connection:
        connection.execute(text("ALTER TABLE core_mod ADD COLUMN surplus INTEGER"))
        connection.execute(text("DROP TABLE core_vote"))
    found = str(migrate.differences(configured.databases, configured.migrations[0]))
    assert "surplus" in found
    assert "core_vote" in found


def test_down_and_up_again(configured: Any) -> None:
    migrate.upgrade(configured.databases, configured.migrations)
    package = configured.migrations[0]
    with configured.databases.writer.begin() as connection:
        command.downgrade(migrate._config(package, connection), "base")
    left = set(inspect(configured.databases.reader).get_table_names())
    assert {name for name in left if not name.endswith("alembic_version") and not name.startswith("sqlite_")} == set()
    assert migrate.upgrade(configured.databases, configured.migrations) == ["modhub"]
    assert migrate.differences(configured.databases, package) == []


def test_mods_that_are_there_are_not_hidden_by_an_upgrade(configured: Any) -> None:
    package = configured.migrations[0]
    row = {"guid": GUID, "owner": 7, "title": "Old", "description": "", "version": "1", "published": True}
    row |= {"ups": 3, "downs": 1, "created_at": 1, "updated_at": 2, "games": "[]", "requires": "[]", "conflicts": "[]"}
    with configured.databases.writer.begin() as connection:
        command.upgrade(migrate._config(package, connection), "core_0003")
        holes = ", ".join(f":{name}" for name in row)
        connection.execute(text(f"INSERT INTO core_mod ({', '.join(row)}) VALUES ({holes})"), row)
    assert migrate.upgrade(configured.databases, configured.migrations) == ["modhub"]
    assert public.rebuild(configured.databases.writing.begin) == 1
    with configured.databases.writing.begin() as session:
        (mod,) = session.scalars(select(Mod))
        assert (mod.title, mod.ups, mod.hidden_at, mod.hidden_reason) == ("Old", 3, None, None)
        moderation.hide(session, mod, "x")
    with configured.databases.writer.begin() as connection:
        command.downgrade(migrate._config(package, connection), "core_0003")
    migrate.upgrade(configured.databases, configured.migrations)
    with configured.databases.reading() as session:
        assert session.execute(select(Mod.title, Mod.hidden_at)).one() == ("Old", None)


def test_a_failing_migration_leaves_nothing_half_done(configured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = command.upgrade

    def upgrade_then_fail(*arguments: Any) -> None:
        real(*arguments)
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(command, "upgrade", upgrade_then_fail)
        with pytest.raises(RuntimeError):
            migrate.upgrade(configured.databases, configured.migrations)
    assert "core_mod" not in inspect(configured.databases.reader).get_table_names()
    assert migrate.upgrade(configured.databases, configured.migrations) == ["modhub"]


def test_a_service_whose_database_is_behind_says_so_and_ends(empty: str) -> None:
    with pytest.raises(SystemExit) as end:
        modhub.main({}, **{"sqlalchemy.url": empty, "modhub.secret": SECRET})
    line = str(end.value.code)
    assert line == "modhub does not start: the database is behind (modhub); run: modhub-admin -c YOUR.ini migrate."


def test_a_database_that_cannot_be_reached_is_one_line_too(dialect: str, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/no/folder/x.sqlite"
    if dialect == "postgresql":
        address = "postgresql+psycopg://u:hunter2@/x?host=/nonexistent&port=5432"
    with pytest.raises(SystemExit) as end:
        modhub.main({}, **{"sqlalchemy.url": address, "modhub.secret": SECRET})
    assert "database cannot be reached" in str(end.value.code)
    assert "hunter2" not in str(end.value.code)
    assert "\n" not in str(end.value.code)


def test_the_command_migrates_and_says_so(
    empty: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "set_up_logging", lambda _ini: None)
    ini = tmp_path / "x.ini"
    ini.write_text(f"[app:main]\nuse = egg:modhub\nsqlalchemy.url = {empty}\nmodhub.secret = {SECRET}\n", "utf-8")
    for said in ("Migrated: modhub.\n", "The database is up to date.\n"):
        assert admin.main(["-c", str(ini), "migrate"]) == 0
        assert capsys.readouterr().out == said


def test_what_was_published_before_gets_its_links(site: Site) -> None:
    """The public copies are those that this version would make; stored lists of GUIDs stay as they are."""
    mods = [published_mod(site, requires=[ABSENT.lower()]) for _ in range(2)]
    upload(site, mods[0], "css", b"p {}", content_type="text/css")
    draft = new_mod(site)
    upload(site, draft, "code", version="1")
    before = [site.get(address(mod)) for mod in mods]
    package = site.registry.migrations[0]
    with site.registry.databases.writer.begin() as connection:
        command.downgrade(migrate._config(package, connection), "core_0003")
    assert migrate.upgrade(site.registry.databases, site.registry.migrations) == ["modhub"]
    for mod, answer in zip(mods, before, strict=True):
        again = site.get(address(mod))
        assert (again.body, again.headers["Link"]) == (answer.body, answer.headers["Link"])
        assert again.json["requires"] == [ABSENT.lower()]
    assert before[0].headers["Link"].count("kind=") == 2
    with site.registry.databases.writing() as session:
        assert list(public.damage(session)) == []


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_every_table_of_the_core_has_its_prefix_and_numbers_its_rows_for_ever(site: Site) -> None:
    tables = [table for name, table in Base.metadata.tables.items() if name.startswith("core_")]
    assert len(tables) >= 12
    with site.registry.databases.reader.connect() as connection:
        for table in tables:
            made = connection.scalar(text("SELECT sql FROM sqlite_master WHERE name = :name"), {"name": table.name})
            key = list(table.primary_key.columns)
            numbered = len(key) == 1 and key[0].name == "id" and key[0].autoincrement is not False
            assert ("AUTOINCREMENT" in str(made)) is numbered, table.name


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_the_trigram_index_needs_no_vacuum(site: Site) -> None:
    """Else searches read the whole table until one has run; an index that the server cannot have is no fault."""
    wanted = text("SELECT reloptions FROM pg_class WHERE relname = 'fts_core_text_trigram'")
    offered = text("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")
    with site.registry.databases.reader.connect() as connection:
        options = connection.scalars(wanted).all()
        assert options == [["fastupdate=off"]] * bool(connection.scalar(offered))
