"""Expand, then contract: older code runs on a newer schema that says so, and ``migrate`` goes to and back."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

import modhub
from modhub.admin import program as admin
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.db import Databases
from modhub.declarations import Declarations, Migrations
from modhub.ops import migrate
from modhub.ops.models import CompatibleRevision
from modhub_testing import TEST_SECRET

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

REVISION = '''"""Step {number}."""

import sqlalchemy as sa
from alembic import op

revision = "steps_{number}"
down_revision = {before!r}
branch_labels = None
depends_on = None
{declared}


def upgrade():
    {up}


def downgrade():
    {down}
'''
FIRST = (
    'op.create_table("steps_x", sa.Column("id", sa.Integer(), primary_key=True))',
    'op.drop_table("steps_x")',
)
COLUMN = (
    'op.add_column("steps_x", sa.Column("c{0}", sa.Integer(), server_default="7"))',
    'op.drop_column("steps_x", "c{0}")',
)


def code_of(folder: Path, *declared: str) -> Migrations:
    """A package with so many revisions; each of them declares this about itself."""
    versions = folder / f"of{len(declared)}" / "versions"
    versions.mkdir(parents=True)
    for number, words in enumerate(declared, 1):
        up, down = FIRST if number == 1 else (step.format(number) for step in COLUMN)
        before = f"steps_{number - 1}" if number > 1 else None
        source = REVISION.format(number=number, before=before, declared=words, up=up, down=down)
        (versions / f"steps_{number}.py").write_text(source, "utf-8")
    return Migrations("modhub_steps", str(versions.parent), "steps_")


@pytest.fixture(scope="module")
def core() -> list[Migrations]:
    """The core's migrations, which do not depend on the database."""
    settings = {"sqlalchemy.url": "sqlite:////nowhere/modhub.sqlite", "modhub.secret": TEST_SECRET}
    return find_service(modhub.configure(settings, makes_store=False).registry, Declarations).migrations


@pytest.fixture
def databases(new_database: Callable[[str], str]) -> Iterator[Databases]:
    """Those of a database that is migrated for the core."""
    made = Databases(new_database(""))
    yield made
    made.dispose()


def with_core(core: list[Migrations], package: Migrations) -> list[Migrations]:
    return [*core, package]


UNSAID, NONE, MORE = "", "compatible_with = None", "expands = True"
ONE, TWO, THREE = (f'compatible_with = "steps_{number}"' for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("newer", "works"),
    [
        ((MORE,), True),
        ((MORE, MORE, MORE), True),
        ((MORE, TWO), False),
        ((MORE, TWO, MORE), False),
        (("expands = False",), False),
        ((NONE, MORE), False),
        ((ONE, MORE), True),
        ((ONE,), True),
        ((ONE, ONE), True),
        ((ONE, ONE, ONE), True),
        ((NONE,), False),
        ((UNSAID,), False),
        (('compatible_with = "nonsense"',), False),
        ((NONE, ONE), False),
        ((ONE, TWO), False),
        ((ONE, NONE), False),
        ((ONE, TWO, ONE), False),
    ],
)
def test_older_code_runs_on_what_is_compatible_with_it(
    core: list[Migrations], databases: Databases, tmp_path: Path, newer: tuple[str, ...], works: bool
) -> None:
    # C-RUN-3, C-RUN-13
    old, new = code_of(tmp_path, UNSAID), code_of(tmp_path, UNSAID, *newer)
    migrate.upgrade(databases, with_core(core, old))
    assert migrate.refuse_when_behind(databases, with_core(core, old)) == []
    for _ in "expand", "contract":
        migrate.upgrade(databases, with_core(core, new))
    assert migrate.refuse_when_behind(databases, with_core(core, new)) == []
    for ask in (migrate.refuse_when_behind, migrate.upgrade):
        if works:
            assert ask(databases, with_core(core, old)) == (["modhub_steps"] if ask is not migrate.upgrade else [])
        else:
            with pytest.raises(StartRefused, match=r"newer than this code \(modhub_steps\)"):
                ask(databases, with_core(core, old))
    assert migrate.behind(databases, with_core(core, old)) == ([] if works else ["modhub_steps"])


