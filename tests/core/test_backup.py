"""Backups by the databases' own tools: what is in them, restoring them, damage, and moving to PostgreSQL."""

import errno
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from sqlalchemy import JSON, Boolean, Integer, LargeBinary, MetaData, insert, inspect, select, text

import modhub
from modhub.admin import backup, migrate, restore
from modhub.admin import program as admin
from modhub.admin.backup import DUMP, blob_file, create_backup, read_manifest
from modhub.admin.copy_to import copy_rows
from modhub.admin.dumps import disposing, load_database
from modhub.admin.observations import BACKUP_VERIFIED, Observation
from modhub.admin.row_ids import ID_GAP
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore, maintenance
from modhub.db import Base, Databases
from modhub.db.changes import Generation
from modhub.plugins.declarations import Migrations
from modhub_downloads.counting import DownloadWriter
from modhub_downloads.models import DaySalt
from modhub_testing import TEST_ACCOUNTS, TEST_SECRET, stored_files
from modhub_testing.databases import schema_differences
from modhub_testing.mods import OWNER, mod_address, published_mod, upload_asset
from modhub_testing.postgres import PORT
from tests.people import read

pytestmark = pytest.mark.slow

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_wiki "
    "modhub_sync modhub_downloads modhub_profiles modhub_tags modhub_moderation"
)
TEXT = 'Zeile 1\nZeile 2\t"«Ü» 🎮'


@pytest.fixture
def new_url(template_databases, tmp_path):
    """``new_url(dialect)`` is the address of a database without a table."""
    made = []

    def begin(dialect):
        made.append(template_databases.new(dialect, None, tmp_path / f"place-{len(made)}.sqlite"))
        return made[-1]

    yield begin
    for url in made:
        template_databases.drop(url)


@pytest.fixture
def place(start, dialect, new_url):
    """``place()`` is an application over an empty database and an empty file store of its own."""
    return lambda: start(url=new_url(dialect), modhub__base_url="https://new.example.org")


@pytest.fixture
def site(start):
    """With the tables of its own features: a restore wants all that there are named."""
    return start(fresh=True)


def run(site, *words):
    return admin.run_command(site.config, ["-c", "my.ini", *map(str, words)])


def backup_of(site, folder):
    assert run(site, "backup", folder) == 0
    return folder


def refused(sentence, site, *words):
    with pytest.raises(StartRefused, match=sentence):
        run(site, *words)


def spoil(path):
    """Change a byte in the middle."""
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def files_of(folder):
    return sorted(path for path in (folder / "files").rglob("*") if path.is_file())


def feed(site):
    return read(site, select(Generation.feed))


