"""Migrations match the models and run once; a service whose database is behind does not start."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from alembic import command
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, select, text

import modhub
from modhub.admin import program as admin
from modhub.base.service_registry import find_service
from modhub.catalogue import moderation, public_copies
from modhub.catalogue.models import IdempotencyKey, Mod
from modhub.db import Base, Databases, now
from modhub.declarations import Declarations, Migrations
from modhub.ops import downgrade, migrate
from modhub.ops.revisions import current_revisions, known_revisions, newest_revisions
from modhub_testing import TEST_SECRET, Site
from modhub_testing.mods import insert_mods, mod_address, new_mod, published_mod, upload_asset
from modhub_testing.postgres import PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

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


def test_down_and_up_again(configured: Configured) -> None:
    migrate.upgrade(configured.databases, configured.migrations)
    package = configured.migrations[0]
    with configured.databases.write_engine.begin() as connection:
        command.downgrade(migrate._config(package, connection), "base")
    left = set(inspect(configured.databases.readonly_engine).get_table_names())
    assert {name for name in left if not name.endswith("alembic_version") and not name.startswith("sqlite_")} == set()
    assert migrate.upgrade(configured.databases, configured.migrations) == ["modhub"]
    assert migrate.schema_differences(configured.databases, package) == []


def test_mods_that_are_there_are_not_hidden_by_an_upgrade(configured: Configured) -> None:
    package = configured.migrations[0]
    row = {"guid": GUID, "owner": 7, "title": "Old", "description": "", "version": "1", "published": True}
    row |= {"ups": 3, "downs": 1, "created_at": 1, "updated_at": 2, "games": "[]", "requires": "[]", "conflicts": "[]"}
    with configured.databases.write_engine.begin() as connection:
        command.upgrade(migrate._config(package, connection), "core_0003")
        holes = ", ".join(f":{name}" for name in row)
        connection.execute(text(f"INSERT INTO core_mod ({', '.join(row)}) VALUES ({holes})"), row)
    assert migrate.upgrade(configured.databases, configured.migrations) == ["modhub"]
    assert public_copies.rebuild_copies(configured.databases.write_session.begin) == 1
    with configured.databases.write_session.begin() as session:
        (mod,) = session.scalars(select(Mod))
        assert (mod.title, mod.ups, mod.hidden_at, mod.hidden_reason) == ("Old", 3, None, None)
        moderation.hide_mods(session, [mod], "x")
    with configured.databases.write_engine.begin() as connection:
        command.downgrade(migrate._config(package, connection), "core_0003")
    migrate.upgrade(configured.databases, configured.migrations)
    with configured.databases.readonly_session() as session:
        assert session.execute(select(Mod.title, Mod.hidden_at)).one() == ("Old", None)


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


def test_what_was_published_before_gets_its_links(site: Site) -> None:
    """The public copies are those that this version would make; stored lists of GUIDs stay as they are."""
    mods = [published_mod(site, requires=[ABSENT.lower()]) for _ in range(2)]
    upload_asset(site, mods[0], "css", b"p {}", content_type="text/css")
    draft = new_mod(site)
    upload_asset(site, draft, "code", version="1")
    before = [site.get(mod_address(mod)) for mod in mods]
    package = site.declarations.migrations[0]
    with site.databases.write_engine.begin() as connection:
        command.downgrade(migrate._config(package, connection), "core_0003")
    assert migrate.upgrade(site.databases, site.declarations.migrations) == ["modhub"]
    for mod, answer in zip(mods, before, strict=True):
        again = site.get(mod_address(mod))
        assert (again.body, again.headers["Link"]) == (answer.body, answer.headers["Link"])
        assert again.json["requires"] == [ABSENT.lower()]
    assert before[0].headers["Link"].count("kind=") == 2
    with site.databases.write_session() as session:
        assert list(public_copies.public_copy_damage(session)) == []


def left_of_old_searches(site: Site) -> set[str]:
    """The tables, triggers and functions of what search does not use any more."""
    with site.databases.readonly_engine.connect() as connection:
        if site.databases.dialect == "sqlite":
            names = "SELECT name FROM sqlite_master WHERE name IN ('fts_core_part', 'fts_core_part_insert')"
        else:
            names = (
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'fts_core_bitmap%'"
                " UNION ALL SELECT tgname || '_trigger' FROM pg_trigger WHERE tgname = 'fts_core_bitmap_changed'"
                " UNION ALL SELECT proname FROM pg_proc WHERE proname = 'fts_core_bitmap_changed'"
            )
        return set(connection.scalars(text(names)))


OLD_SEARCHES = {
    "sqlite": {"fts_core_part", "fts_core_part_insert"},
    "postgresql": {
        "fts_core_bitmap",
        "fts_core_bitmap_part",
        "fts_core_bitmap_change",
        "fts_core_bitmap_changed",
        "fts_core_bitmap_changed_trigger",
    },
}


def known_to_old_searches(site: Site) -> set[int]:
    """The mods that triggers have passed on to what older code searches in."""
    statements = {
        "sqlite": "SELECT rowid FROM fts_core_part WHERE fts_core_part MATCH 'wizar*'",
        "postgresql": "SELECT mod_id FROM fts_core_bitmap_change",
    }
    with site.databases.readonly_engine.connect() as connection:
        return set(connection.scalars(text(statements[site.databases.dialect])))


@pytest.mark.parametrize("before", ["core_0013", "core_0014", "core_0015"])
def test_what_search_used_goes_in_the_second_run(site: Site, before: str) -> None:
    # C-RUN-13
    package, old = site.declarations.migrations[0], OLD_SEARCHES[site.databases.dialect]
    assert left_of_old_searches(site) == set()
    with site.databases.write_engine.begin() as connection:
        command.downgrade(migrate._config(package, connection), before)
    steps: dict[str, set[str]] = {"core_0024": old, "core_0023": set()}
    for number, (revision, left) in enumerate(steps.items(), 1):
        assert migrate.upgrade(site.databases, [package]) == ["modhub"]
        with site.databases.readonly_engine.connect() as connection:
            assert current_revisions(connection, package) == (revision,)
        assert left_of_old_searches(site) == left
        published_mod(site, title=f"A wizard {number}")
        for query in ("wizard", "iz", "a wiz"):
            assert site.get(f"/api/modhub?q={query}").json["total"] == number, query
    assert migrate.upgrade(site.databases, [package]) == []


def test_a_database_without_it_goes_on(site: Site) -> None:
    """One that took core_0021 before its drops were moved behind core_0022."""
    package = site.declarations.migrations[0]
    with site.databases.write_engine.begin() as connection:
        command.downgrade(migrate._config(package, connection), "core_0021")
        for name in ("core_0013_bitmaps", "core_0012_parts"):
            revision = importlib.import_module(f"modhub.migrations.versions.{name}")
            with Operations.context(MigrationContext.configure(connection)):
                revision.downgrade()
    for left in (["modhub"], []):
        assert migrate.upgrade(site.databases, [package]) == left
    assert migrate.schema_differences(site.databases, package) == []


def test_going_back_makes_what_older_code_searches_in(site: Site) -> None:
    package = site.declarations.migrations[0]
    before = published_mod(site, title="A wizard")["id"]
    assert downgrade.downgrade(site.databases, package, "core_0020")
    assert left_of_old_searches(site) == OLD_SEARCHES[site.databases.dialect]
    # Older code fills the bitmaps itself, and the parts are there at once.
    assert known_to_old_searches(site) == ({before} if site.databases.dialect == "sqlite" else set())
    # Uploads of this code need its tables.
    (later,) = insert_mods(site, [{"title": "Another wizard"}])
    assert later in known_to_old_searches(site)
    assert migrate.upgrade(site.databases, [package]) == ["modhub"]
    assert left_of_old_searches(site) == set()


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


def test_keys_of_repeatable_calls_stop_no_downgrade(configured: Configured) -> None:
    # C-RUN-14
    migrate.upgrade(configured.databases, configured.migrations)
    (package,) = configured.migrations
    with configured.databases.write_session.begin() as session:
        session.add(IdempotencyKey(key_sha256="0" * 64, content_sha256="0" * 64, mod_id=1, used_at=now()))
    (before,) = known_revisions(package)["core_0017"].parents
    assert downgrade.downgrade(configured.databases, package, before)
