"""``modhub-admin migration new`` creates a working revision for any package."""

import importlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

import modhub
from modhub.admin import program as admin
from modhub.admin.new_migration import create_migration
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.declarations import Declarations, Migrations
from modhub.ops import migrate
from modhub_testing import TEST_SECRET

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

FEATURE = "modhub_freshly_made"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A feature in a folder of its own that declares migrations and has none yet."""
    folder = tmp_path / "src" / FEATURE
    (folder / "migrations" / "versions").mkdir(parents=True)
    (folder / "__init__.py").write_text(
        "def includeme(config):\n"
        "    config.include('modhub')\n"
        f"    config.add_migrations('{FEATURE}', '{FEATURE}:migrations', 'fresh_')\n"
    )
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.delitem(sys.modules, FEATURE, raising=False)
    importlib.invalidate_caches()
    return folder


@pytest.fixture
def run(
    package: Path,
    new_database: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str]]:
    """``run("migration", "new", ...)``: the exit code and the output."""
    monkeypatch.setattr(admin, "set_up_logging", lambda _ini: None)
    ini = tmp_path / "x.ini"
    lines = {"use": "egg:modhub", "sqlalchemy.url": new_database(""), "modhub.secret": TEST_SECRET}
    lines["pyramid.includes"] = FEATURE
    ini.write_text("[app:main]\n" + "".join(f"{name} = {value}\n" for name, value in lines.items()))

    def command(*words: str) -> tuple[int, str]:
        code = admin.admin_main(["-c", str(ini), *words])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    command.url = lines["sqlalchemy.url"]  # type: ignore[attr-defined]
    return command


def test_a_new_migration_is_the_next_one_and_runs(run: Any, package: Path) -> None:
    versions = package / "migrations" / "versions"
    first, second = versions / "fresh_0001_baseline.py", versions / "fresh_0002_colours_of_the_c_house.py"
    code, output = run("migration", "new", FEATURE, "Baseline.", "--dry-run")
    assert (code, output) == (0, f"Would write the migration fresh_0001 in {versions}. Nothing was changed.\n")
    assert list(versions.iterdir()) == []
    assert run("migration", "new", FEATURE, "Baseline.") == (0, f"{first}\n")
    table = 'op.create_table("fresh_thing", sa.Column("id", sa.Integer()))'
    first.write_text(first.read_text().replace("\n\n\ndef downgrade", f"\n    {table}\n\n\ndef downgrade"))
    assert run("migrate") == (0, f"Migrated: {FEATURE}.\n")
    assert run("migration", "new", FEATURE, 'Colours of the "C:\\house"') == (0, f"{second}\n")
    assert 'revision = "fresh_0002"\ndown_revision = "fresh_0001"\n' in second.read_text()
    assert second.read_text().startswith('"""Colours of the \\"C:\\\\house\\"."""\n')
    assert run("migrate") == (0, f"Migrated: {FEATURE}.\n")
    settings = {"sqlalchemy.url": run.url, "modhub.secret": TEST_SECRET, "pyramid.includes": FEATURE}
    registry = modhub.configure(settings).registry
    databases = find_service(registry, Databases)
    assert migrate.behind(databases, find_service(registry, Declarations).migrations) == []
    assert "fresh_thing" in inspect(databases.readonly_engine).get_table_names()
    databases.dispose()


def test_it_follows_the_numbers_of_the_package(tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(Path(modhub.__file__).parent / "migrations", folder)
    texts = {path.name[:9]: path.read_text("utf-8") for path in (folder / "versions").glob("core_*.py")}
    (head,) = [name for name in texts if not any(f'down_revision = "{name}"' in text for text in texts.values())]
    made = create_migration(Migrations("modhub", str(folder), "core_"), "More")
    assert made.name == f"core_{int(max(texts)[5:]) + 1:04}_more.py"
    assert f'down_revision = "{head}"' in made.read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("modhub_unknown", "x"), "no included package modhub_unknown declares migrations; those that do: modhub, "),
        ((FEATURE, ""), "a migration needs a message that says what it does."),
        ((FEATURE, " ... \n"), "a migration needs a message that says what it does."),
    ],
)
def test_what_it_refuses_is_a_sentence(run: Any, package: Path, words: tuple[str, str], sentence: str) -> None:
    code, output = run("migration", "new", *words)
    assert (code, output.count("\n")) == (1, 1)
    assert output.startswith(f"modhub-admin: {sentence}")
    assert list((package / "migrations" / "versions").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_a_sentence(
    run: Any, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise PermissionError(13, os.strerror(13), "somewhere")

    # Tests may run as root, whom no permission stops.
    monkeypatch.setattr(ScriptDirectory, "_generate_template", refuse)
    versions = package / "migrations" / "versions"
    sentence = f"modhub-admin: the folder {versions} cannot be written: {os.strerror(13)}.\n"
    assert run("migration", "new", FEATURE, "Baseline") == (1, sentence)