@pytest.mark.postgres
def test_a_backup_becomes_an_installation_elsewhere(site, place, tmp_path, capsys):
    # C-RUN-16, C-RUN-17, C-RUN-18, C-MOD-2
    mod = published_mod(site, title="Searched")
    upload_asset(site, mod, "code", b"two", version="2")
    last = published_mod(site)
    site.as_account(OWNER).delete(mod_address(last), status=204)
    folder = backup_of(site, tmp_path / "made")
    # Deleted files are not in it, and nobody else may read it.
    assert len(files_of(folder)) == 1
    assert {path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*")) if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()} == {0o400}
    assert run(site, "backup", "--verify", folder) == 0
    assert "is whole and was loaded into a scratch database" in capsys.readouterr().out
    with site.databases.readonly_session() as session:
        assert session.get(Observation, BACKUP_VERIFIED) is not None
    other = place()
    assert run(other, "restore", "--dry-run", folder) == 0
    assert run(other, "restore", folder) == 0
    assert run(other, "verify") == 0
    assert other.get(mod_address(mod, "download")).body == b"two"
    assert [each["id"] for each in other.get("/api/modhub?q=searched").json["mods"]] == [mod["id"]]
    assert feed(other) != feed(site)
    assert published_mod(other)["id"] == last["id"] + ID_GAP + 1
    refused("the database is not empty", other, "restore", folder)


def plain_text(folder, dialect):
    """A dump as it can be searched: that of PostgreSQL is compressed."""
    if dialect == "sqlite":
        return (folder / DUMP).read_bytes()
    return subprocess.run(["pg_restore", "--file=-", folder / DUMP], capture_output=True, check=True).stdout


@pytest.mark.postgres
def test_no_row_is_in_it_that_no_backup_may_hold(start, dialect, tmp_path):
    # C-DL-3, C-RUN-16. Also of a feature that the ini no longer names.
    site = start(f"{TEST_ACCOUNTS} modhub_downloads")
    mod = published_mod(site, title="Kept")
    site.get(mod_address(mod, "download"))
    site.find_service(DownloadWriter).write_all()
    (salt,) = read(site, select(DaySalt.salt))
    without = start(TEST_ACCOUNTS, url=site.registry.settings["sqlalchemy.url"])
    for number, origin in enumerate((site, without)):
        backup_of(origin, tmp_path / str(number))
        content = plain_text(tmp_path / str(number), dialect)
        assert b"Kept" in content
        assert TEST_SECRET.encode() not in content
        assert salt not in content
        assert salt.hex().encode() not in content
        assert "modhub_downloads" in read_manifest(tmp_path / str(number)).revisions


def test_a_damaged_or_unfinished_backup_is_refused_in_one_sentence(site, place, tmp_path):
    # C-RUN-17
    published_mod(site)
    whole, other = tmp_path / "made", place()
    backup_of(site, whole)
    (file,) = files_of(whole)
    elsewhere = (
        (whole / "manifest.json").read_text("utf-8").replace(f"{file.parent.name}{file.name}", "../../../passwd")
    )
    damages = {
        "dump": lambda folder: spoil(folder / DUMP),
        "file": lambda folder: spoil(files_of(folder)[0]),
        "missing file": lambda folder: files_of(folder)[0].unlink(),
        "path": lambda folder: (folder / "manifest.json").write_text(elsewhere, "utf-8"),
        "deep": lambda folder: (folder / "manifest.json").write_text("[" * 100_000, "utf-8"),
        "unfinished": lambda folder: (folder / "manifest.json").unlink(),
    }
    for damage, spoil_copy in damages.items():
        folder = tmp_path / damage
        shutil.copytree(whole, folder)
        (folder / "manifest.json").chmod(0o600)
        spoil_copy(folder)
        sentence = "no finished backup" if damage == "unfinished" else "the backup is damaged"
        for words in (("backup", "--verify"), ("restore",)):
            refused(sentence, other, *words, folder)
    assert not stored_files(other)


@pytest.mark.postgres
def test_a_place_that_is_in_use_or_another_kind_is_refused(start, dialect, place, tmp_path, new_url):
    # C-RUN-17
    site = start(fresh=True)
    published_mod(site)
    folder = backup_of(site, tmp_path / "made")
    refused("is not empty: name a new one for each backup", site, "backup", folder)
    other = place()
    stray = Path(other.registry.settings["modhub.storage"].removeprefix("file://")) / "ab" / ("0" * 30)
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"another file")
    refused("the file store is not empty", other, "restore", folder)
    refused(r"modhub\.storage is empty", start(url=new_url(dialect), modhub__storage=""), "restore", folder)
    kind = {"sqlite": "postgresql", "postgresql": "sqlite"}[dialect]
    refused(f"the backup is of {dialect}, and sqlalchemy.url of {kind}", start(url=new_url(kind)), "restore", folder)


@pytest.mark.postgres
def test_a_restored_database_is_not_served_before_it_is_prepared(site, place, tmp_path):
    # C-RUN-18
    mod = published_mod(site)
    folder = backup_of(site, tmp_path / "made")
    other = place()
    load_database(other.databases, folder / DUMP)
    url = other.registry.settings["sqlalchemy.url"]
    with pytest.raises(SystemExit, match=r"run: modhub-admin -c YOUR\.ini restored"):
        modhub.main({}, **{"sqlalchemy.url": url, "modhub.secret": TEST_SECRET, "pyramid.includes": TEST_ACCOUNTS})
    refused("was restored, and not prepared", other, "mod", "list")
    assert run(other, "restored", "--dry-run") == 0
    assert feed(other) == feed(site)
    assert run(other, "restored") == 0
    assert feed(other) != feed(site)
    assert published_mod(other)["id"] == mod["id"] + ID_GAP + 1
    modhub.main({}, **{"sqlalchemy.url": url, "modhub.secret": TEST_SECRET, "pyramid.includes": TEST_ACCOUNTS})


