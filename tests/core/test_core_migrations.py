"""Migrations match the models and run once; a service whose database is behind does not start."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from alembic import command
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text

import modhub
from modhub.admin import program as admin
from modhub.base.service_registry import find_service
from modhub.db import Base, Databases
from modhub.declarations import Declarations, Migrations
from modhub.ops import migrate
from modhub.ops.revisions import current_revisions, known_revisions, newest_revisions
from modhub_testing import TEST_SECRET, Site
from modhub_testing.postgres import PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


@pytest.fixture
def empty(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """The address of a database without a table."""
    if dialect == "sqlite":
        yield f"sqlite:///{tmp_path}/empty.sqlite"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.database() as url:
        yield url


class Configured(NamedTuple):
    """A configuration over the empty database."""

    databases: Databases
    migrations: list[Migrations]


@pytest.fixture
def configured(empty: str) -> Iterator[Configured]:
    registry = modhub.configure({"sqlalchemy.url": empty, "modhub.secret": TEST_SECRET}).registry
    databases = find_service(registry, Databases)
    yield Configured(databases, find_service(registry, Declarations).migrations)
    databases.dispose()


def test_models_and_migrations_agree(configured: Configured) -> None:
    assert migrate.upgrade(configured.databases, configured.migrations) == ["modhub"]
    for package in configured.migrations:
        assert migrate.schema_differences(configured.databases, package) == []
    assert migrate.behind(configured.databases, configured.migrations) == []
    assert migrate.upgrade(configured.databases, configured.migrations) == []


def test_a_difference_is_found(configured: Configured) -> None:
    migrate.upgrade(configured.databases, configured.migrations)
    with configured.databases.write_engine.begin() as connection:
        connection.execute(text("ALTER TABLE core_mod ADD COLUMN surplus INTEGER"))
        connection.execute(text("DROP TABLE core_vote"))
    differences = str(migrate.schema_differences(configured.databases, configured.migrations[0]))
    assert "surplus" in differences
    assert "core_vote" in differences


def test_a_failing_migration_leaves_nothing_half_done(configured: Configured, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = command.upgrade

    def upgrade_then_fail(*arguments: Any) -> None:
        real(*arguments)
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(command, "upgrade", upgrade_then_fail)
        with pytest.raises(RuntimeError):
            migrate.upgrade(configured.databases, configured.migrations)
    assert "core_mod" not in inspect(configured.databases.readonly_engine).get_table_names()
    assert migrate.upgrade(configured.databases, configured.migrations) == ["modhub"]


def test_a_service_whose_database_is_behind_says_so_and_ends(empty: str) -> None:
    # C-RUN-3
    with pytest.raises(SystemExit) as end:
        modhub.main({}, **{"sqlalchemy.url": empty, "modhub.secret": TEST_SECRET})
    line = str(end.value.code)
    assert line == "modhub does not start: the database is behind (modhub); run: modhub-admin -c YOUR.ini migrate."


@pytest.fixture
def command_line(
    empty: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """``command_line("migrate")`` over the empty database: the exit code and the output."""
    monkeypatch.setattr(admin, "set_up_logging", lambda _ini: None)
    ini = tmp_path / "x.ini"
    ini.write_text(f"[app:main]\nuse = egg:modhub\nsqlalchemy.url = {empty}\nmodhub.secret = {TEST_SECRET}\n", "utf-8")

    def run(*words: str) -> tuple[int, str]:
        code = admin.admin_main(["-c", str(ini), *words])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run


def test_the_command_migrates_and_says_so(command_line: Callable[..., tuple[int, str]]) -> None:
    # C-RUN-2, C-RUN-4
    for output in ("Migrated: modhub.\n", "The database is up to date.\n"):
        assert command_line("migrate") == (0, output)


@pytest.mark.parametrize(
    "older", [False, pytest.param(True, marks=pytest.mark.long)], ids=["alone", "beside one that is known"]
)
def test_a_newer_schema_is_called_newer(
    command_line: Callable[..., tuple[int, str]], configured: Configured, empty: str, older: bool
) -> None:
    # C-RUN-3, T-F11
    migrate.upgrade(configured.databases, configured.migrations)
    change = "INSERT INTO modhub_alembic_version VALUES ('core_9999')"
    if not older:
        change = "UPDATE modhub_alembic_version SET version_num = 'core_9999'"
    with configured.databases.write_engine.begin() as connection:
        connection.execute(text(change))
        tables = set(inspect(connection).get_table_names())
    sentence = "the database is newer than this code (modhub); install the newer version of modhub.\n"
    for words in (["migrate"], ["verify"], ["game", "list"], ["game", "add", "Portal"], ["sweep"], ["rebuild"]):
        assert command_line(*words) == (1, f"modhub-admin: {sentence}"), words
    assert command_line("key", "new")[0] == 0
    with pytest.raises(SystemExit) as end:
        modhub.main({}, **{"sqlalchemy.url": empty, "modhub.secret": TEST_SECRET})
    assert str(end.value.code) + "\n" == f"modhub does not start: {sentence}"
    assert set(inspect(configured.databases.readonly_engine).get_table_names()) == tables


def test_a_migration_that_fails_says_why_and_not_to_migrate(
    command_line: Callable[..., tuple[int, str]], configured: Configured
) -> None:
    with configured.databases.write_engine.begin() as connection:
        connection.execute(text("CREATE TABLE core_mod (id INTEGER)"))
    code, output = command_line("migrate")
    assert code == 1
    assert output.startswith("modhub-admin: migrating failed and changed nothing: ")
    assert "core_mod" in output
    assert "already exists" in output
    assert "run: modhub-admin" not in output
    assert output.count("\n") == 1
    assert "core_blob" not in inspect(configured.databases.readonly_engine).get_table_names()


def test_a_migration_that_raises_is_one_line_too(
    command_line: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("no such column\nand more")

    monkeypatch.setattr(command, "upgrade", fail)
    code, output = command_line("migrate")
    assert code == 1
    assert output.startswith("modhub-admin: migrating failed and changed nothing: KeyError: 'no such column")
    assert output.count("\n") == 1


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_a_missing_right_to_create_tables_is_reported(
    command_line: Callable[..., tuple[int, str]], configured: Configured, tmp_path: Path, empty: str
) -> None:
    """From PostgreSQL 15 on, only the owner of a database may create tables in it."""
    with configured.databases.write_engine.begin() as connection:
        connection.execute(text("DROP ROLE IF EXISTS mod_reader"))
        connection.execute(text("CREATE ROLE mod_reader LOGIN"))
        connection.execute(text("REVOKE CREATE ON SCHEMA public FROM PUBLIC"))
    ini = tmp_path / "x.ini"
    ini.write_text(ini.read_text("utf-8").replace("postgres@", "mod_reader@"), "utf-8")
    code, output = command_line("migrate")
    assert (code, output.count("\n")) == (1, 1)
    assert output.endswith("migrating failed and changed nothing: permission denied for schema public.\n")


def test_a_concurrent_migration_is_reported(
    command_line: Callable[..., tuple[int, str]],
    configured: Configured,
    dialect: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MODHUB_LOCK_SECONDS", "1")
    with configured.databases.write_engine.begin() as connection:
        if dialect == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({migrate.ADVISORY_LOCK})"))
        code, output = command_line("migrate")
    assert (code, output.count("\n")) == (1, 1)
    assert "the database cannot be written right now, nothing was migrated" in output


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_every_table_of_the_core_has_its_prefix_and_never_reuses_ids(site: Site) -> None:
    # C-MOD-2, T-B5
    tables = [table for name, table in Base.metadata.tables.items() if name.startswith("core_")]
    assert len(tables) >= 12
    with site.databases.readonly_engine.connect() as connection:
        for table in tables:
            made = connection.scalar(text("SELECT sql FROM sqlite_master WHERE name = :name"), {"name": table.name})
            key = list(table.primary_key.columns)
            numbered = len(key) == 1 and key[0].name == "id" and key[0].autoincrement is not False
            assert ("AUTOINCREMENT" in str(made)) is numbered, table.name


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_the_trigram_index_needs_no_vacuum(site: Site) -> None:
    """Else searches read the whole table until one has run; an index that the server cannot have is no fault."""
    index_options = text("SELECT reloptions FROM pg_class WHERE relname = 'fts_core_text_trigram'")
    offered = text("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")
    with site.databases.readonly_engine.connect() as connection:
        options = connection.scalars(index_options).all()
        assert options == [["fastupdate=off"]] * bool(connection.scalar(offered))


@pytest.mark.parametrize("includes", ["modhub_auth modhub_builds modhub_wiki"])
def test_revisions_are_those_that_alembic_knows(start: Any, includes: str) -> None:
    site = start(includes)
    for package in site.declarations.migrations:
        scripts = migrate.revision_scripts(package)
        known = {script.revision: script for script in scripts.walk_revisions()}
        assert known_revisions(package).keys() == known.keys()
        assert newest_revisions(package) == tuple(scripts.get_heads())
        with site.databases.readonly_engine.connect() as connection:
            current = MigrationContext.configure(connection, opts={"version_table": package.version_table})
            assert current_revisions(connection, package) == current.get_current_heads() == newest_revisions(package)


def test_every_way_to_write_a_revision_is_read(tmp_path: Path) -> None:
    (tmp_path / "versions").mkdir()
    for name, source in {
        "a": 'revision = "a"\ndown_revision = None',
        "b": 'revision: str = "b"\ndown_revision: str | None = "a"\nother = f()',
        "c": "revision = 'c'\ndown_revision = 'a'\nrevision_of = 1\nempty: int",
        "d": 'revision = "d"\ndown_revision = ("b", "c")',
        "e": 'revision = "e"\ndown_revision = "b"\ncompatible_with = "a"',
        "helper": "x = 1",
    }.items():
        (tmp_path / "versions" / f"{name}.py").write_text(source)
    package = Migrations("x", str(tmp_path), "x_")
    known = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("b",)}
    assert {revision: said.parents for revision, said in known_revisions(package).items()} == known
    assert [revision for revision, said in known_revisions(package).items() if said.compatible_with == "a"] == ["e"]
    assert newest_revisions(package) == ("d", "e")
