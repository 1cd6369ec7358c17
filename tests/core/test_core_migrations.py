"""Migrations match the models and run once; a service whose database is behind does not start."""

from pathlib import Path
from typing import NamedTuple

import pytest
from alembic import command
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

import modhub
from modhub.admin import migrate
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.db import Base, Databases
from modhub.plugins.declarations import Declarations, Migrations
from modhub_testing import TEST_SECRET
from modhub_testing.mods import published_mod

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


@pytest.fixture
def empty(dialect, tmp_path, request):
    """The address of a database without a table."""
    if dialect == "sqlite":
        yield f"sqlite:///{tmp_path}/empty.sqlite"
        return
    server = request.getfixturevalue("postgres")
    with server.database() as url:
        yield url


class Configured(NamedTuple):
    """A configuration over the empty database."""

    databases: Databases
    migrations: list[Migrations]


@pytest.fixture
def configured(empty):
    registry = modhub.configure({"sqlalchemy.url": empty, "modhub.secret": TEST_SECRET}).registry
    databases = find_service(registry, Databases)
    yield Configured(databases, find_service(registry, Declarations).migrations)
    databases.dispose()


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_table_that_is_copied_keeps_what_refers_to_it(configured):
    databases = configured.databases
    with databases.write_engine.begin() as connection:
        connection.execute(text("CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT)"))
        connection.execute(text("CREATE TABLE child (parent_id INTEGER REFERENCES parent (id) ON DELETE CASCADE)"))
        connection.execute(text("INSERT INTO parent VALUES (1, 'x')"))
        connection.execute(text("INSERT INTO child VALUES (1)"))
    with migrate.migration_lock(databases) as connection:
        operations = Operations(MigrationContext.configure(connection))
        with operations.batch_alter_table("parent", recreate="always") as batch:
            batch.alter_column("name", nullable=False)
    with databases.write_engine.begin() as connection:
        assert connection.scalar(text("SELECT count(*) FROM child")) == 1
        connection.execute(text("DELETE FROM parent"))  # and what cascades does so again
        assert connection.scalar(text("SELECT count(*) FROM child")) == 0


def test_a_failing_migration_leaves_nothing_half_done(configured, monkeypatch):
    real = command.upgrade

    def upgrade_then_fail(*arguments):
        real(*arguments)
        raise RuntimeError("power cut")

    monkeypatch.setattr(command, "upgrade", upgrade_then_fail)
    with pytest.raises(RuntimeError):
        migrate.upgrade(configured.databases, configured.migrations)
    assert "core_mod" not in inspect(configured.databases.readonly_engine).get_table_names()


@pytest.fixture
def command_line(empty, run_at):
    """``command_line("migrate")`` over the empty database: the exit code and the output."""
    return run_at(empty, "")


def test_the_command_migrates_and_says_so(command_line):
    # C-RUN-2, C-RUN-4
    assert command_line("migrate", "--dry-run") == (0, "Would migrate: modhub. Nothing was changed.\n")
    for output in ("Migrated: modhub.\n", "The database is up to date.\n"):
        assert command_line("migrate") == (0, output)


def test_a_migration_that_fails_says_why_and_not_to_migrate(command_line, configured):
    with configured.databases.write_engine.begin() as connection:
        connection.execute(text("CREATE TABLE core_mod (id INTEGER)"))
    code, output = command_line("migrate")
    assert code == 1
    assert output.startswith("modhub-admin: migrating failed and changed nothing: ")
    assert "core_mod" in output
    assert "already exists" in output
    assert "run: modhub-admin" not in output
    assert output.count("\n") == 1


def test_a_concurrent_migration_is_reported(command_line, configured, dialect, monkeypatch):
    monkeypatch.setenv("MODHUB_LOCK_SECONDS", "1")
    with configured.databases.write_engine.begin() as connection:
        if dialect == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({migrate.ADVISORY_LOCK})"))
        code, output = command_line("migrate")
    assert (code, output.count("\n")) == (1, 1)
    assert "the database cannot be written right now, nothing was migrated" in output


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_every_table_of_the_core_has_its_prefix_and_never_reuses_ids(site):
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
def test_the_trigram_index_needs_no_vacuum(site):
    """Else searches read the whole table until one has run; an index that the server cannot have is no fault."""
    index_options = text("SELECT reloptions FROM pg_class WHERE relname = 'fts_core_text_trigram'")
    offered = text("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")
    with site.databases.readonly_engine.connect() as connection:
        options = connection.scalars(index_options).all()
        assert options == [["fastupdate=off"]] * bool(connection.scalar(offered))


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_files_are_named_after_their_revisions(start):
    """The start reads the names alone."""
    features = " ".join(path.parent.name for path in Path(__file__).parents[2].glob("modhub_*/migrations"))
    for package in start(features).declarations.migrations:
        scripts = ScriptDirectory(str(migrate.ENV_FOLDER), version_locations=[f"{package.folder}/versions"])
        known = migrate.known_revisions(package)
        assert [script.revision for script in scripts.walk_revisions()] == known[::-1]
        assert scripts.get_heads() == known[-1:]


REVISION = """
import sqlalchemy as sa
from alembic import op

revision = "steps_{number}"
down_revision = {before!r}


def upgrade():
    op.create_table("steps_{number}", sa.Column("id", sa.Integer(), primary_key=True))
"""


def code_of(folder, *numbers):
    """A package with these revisions."""
    versions = folder / f"of{len(numbers)}" / "versions"
    versions.mkdir(parents=True)
    for before, number in zip(["", *numbers], numbers, strict=False):
        source = REVISION.format(number=number, before=f"steps_{before}" if before else None)
        (versions / f"steps_{number}_words.py").write_text(source, "utf-8")
    return Migrations("modhub_steps", str(versions.parent), "steps_")


def test_code_runs_on_its_own_schema_alone(configured, tmp_path):
    # C-RUN-3
    databases = configured.databases
    old, new = code_of(tmp_path, "0001"), code_of(tmp_path, "0001", "0002", "0010")
    assert migrate.upgrade(databases, [old]) == ["modhub_steps"]
    migrate.refuse_when_behind(databases, [old])
    with pytest.raises(StartRefused, match=r"behind \(modhub_steps\)"):
        migrate.refuse_when_behind(databases, [new])
    assert migrate.upgrade(databases, [new]) == ["modhub_steps"]
    migrate.refuse_when_behind(databases, [new])
    assert {"steps_0002", "steps_0010"} <= set(inspect(databases.readonly_engine).get_table_names())
    for ask in (migrate.refuse_when_behind, migrate.upgrade):
        with pytest.raises(StartRefused, match=r"newer than this code \(modhub_steps\); install the newer version"):
            ask(databases, [old])


def test_a_process_that_runs_goes_on_when_the_schema_changes(start, tmp_path):
    # C-RUN-3, T-F11
    site = start(fresh=True)
    old = code_of(tmp_path, "0001")
    site.declarations.migrations.append(old)
    for code in (old, code_of(tmp_path, "0001", "0002")):
        migrate.upgrade(site.databases, [code])
    published_mod(site)
    assert site.get("/readyz").json["database"] == "ok"