@pytest.fixture
def feature(tmp_path):
    """A feature with a table, which a second revision gives a column."""
    versions = tmp_path / "feature" / "versions"
    versions.mkdir(parents=True)
    head = "import sqlalchemy as sa\nfrom alembic import op\nbranch_labels = depends_on = None\n"
    (versions / "shelf_0001.py").write_text(
        f'{head}revision = "shelf_0001"\ndown_revision = None\n'
        'def upgrade():\n    op.create_table("shelf_mod", sa.Column("name", sa.String(9)))\n'
    )
    (versions / "shelf_0002.py").write_text(
        f'{head}revision = "shelf_0002"\ndown_revision = "shelf_0001"\n'
        'def upgrade():\n    op.add_column("shelf_mod", sa.Column("place", sa.Integer(), server_default="7"))\n'
    )
    return Migrations("shelf", str(tmp_path / "feature"), "shelf_")


@pytest.mark.postgres
def test_a_backup_of_an_older_schema_is_restored_and_read(start, dialect, new_url, feature, tmp_path):
    # C-RUN-17
    site, folder = start(fresh=True), tmp_path / "made"
    with migrate.migration_lock(site.databases) as connection:
        migrate.upgrade_package(connection, feature, "shelf_0001")
        connection.execute(text("INSERT INTO shelf_mod (name) VALUES ('old')"))
    backup_of(site, folder)
    other = start(url=new_url(dialect), modhub__storage=f"file://{tmp_path}/new")
    other.declarations.migrations.append(feature)
    assert run(other, "backup", "--verify", folder) == 0
    assert run(other, "restore", folder) == 0
    with other.databases.readonly_engine.connect() as connection:
        assert connection.execute(text("SELECT name, place FROM shelf_mod")).all() == [("old", 7)]
    newer = start(url=new_url(dialect), modhub__storage=f"file://{tmp_path}/newer")
    newer.declarations.migrations.append(feature)
    (Path(feature.folder) / "versions" / "shelf_0001.py").unlink()
    (Path(feature.folder) / "versions" / "shelf_0002.py").unlink()
    refused(r"newer than this code \(shelf\)", newer, "restore", folder)


@pytest.mark.postgres
def test_files_that_are_deleted_while_a_backup_runs_stay_for_it(site, tmp_path, monkeypatch):
    # C-RUN-6, C-RUN-16
    mods = [published_mod(site) for _ in range(3)]
    store = site.find_service(BlobStore)
    open_blob, opened = store.open, []

    def delete_all_first(key, size, sha256):
        if not opened:
            for mod in mods:
                site.as_account(OWNER).delete(mod_address(mod), status=204)
            assert maintenance.sweep(site.databases, store) == (0, 0)
        opened.append(key)
        return open_blob(key, size, sha256)

    with monkeypatch.context() as patch:
        patch.setattr(store, "open", delete_all_first)
        backup_of(site, tmp_path / "made")
    assert len(files_of(tmp_path / "made")) == 3
    assert maintenance.sweep(site.databases, store, 0) == (3, 0)


def test_each_night_adds_only_its_new_files_and_no_damage_spreads(site, tmp_path):
    # C-RUN-16
    for number in range(2):
        upload_asset(site, published_mod(site), "code", bytes([number]) * 1000, version="2")
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    backup_of(site, first)
    backup_of(site, second)
    assert [path.stat().st_ino for path in files_of(first)] == [path.stat().st_ino for path in files_of(second)]
    shutil.rmtree(first)
    damaged, intact = files_of(second)
    spoil(damaged)
    backup_of(site, third)
    assert [path.stat().st_nlink for path in files_of(second)] == [1, 2]
    assert intact.stat().st_ino in {path.stat().st_ino for path in files_of(third)}
    assert run(site, "backup", "--verify", third) == 0


def test_a_file_that_the_store_lost_is_named_and_the_rest_is_saved(site, tmp_path, capsys):
    # C-RUN-16
    for _ in range(2):
        published_mod(site)
    lost, spoilt = stored_files(site)
    keys = [path.parent.name + path.name for path in (lost, spoilt)]
    lost.unlink()
    assert run(site, "backup", tmp_path / "first") == 1
    assert f"does not have it whole: file {keys[0]}" in capsys.readouterr().out
    spoil(spoilt)
    # What was whole in the backup before is taken from it.
    assert run(site, "backup", tmp_path / "second") == 1
    assert f"does not have it whole: file {keys[1]}" in capsys.readouterr().out
    assert [blob_file(tmp_path / "second", key).exists() for key in keys] == [False, True]
    assert run(site, "backup", "--verify", tmp_path / "second") == 1
    said = capsys.readouterr().out
    assert f"File {keys[0]}: it was damaged already" in said
    assert keys[1] not in said