def test_code_between_runs_on_what_is_compatible_with_it_alone(
    core: list[Migrations], databases: Databases, tmp_path: Path
) -> None:
    # C-RUN-13
    migrate.upgrade(databases, with_core(core, code_of(tmp_path, UNSAID, ONE, TWO, MORE)))
    for known in ((UNSAID, ONE), (UNSAID, ONE, TWO)):
        older = with_core(core, code_of(tmp_path, *known))
        assert migrate.refuse_when_behind(databases, older) == ["modhub_steps"]
    with pytest.raises(StartRefused, match="newer"):
        migrate.refuse_when_behind(databases, with_core(core, code_of(tmp_path, UNSAID)))


@pytest.mark.parametrize("damage", ["DELETE FROM core_compatible_revision", "DROP TABLE core_compatible_revision"])
def test_without_its_row_a_newer_schema_is_refused(
    core: list[Migrations], databases: Databases, tmp_path: Path, damage: str
) -> None:
    # C-RUN-13
    old = code_of(tmp_path, UNSAID)
    migrate.upgrade(databases, with_core(core, code_of(tmp_path, UNSAID, ONE)))
    with databases.write_engine.begin() as connection:
        connection.execute(text(damage))
    with pytest.raises(StartRefused, match="newer"):
        migrate.refuse_when_behind(databases, with_core(core, old))


def test_rows_are_recorded_for_what_is_applied_already(
    core: list[Migrations], databases: Databases, tmp_path: Path
) -> None:
    new = with_core(core, code_of(tmp_path, UNSAID, ONE))
    migrate.upgrade(databases, new)
    with databases.write_engine.begin() as connection:
        connection.execute(CompatibleRevision.__table__.delete())
    assert migrate.upgrade(databases, new) == []
    with databases.readonly_engine.connect() as connection:
        rows = connection.execute(CompatibleRevision.__table__.select()).all()
    assert ("modhub_steps", "steps_2", "steps_1") in rows
    assert "core_0001" not in {row.revision for row in rows}


Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], databases: Databases) -> Callable[..., Command]:
    """``command(package)("--to", "steps_2")``: ``modhub-admin migrate`` of this code, its exit code and output."""

    def of(package: Migrations) -> Command:
        config = modhub.configure(
            {
                "sqlalchemy.url": databases.write_engine.url.render_as_string(hide_password=False),
                "modhub.secret": TEST_SECRET,
            }
        )
        find_service(config.registry, Declarations).migrations.append(package)

        def run(*words: str) -> tuple[int, str]:
            try:
                code = admin.run_command(config, ["-c", "x.ini", "migrate", *words])
            except StartRefused as error:
                return 1, str(error)
            return code, capsys.readouterr().out

        return run

    return of


def columns(databases: Databases) -> set[str]:
    with databases.readonly_engine.connect() as connection:
        if not inspect(connection).has_table("steps_x"):
            return set()
        return {column["name"] for column in inspect(connection).get_columns("steps_x")}


def test_migrating_to_and_back_and_the_plan(
    command: Callable[..., Command], databases: Databases, tmp_path: Path
) -> None:
    # C-RUN-14
    migrates = command(code_of(tmp_path, UNSAID, ONE, NONE))
    plan = [
        "modhub_steps: apply steps_1 (Step 1)",
        "modhub_steps: apply steps_2 (Step 2), compatible with the code of steps_1",
        "modhub_steps: apply steps_3 (Step 3)",
    ]
    for _ in range(2):
        assert migrates("--plan") == (0, "\n".join(plan) + "\n")
    assert columns(databases) == set()
    assert migrates("--plan", "--to", "steps_2") == (0, "\n".join(plan[:2]) + "\n")
    assert migrates("--to", "steps_2") == (0, "Migrated modhub_steps to steps_2.\n")
    assert columns(databases) == {"id", "c2"}
    assert migrates("--to", "steps_2") == (0, "modhub_steps is at steps_2.\n")
    assert migrates() == (0, "Migrated: modhub_steps.\n")
    assert migrates("--plan") == (0, "There is nothing to migrate.\n")
    code, output = migrates("--to", "steps_2")
    assert code == 1
    assert "beyond steps_2" in output
    assert migrates("--plan", "--down", "steps_1")[1] == (
        "modhub_steps: undo steps_3 (Step 3)\n"
        + "modhub_steps: undo steps_2 (Step 2), compatible with the code of steps_1\n"
    )
    assert columns(databases) == {"id", "c2", "c3"}
    assert migrates("--down", "steps_1") == (0, "Migrated modhub_steps back to steps_1.\n")
    assert columns(databases) == {"id"}
    assert migrates("--down", "steps_1") == (0, "modhub_steps is at steps_1.\n")
    for words in (["--down", "steps_2"], ["--to", "steps_9"], ["--down", "base"]):
        assert migrates(*words)[0] == 1, words
    assert migrates() == (0, "Migrated: modhub_steps.\n")