def test_nothing_is_made_ready_while_the_ini_lacks_a_feature(start, new_url, dialect, tmp_path):
    # C-RUN-18
    full = start(f"{TEST_ACCOUNTS} modhub_tags", fresh=True)
    backup_of(full, tmp_path / "made")
    less = start(TEST_ACCOUNTS, url=new_url(dialect))
    refused("does not name modhub_tags", less, "restore", tmp_path / "made")
    less = start(TEST_ACCOUNTS, url=full.registry.settings["sqlalchemy.url"])
    refused("does not name modhub_tags", less, "restored")


def test_a_full_disk_leaves_one_sentence_and_nothing_that_is_taken_for_a_backup(site, tmp_path, monkeypatch):
    # C-RUN-16
    published_mod(site)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", full)
        refused(r"could not be written \(No space left", site, "backup", tmp_path / "made")
    assert not (tmp_path / "made").exists()
    monkeypatch.setattr(backup.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    refused("has 0 MB free, and the files need", site, "backup", tmp_path / "made")
    assert not (tmp_path / "made").exists()


PRINTS_PASSWORDS = """\
#!/bin/sh
cd "${0%/*}"
echo "$@" >words
cp "$PGPASSFILE" passwords
stat -c %a "$PGPASSFILE" >mode
"""
postgresql = pytest.mark.parametrize("dialect", ["postgresql"])


@postgresql
def test_what_others_have_in_the_database_is_left_out(site, place, tmp_path):
    # C-RUN-16
    with site.databases.write_engine.begin() as connection:
        connection.execute(text("DROP EXTENSION pg_trgm CASCADE"))  # nor is there always ours
        connection.execute(text("CREATE EXTENSION btree_gin"))
        connection.execute(text("CREATE PUBLICATION everything FOR ALL TABLES"))
    backup_of(site, tmp_path / "made")
    assert run(site, "backup", "--verify", tmp_path / "made") == 0
    other = place()
    assert run(other, "restore", tmp_path / "made") == 0
    with other.databases.readonly_session() as session:
        assert session.scalars(text("SELECT extname FROM pg_extension")).all() == ["plpgsql"]


@postgresql
def test_the_password_is_on_no_command_line(site, postgres, tmp_path, monkeypatch):
    # C-RUN-16
    program = tmp_path / "bin" / "pg_dump"
    program.parent.mkdir()
    program.write_text(PRINTS_PASSWORDS)
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    url = site.databases.write_engine.url.set(password=r"se:cr\et%")
    with disposing(url.render_as_string(hide_password=False)) as databases:
        create_backup(databases, None, "", tmp_path / "made")
    assert (program.parent / "passwords").read_text() == "*:*:*:*:se\\:cr\\\\et%\n"
    assert (program.parent / "mode").read_text() == "600\n"
    assert "et%" not in (program.parent / "words").read_text()
    assert f"port={PORT}" in (program.parent / "words").read_text()


@postgresql
@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("", "pg_dump cannot be run .No such file or directory.: install postgresql-client"),
        (
            "echo 'pg_dump: error: aborting because of server version mismatch' >&2\n"
            "echo 'pg_dump: detail: server version: 99; pg_dump version: 15' >&2\nexit 1",
            "pg_dump failed: aborting because of server version mismatch; server version: 99; pg_dump version: 15$",
        ),
    ],
)
def test_a_program_that_is_missing_or_too_old_is_one_sentence(site, tmp_path, monkeypatch, program, sentence):
    # C-RUN-16
    (tmp_path / "bin").mkdir()
    if program:
        (tmp_path / "bin" / "pg_dump").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "bin" / "pg_dump").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    refused(sentence, site, "backup", tmp_path / "made")


@postgresql
def test_a_role_that_may_not_create_a_database_verifies_what_it_can(start, postgres, tmp_path, capsys):
    # C-RUN-16
    site = start()
    backup_of(site, tmp_path / "made")
    url = site.databases.write_engine.url.set(username="verifier").render_as_string(hide_password=False)
    owner = f"host='{postgres.base}' port={PORT} user=postgres dbname={site.databases.write_engine.url.database}"
    with closing(psycopg.connect(owner, autocommit=True)) as other:
        other.execute(b"CREATE ROLE verifier LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO verifier")
        assert run(start(url=url, modhub__storage=""), "backup", "--verify", tmp_path / "made") == 0
        other.execute(b"DROP OWNED BY verifier; DROP ROLE verifier")
    assert "is whole by its digests and its list. It was not loaded" in capsys.readouterr().out


def value_for(column, row):
    """A value that another database could get wrong; every third row has NULL where it may."""
    if isinstance(column.type, Integer) and (column.foreign_keys or column.primary_key):
        return row
    return None if column.nullable and row == 3 else value_of_type(column, row)


def value_of_type(column, row):
    if isinstance(column.type, Boolean):
        return row % 2 == 0
    if isinstance(column.type, JSON):
        return [TEXT, row, None, {"deep": True}]
    if isinstance(column.type, LargeBinary):
        return bytes(range(256)) * row
    if isinstance(column.type, Integer):
        # The rowid of the full-text index is one of these; small integers stay small.
        return 2**50 + row if type(column.type).__name__ == "BIGINT" else row
    length = getattr(column.type, "length", None) or 100
    return f"{row}{TEXT}"[:length]


def reflected(connection):
    """The tables as the database has them, not as models say."""
    names = Base.metadata.tables.keys() & set(inspect(connection).get_table_names())
    metadata = MetaData()
    metadata.reflect(connection, only=list(names))
    return [table for table in metadata.sorted_tables if table.name in names]


def fill(databases):
    """Three rows in every table, whatever tables there are."""
    with databases.write_engine.begin() as connection:
        tables = reflected(connection)
        assert len(tables) > 25
        for table in reversed(tables):
            connection.execute(table.delete())
        for table in tables:
            rows = [{column.name: value_for(column, row) for column in table.columns} for row in (1, 2, 3)]
            connection.execute(insert(table), rows)


def rows_of(databases):
    with databases.readonly_engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key.columns))]
            for table in reflected(connection)
        }


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_every_row_moves_from_sqlite_to_postgresql(start, new_url):
    # C-RUN-17, C-MOD-2
    site, target = start(FEATURES), Databases(new_url("postgresql"))
    fill(site.databases)
    packages = site.declarations.migrations
    assert copy_rows(site.databases, target, packages) > 3 * 25
    assert rows_of(target) == rows_of(site.databases)
    assert [schema_differences(target, package) for package in packages] == [[]] * len(packages)
    with target.write_session.begin() as session:
        assert session.scalar(text("SELECT nextval(pg_get_serial_sequence('core_mod', 'id'))")) == 3 + ID_GAP + 1
    target.dispose()


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_moved_installation_goes_on_where_it_was(start, new_url, tmp_path):
    # C-RUN-17
    site = start(fresh=True)
    mod, url = published_mod(site, title="Moved"), new_url("postgresql")
    assert run(site, "copy-to", "--dry-run", url) == 0
    assert run(site, "copy-to", url) == 0
    other = start(url=url, modhub__storage=site.registry.settings["modhub.storage"])
    assert run(other, "verify") == 0
    assert [listed["id"] for listed in other.get("/api/modhub?q=moved").json["mods"]] == [mod["id"]]
    assert feed(other) == feed(site)
    for origin, target, sentence in (
        (site, url, "the database is not empty"),
        (other, url, "copies from SQLite"),
        (site, f"sqlite:///{tmp_path}/x.sqlite", "to PostgreSQL"),
    ):
        refused(sentence, origin, "copy-to", target)


@pytest.mark.postgres
def test_a_restore_that_was_killed_is_run_again(site, place, tmp_path, monkeypatch):
    # C-RUN-17
    mod, other = published_mod(site), place()
    folder = backup_of(site, tmp_path / "made")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(restore, "load_database", killed)
        with pytest.raises(KeyboardInterrupt):
            run(other, "restore", folder)
    assert len(stored_files(other)) == 1
    with monkeypatch.context() as patch:
        patch.setattr(restore, "_make_ready", killed)
        with pytest.raises(KeyboardInterrupt):
            run(other, "restore", folder)
    refused("run migrate, then restored", other, "restore", folder)
    assert run(other, "restored") == 0
    assert run(other, "verify") == 0
    assert other.get(mod_address(mod, "download")).status_int == 200