def test_one_run_never_expands_and_contracts(
    core: list[Migrations], command: Callable[..., Command], databases: Databases, tmp_path: Path
) -> None:
    # C-RUN-13: an operator who skips a release rolls as safely as others.
    old, new = code_of(tmp_path, UNSAID), code_of(tmp_path, UNSAID, MORE, TWO)
    migrate.upgrade(databases, with_core(core, old))
    migrates = command(new)
    left = "It still has what older code uses: run this again when none of its processes is left.\n"
    assert migrates("--plan") == (0, "modhub_steps: apply steps_2 (Step 2), compatible with the code of steps_1\n")
    assert migrates() == (0, f"Migrated: modhub_steps.\n{left}")
    assert columns(databases) == {"id", "c2"}
    assert migrate.refuse_when_behind(databases, with_core(core, old)) == ["modhub_steps"]
    assert migrate.refuse_when_behind(databases, with_core(core, new)) == []
    assert migrates("--plan") == (0, "modhub_steps: apply steps_3 (Step 3), compatible with the code of steps_2\n")
    assert migrates() == (0, "Migrated: modhub_steps.\n")
    assert columns(databases) == {"id", "c2", "c3"}
    assert migrates() == (0, "The database is up to date.\n")
    with pytest.raises(StartRefused, match="newer"):
        migrate.refuse_when_behind(databases, with_core(core, old))


@pytest.mark.parametrize("declared", [(MORE, TWO, MORE), (NONE, TWO)])
def test_what_new_code_needs_waits_for_nothing(
    core: list[Migrations], databases: Databases, tmp_path: Path, declared: tuple[str, ...]
) -> None:
    # C-RUN-13
    new = with_core(core, code_of(tmp_path, UNSAID, *declared))
    migrate.upgrade(databases, with_core(core, code_of(tmp_path, UNSAID)))
    migrate.upgrade(databases, new)
    assert migrate.refuse_when_behind(databases, new) == []
    assert ("c4" in columns(databases)) == (MORE in declared)


def test_a_new_database_gets_everything_at_once(core: list[Migrations], databases: Databases, tmp_path: Path) -> None:
    new = code_of(tmp_path, UNSAID, MORE, TWO)
    migrate.upgrade(databases, with_core(core, new))
    assert columns(databases) == {"id", "c2", "c3"}


def test_going_back_never_loses_anything(command: Callable[..., Command], databases: Databases, tmp_path: Path) -> None:
    # C-RUN-14
    migrates = command(code_of(tmp_path, UNSAID, ONE, NONE))
    migrates()
    with databases.write_engine.begin() as connection:
        # A default and an empty value are nothing that is lost.
        connection.execute(text("INSERT INTO steps_x (id, c3) VALUES (1, NULL), (2, 7), (3, 8), (4, 9)"))
    code, output = migrates("--down", "steps_2")
    assert (code, "changed nothing: 2 values of c3 in steps_x" in output) == (1, True), output
    assert columns(databases) == {"id", "c2", "c3"}
    with databases.write_engine.begin() as connection:
        connection.execute(text("UPDATE steps_x SET c3 = 7"))
    assert migrates("--down", "steps_1")[0] == 0
    with databases.readonly_engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM steps_x")) == 4
