"""Backup and restore: every table from either database into either; damage, occupied places, sweeps."""

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, Connection, Integer, LargeBinary, Table, insert, select, text, update
from sqlalchemy.exc import OperationalError

import modhub
from modhub.admin.backup import create
from modhub.admin.backup import restore as restoring
from modhub.admin.backup.archive import check_archive
from modhub.admin.backup.create import BackupSource, create_backup, snapshot
from modhub.admin.backup.manifest import Manifest, blob_file, read_manifest, table_file, write_manifest
from modhub.admin.backup.restore import RestoreTarget, refuse_unfit_place, restore, verify_in_scratch
from modhub.admin.backup.tables import count_rows, load_table, read_rows, reflect_tables, write_table
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore, holds, maintenance
from modhub.blobs.holds import HOLD_TIME, FileHold, HoldPurpose, hold_files
from modhub.blobs.models import StoredBlob
from modhub.db import Databases, now
from modhub.declarations import Declarations, Migrations
from modhub.ops import migrate
from modhub_testing import Site, stored_files
from modhub_testing.databases import TEST_SECRET, TemplateDatabases
from modhub_testing.mods import OWNER, mod_address, published_mod, upload_asset

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_wiki "
    "modhub_sync modhub_downloads modhub_profiles modhub_tags modhub_moderation"
)
TEXT = 'Zeile 1\nZeile 2\t"«Ü» 🎮'
PREFIXES = ("core_", "auth_", "builds_", "wiki_", "sync_", "following_", "downloads_", "profiles_", "tags_")
KINDS = list(product(["sqlite", "postgresql"], repeat=2))
"""From and into which database. Outside CI only from one to the other."""


FIRST_STEP = """
import sqlalchemy as sa
from alembic import op

revision = "steps_0001"
down_revision = None


def upgrade():
    op.create_table("steps_x", sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False))
"""
SECOND_STEP = """
import sqlalchemy as sa
from alembic import op

revision = "steps_0002"
down_revision = "steps_0001"


def upgrade():
    op.add_column("steps_x", sa.Column("number", sa.Integer(), server_default="1"))
"""


@pytest.fixture(scope="module")
def packages() -> list[Migrations]:
    settings = {"sqlalchemy.url": "sqlite:////unused", "modhub.secret": TEST_SECRET, "pyramid.includes": FEATURES}
    return find_service(modhub.configure(settings).registry, Declarations).migrations


@pytest.fixture
def _scratch_migrated_once() -> Iterator[None]:
    """A restore migrates a scratch database to count what migrations insert: here once for each set of revisions."""
    counts: dict[tuple[Any, ...], dict[str, int]] = {}
    count = restoring._rows_of_new_tables

    def counted(packages: list[Migrations]) -> dict[str, int]:
        key = tuple((package.package, package.folder, *migrate.known_revisions(package)) for package in packages)
        if key not in counts:
            counts[key] = count(packages)
        return counts[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restoring, "_rows_of_new_tables", counted)
        yield


@pytest.fixture
def new(template_databases: TemplateDatabases, tmp_path: Path) -> Iterator[Callable[..., Databases]]:
    """``new(dialect)`` is a migrated database, ``new(dialect, None)`` one without tables."""
    made: list[tuple[str, Databases]] = []

    def begin(dialect: str, includes: str | None = FEATURES) -> Databases:
        url = template_databases.new(dialect, includes, tmp_path / f"backup-{len(made)}.sqlite")
        made.append((url, Databases(url)))
        return made[-1][1]

    yield begin
    for url, databases in made:
        databases.dispose()
        template_databases.drop(url)


def value_for(column: Any, row: int) -> Any:
    """A value that another database could get wrong; every third row has NULL where it may."""
    if isinstance(column.type, Integer) and (column.foreign_keys or column.primary_key):
        return row
    if column.nullable and row == 3:
        return None
    return value_of_type(column, row)


def value_of_type(column: Any, row: int) -> Any:
    if isinstance(column.type, Boolean):
        return row % 2 == 0
    if isinstance(column.type, JSON):
        return [TEXT, row, None, {"deep": True}]
    if isinstance(column.type, LargeBinary):
        return bytes(range(256)) * row
    if isinstance(column.type, Integer):
        # The rowid of the full-text index is one of these; small integers stay small.
        return 2**62 + row if type(column.type).__name__ == "BIGINT" else row
    length = getattr(column.type, "length", None) or 100
    return f"{row}{TEXT}"[:length]


def fill(databases: Databases) -> None:
    """Three rows in every table, whatever tables there are."""
    with databases.write_engine.begin() as connection:
        tables = reflect_tables(connection, PREFIXES)
        assert len(tables) > 25
        for table in reversed(tables):
            connection.execute(table.delete())
        for table in tables:
            rows = [{column.name: value_for(column, row) for column in table.columns} for row in (1, 2, 3)]
            connection.execute(insert(table), rows)


def rows_of(databases: Databases) -> dict[str, list[Any]]:
    with databases.readonly_engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key.columns))]
            for table in reflect_tables(connection, PREFIXES)
        }


def back_up(databases: Databases, packages: list[Migrations], folder: Path, store: Any = None) -> Manifest:
    source = BackupSource(databases, store, packages, "https://old.example.org", (TEST_SECRET,))
    return create_backup(source, folder, frozenset()).manifest


@pytest.mark.long
@pytest.mark.usefixtures("_scratch_migrated_once")
@pytest.mark.parametrize("kinds", KINDS if os.environ.get("CI") else KINDS[1:3], ids=" to ".join)
def test_every_table_goes_from_either_database_into_either(
    kinds: tuple[str, str],
    new: Callable[..., Databases],
    packages: list[Migrations],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # C-RUN-16
    source, target = kinds
    databases = new(source)
    fill(databases)
    # Blobs of rows without files: their copies are tested elsewhere.
    monkeypatch.setattr("modhub.admin.backup.files.live_blobs", lambda _folder, _entry: iter(()))
    monkeypatch.setattr(create, "measure_files", lambda _connection, _earlier: ([], []))
    back_up(databases, packages, tmp_path / "made")
    manifest = check_archive_without_files(tmp_path / "made", monkeypatch)
    for place in (new(target), new(target, None)):
        restored = RestoreTarget(place, None, packages)
        refuse_unfit_place(restored, tmp_path / "made", manifest)
        restore(restored, tmp_path / "made", manifest)
        assert rows_of(place) == rows_of(databases)
        migrate.refuse_when_behind(place, packages)
        with place.readonly_engine.connect() as connection:
            for package in packages:
                assert migrate.schema_differences(place, package) == []
            assert count_rows(connection, PREFIXES)
        with pytest.raises(StartRefused, match="the database is not empty"):
            refuse_unfit_place(restored, tmp_path / "made", manifest)
        with pytest.raises(StartRefused, match="the database is not empty"):
            restore(restored, tmp_path / "made", manifest)
        assert rows_of(place) == rows_of(databases)


def check_archive_without_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    monkeypatch.setattr("modhub.admin.backup.archive.live_blobs", lambda _folder, _entry: iter(()))
    return check_archive(folder)


def new_place(site: Site, new: Callable[..., Databases], tmp_path: Path, dialect: str = "sqlite") -> RestoreTarget:
    """An empty database and an empty file store."""
    files = tmp_path / f"restored-{dialect}"
    store = modhub.open_store(site.registry, make=True, url=f"file://{files}")
    databases = new(dialect, None)
    databases.write_session.configure(registry=site.registry)
    return RestoreTarget(databases, store, site.declarations.migrations, site.registry)


def back_up_site(site: Site, folder: Path) -> Manifest:
    return back_up(site.databases, site.declarations.migrations, folder, site.find_service(BlobStore))


def bite(path: Path) -> None:
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def tree(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*")}


def test_files_come_with_the_rows_and_ids_go_on(
    site: Site, dialect: str, new: Callable[..., Databases], tmp_path: Path
) -> None:
    # C-RUN-16, C-MOD-2
    mod = published_mod(site)
    upload_asset(site, mod, "code", b"two", version="2")
    last = published_mod(site)
    site.as_account(OWNER).delete(mod_address(last), status=204)
    folder = tmp_path / "made"
    manifest = back_up_site(site, folder)
    # Deleted files are not in it, and nobody else may read it.
    assert manifest.files == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = tree(folder)
    assert {modes[name] for name in modes if (folder / name).is_file()} == {0o400}
    assert {modes[name] for name in modes if (folder / name).is_dir()} == {0o700}
    assert TEST_SECRET not in "".join(
        (folder / name).read_text("utf-8", "replace") for name in modes if (folder / name).is_file()
    )
    for kind in ("sqlite", "postgresql"):
        place = new_place(site, new, tmp_path, kind)
        refuse_unfit_place(place, folder, check_archive(folder))
        restore(place, folder, manifest)
        with place.databases.readonly_session() as session:
            assert place.store is not None
            assert list(maintenance.blob_damage(session, place.store)) == []
            assert session.scalar(select(StoredBlob.id).where(StoredBlob.trashed_at.is_(None))) is not None
        with place.databases.write_engine.begin() as connection:
            table = next(table for table in reflect_tables(connection, ["core_"]) if table.name == "core_mod")
            row = dict(connection.execute(select(table)).mappings().one())
            del row["id"]
            added = connection.execute(insert(table).values({**row, "guid": "x"})).inserted_primary_key
        assert added == (last["id"] + 1001,)


@pytest.mark.parametrize("kind", ["table", "file", "manifest", "hash", "missing table", "missing file", "short file"])
def test_a_damaged_backup_is_refused_before_anything_is_touched(
    site: Site, new: Callable[..., Databases], tmp_path: Path, kind: str
) -> None:
    # C-RUN-17
    published_mod(site)
    folder = tmp_path / "made"
    back_up_site(site, folder)
    (file,) = [path for path in (folder / "files").rglob("*") if path.is_file()]
    damages: dict[str, Callable[[], Any]] = {
        "table": lambda: bite(table_file(folder, "core_mod")),
        "file": lambda: bite(file),
        "manifest": lambda: bite(folder / "manifest.json"),
        "hash": lambda: bite(folder / "manifest.sha256"),
        "missing table": table_file(folder, "core_mod").unlink,
        "missing file": file.unlink,
        "short file": lambda: (file.chmod(0o600), os.truncate(file, 1)),
    }
    check_archive(folder)
    damages[kind]()
    with pytest.raises(StartRefused, match="the backup is damaged"):
        check_archive(folder)


def rehash(folder: Path, name: str, change: Callable[[list[Any]], None], last_id: int | None = None) -> None:
    """Change the first row of a table as somebody does who can make hashes."""
    manifest, path = read_manifest(folder), table_file(folder, name)
    first, *others = path.read_bytes().splitlines(keepends=True)
    row = json.loads(first)
    change(row)
    path.chmod(0o600)
    path.write_bytes(b"".join([json.dumps(row).encode() + b"\n", *others]))
    (entry,) = (entry for entry in manifest.tables if entry.name == name)
    entry.sha256, entry.last_id = hashlib.sha256(path.read_bytes()).hexdigest(), last_id or entry.last_id
    for written in ("manifest.json", "manifest.sha256"):
        (folder / written).unlink()
    write_manifest(folder, manifest)


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("trashed_at", [None, 1])
@pytest.mark.parametrize("key", ["..PAYLOAD", "../../../etc/passwd", "/etc/passwd", "aascratch", 7, None])
def test_a_key_that_is_a_path_is_refused(site: Site, tmp_path: Path, key: Any, trashed_at: int | None) -> None:
    # C-RUN-17. A sweep would go to the file of one that is trash.
    published_mod(site)
    folder = tmp_path / "made"
    back_up_site(site, folder)
    columns = next(entry for entry in read_manifest(folder).tables if entry.name == "core_blob").columns
    at = [each.name for each in columns]

    def change(row: list[Any]) -> None:
        row[at.index("key")], row[at.index("trashed_at")] = key, trashed_at

    rehash(folder, "core_blob", change)
    with pytest.raises(StartRefused, match="by something that is not a key"):
        check_archive(folder)


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_numbers_and_rows_that_no_database_holds_are_refused(site: Site, tmp_path: Path) -> None:
    # C-RUN-17
    published_mod(site)
    changes: list[tuple[Callable[[list[Any]], None], int | None]] = [
        (lambda row: row.__setitem__(0, 10**30), None),
        (lambda row: row.append(1), None),
        (lambda row: None, 10**30),
        # No id is above it by the gap.
        (lambda row: None, 2**63 - 1),
        (lambda row: row.__setitem__(0, 2**63 - 1), None),
    ]
    for number, (change, last_id) in enumerate(changes):
        folder = tmp_path / str(number)
        back_up_site(site, folder)
        rehash(folder, "core_mod", change, last_id)
        (entry,) = (entry for entry in read_manifest(folder).tables if entry.name == "core_mod")

        def read_all(folder: Path = folder, entry: Any = entry) -> None:
            check_archive(folder)
            list(read_rows(folder, entry))

        with pytest.raises(StartRefused, match="the backup is damaged"):
            read_all()


def test_an_unfinished_backup_is_refused(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    published_mod(site)
    with monkeypatch.context() as patch:
        patch.setattr(create, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            back_up_site(site, tmp_path / "made")
    with pytest.raises(StartRefused, match="no finished backup"):
        read_manifest(tmp_path / "made")
    with pytest.raises(StartRefused, match="is not empty and holds an unfinished backup"):
        back_up_site(site, tmp_path / "made")
    with pytest.raises(StartRefused, match="no backup folder"):
        read_manifest(tmp_path / "none")


@pytest.mark.long
def test_a_restore_that_was_killed_is_run_again(
    site: Site, dialect: str, new: Callable[..., Databases], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        published_mod(site)
    folder = tmp_path / "made"
    manifest = back_up_site(site, folder)
    place = new_place(site, new, tmp_path, dialect)
    assert place.store is not None

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    put, load = place.store.put, load_table
    for module, name in ((place.store, "put"), (restoring, "load_table"), (restoring, "_notify")):
        calls: list[Any] = []

        def at_the_second(*arguments: Any, calls: list[Any] = calls, name: str = name) -> None:
            calls.append(arguments)
            if len(calls) == 2 or name == "_notify":
                killed()
            (put if name == "put" else load)(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(module, name, at_the_second)
            with pytest.raises(KeyboardInterrupt):
                restore(place, folder, manifest)
        refuse_unfit_place(place, folder, manifest)
        with place.databases.readonly_engine.connect() as connection:
            assert reflect_tables(connection, ["core_"]) == []
    restore(place, folder, manifest)
    with place.databases.readonly_session() as session:
        assert list(maintenance.blob_damage(session, place.store)) == []
    ours, theirs = rows_of(place.databases), rows_of(site.databases)
    assert ours["core_mod"] == theirs["core_mod"]
    # C-RUN-18: clients that follow the changes begin again.
    assert ours["core_generation"] != theirs["core_generation"]


def test_a_place_that_is_in_use_is_refused(site: Site, new: Callable[..., Databases], tmp_path: Path) -> None:
    # C-RUN-17
    published_mod(site)
    folder = tmp_path / "made"
    manifest = back_up_site(site, folder)
    packages, store = site.declarations.migrations, site.find_service(BlobStore)
    empty = new("sqlite", "")
    (tmp_path / "other" / "ab").mkdir(parents=True)
    (tmp_path / "other" / "ab" / ("0" * 30)).write_bytes(b"another file")
    in_use = modhub.open_store(site.registry, make=True, url=f"file://{tmp_path}/other")
    with pytest.raises(StartRefused, match="the file store is not empty"):
        refuse_unfit_place(RestoreTarget(empty, in_use, packages), folder, manifest)
    with pytest.raises(StartRefused, match=r"modhub\.storage is empty"):
        refuse_unfit_place(RestoreTarget(empty, None, packages), folder, manifest)
    # Those of the same backup are what a killed restore has left.
    refuse_unfit_place(RestoreTarget(empty, store, packages), folder, manifest)
    # One row that somebody wrote is enough.
    with empty.write_engine.begin() as connection:
        (table,) = (table for table in reflect_tables(connection, ["core_game"]) if table.name == "core_game")
        connection.execute(insert(table).values(name="Portal", folded="portal", display_name=""))
    with pytest.raises(StartRefused, match="the database is not empty: core_game has rows"):
        refuse_unfit_place(RestoreTarget(empty, store, packages), folder, manifest)


def test_features_and_versions_must_fit(
    site: Site, new: Callable[..., Databases], packages: list[Migrations], tmp_path: Path
) -> None:
    core = site.declarations.migrations
    with pytest.raises(StartRefused, match=r"tables of modhub_auth, .* --without modhub_auth"):
        back_up(new("sqlite", "modhub_auth"), core, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
    folder = tmp_path / "made"
    manifest = back_up(new("sqlite"), packages, folder)
    with pytest.raises(StartRefused, match="has the tables of modhub_auth, which"):
        refuse_unfit_place(RestoreTarget(new("sqlite", None), None, core), folder, manifest)
    manifest.revisions["modhub"] = ["core_9999"]
    with pytest.raises(StartRefused, match=r"newer than this code \(modhub\)"):
        refuse_unfit_place(RestoreTarget(new("sqlite", None), None, packages), folder, manifest)
    manifest.revisions["modhub"] = []
    with pytest.raises(StartRefused, match="a database without tables"):
        refuse_unfit_place(RestoreTarget(new("sqlite"), None, packages), folder, manifest)


def test_an_older_backup_gets_the_schema_of_this_code(
    dialect: str, new: Callable[..., Databases], packages: list[Migrations], tmp_path: Path
) -> None:
    versions = tmp_path / "steps" / "versions"
    versions.mkdir(parents=True)
    (versions / "steps_0001.py").write_text(FIRST_STEP, "utf-8")
    core = [package for package in packages if package.package == "modhub"]
    both = [*core, Migrations("modhub_steps", str(versions.parent), "steps_")]
    old = new(dialect, None)
    migrate.upgrade(old, both)
    with old.write_engine.begin() as connection:
        connection.execute(text("INSERT INTO steps_x (id) VALUES (7)"))
    source = BackupSource(old, None, both, "", ())
    with snapshot(old) as connection:
        manifest = written(source, connection, tmp_path / "made")
    (versions / "steps_0002.py").write_text(SECOND_STEP, "utf-8")
    place = RestoreTarget(new(dialect, None), None, both)
    refuse_unfit_place(place, tmp_path / "made", manifest)
    restore(place, tmp_path / "made", manifest)
    migrate.refuse_when_behind(place.databases, both)
    with place.databases.readonly_engine.connect() as connection:
        assert connection.execute(text("SELECT * FROM steps_x")).all() == [(7, 1)]


def test_a_feature_that_the_backup_did_not_have_begins_as_in_a_new_database(
    dialect: str, new: Callable[..., Databases], packages: list[Migrations], tmp_path: Path
) -> None:
    core = [package for package in packages if package.package == "modhub"]
    folder = tmp_path / "made"
    manifest = back_up(new(dialect, ""), core, folder)
    both = [package for package in packages if package.package in {"modhub", "modhub_tags"}]
    place = RestoreTarget(new(dialect, None), None, both)
    refuse_unfit_place(place, folder, manifest)
    restore(place, folder, manifest)
    assert "library" in [row[0] for row in rows_of(place.databases)["tags_tag"]]


def written(source: BackupSource, connection: Connection, folder: Path) -> Manifest:
    """A backup by the code of then, which had no holds yet."""
    (folder / "tables").mkdir(parents=True)
    entries = create._write_tables(connection, source.packages, folder)
    revisions = {package.package: list(migrate.current_revisions(connection, package)) for package in source.packages}
    return Manifest(1, "", "", source.databases.dialect, "", [], revisions, entries, 0, 0, [])


def test_the_rows_are_of_one_moment(
    site: Site, dialect: str, new: Callable[..., Databases], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-RUN-16
    published_mod(site)
    added = []

    def write_slowly(connection: Connection, table: Table, *rest: Any) -> Any:
        added.append(published_mod(site, title=f"Meanwhile {table.name}"))
        return write_table(connection, table, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(create, "write_table", write_slowly)
        folder = tmp_path / "made"
        manifest = back_up_site(site, folder)
    assert len(added) > 10
    assert {entry.name: entry.rows for entry in manifest.tables if entry.name in {"core_mod", "core_public_mod"}} == {
        "core_mod": 1,
        "core_public_mod": 1,
    }
    assert manifest.files == 1
    checks = {"catalogue": site.declarations.maintenance["catalogue"]}
    assert verify_in_scratch(site.declarations.migrations, checks, folder, check_archive(folder)) == []


def test_no_sweep_takes_a_file_that_a_running_backup_needs(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-RUN-16
    mods = [published_mod(site) for _ in range(3)]
    store = site.find_service(BlobStore)
    copied: list[str] = []
    swept: list[tuple[int, int]] = []
    open_blob = store.open

    def open_slowly(key: str, size: int, sha256: str) -> Any:
        if not copied:
            for mod in mods:
                site.as_account(OWNER).delete(mod_address(mod), status=204)
            swept.append(maintenance.sweep(site.databases, store, 0))
        copied.append(key)
        return open_blob(key, size, sha256)

    with monkeypatch.context() as patch:
        patch.setattr(store, "open", open_slowly)
        manifest = back_up_site(site, tmp_path / "made")
    assert (manifest.files, manifest.damaged, swept) == (3, [], [(0, 0)])
    check_archive(tmp_path / "made")
    assert maintenance.sweep(site.databases, store, 0) == (3, 0)


class SweepTimer:
    """Sweeps again and again with a grace of a second, as modhub-sweep.timer would, and adds up what was removed."""

    GRACE = 1

    def __init__(self, site: Site) -> None:
        self.removed = self.rounds = 0
        self._site = site
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._ended.wait(0.05):
            self.removed += maintenance.sweep(self._site.databases, self._site.find_service(BlobStore), self.GRACE)[0]
            self.rounds += 1

    def __enter__(self) -> "SweepTimer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def wait_beyond_the_grace(self) -> None:
        """Until something that is trashed now would have been removed."""
        time.sleep(self.GRACE + 0.2)
        rounds = self.rounds
        while self.rounds < rounds + 2:
            assert self._thread.is_alive()
            time.sleep(0.02)


@pytest.mark.long
def test_a_copy_that_takes_longer_than_the_grace_of_a_running_sweep_timer(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-RUN-16
    mods = [published_mod(site, title=f"Mod {number}") for number in range(4)]
    store = site.find_service(BlobStore)
    removed: list[int] = []

    def slow_open(key: str, size: int, sha256: str) -> Any:
        if not removed:
            upload_asset(site, mods[0], "code", b"new", version="2")
            for mod in mods[1:]:
                site.as_account(OWNER).delete(mod_address(mod), status=204)
            timer.wait_beyond_the_grace()
        removed.append(timer.removed)
        return type(store).open(store, key, size, sha256)  # type: ignore[arg-type]

    with SweepTimer(site) as timer:
        with monkeypatch.context() as patch:
            patch.setattr(store, "open", slow_open)
            manifest = back_up_site(site, tmp_path / "made")
        assert (manifest.files, manifest.damaged, removed) == (4, [], [0, 0, 0, 0])
        check_archive(tmp_path / "made")
        timer.wait_beyond_the_grace()
    assert timer.removed == 4


def test_a_hold_is_renewed_as_long_as_the_copy_takes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-16
    monkeypatch.setattr(holds, "RENEW_SECONDS", 0.02)
    with hold_files(site.databases, HoldPurpose.BACKUP):
        with site.databases.write_session.begin() as session:
            session.execute(update(FileHold).values(renewed_at=now() - 2 * HOLD_TIME))
        deadline, since = time.monotonic() + 60, None
        while since is None and time.monotonic() < deadline:
            with site.databases.readonly_session() as session:
                since = holds.held_since(session, HoldPurpose.BACKUP)
        assert since is not None


def test_a_hold_that_the_database_keeps_is_named_with_the_reason(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any) -> Any:
        raise OperationalError("DELETE secret", (1,), sqlite3.OperationalError("database is locked"))

    with monkeypatch.context() as patch, hold_files(site.databases, HoldPurpose.BACKUP):
        patch.setattr(holds.bulk, "execute_bulk", refuse)
    assert caplog.messages == ["the hold of a backup ends later by itself (database is locked)"]


def test_a_hold_of_a_killed_process_ends_and_a_restore_keeps_sweeps_away(site: Site) -> None:
    store = site.find_service(BlobStore)
    with hold_files(site.databases, HoldPurpose.RESTORE):
        for sweep in (maintenance.sweep, maintenance.count_sweepable):
            with pytest.raises(StartRefused, match="a restore is running"):
                sweep(site.databases, store, 0)
        with site.databases.write_session.begin() as session:
            session.execute(update(FileHold).values(renewed_at=now() - 2 * HOLD_TIME))
        assert maintenance.sweep(site.databases, store, 0) == (0, 0)
    with site.databases.readonly_session() as session:
        assert session.scalars(select(FileHold)).all() == []


def test_a_file_that_the_store_lost_is_named_and_the_rest_is_saved(
    site: Site, new: Callable[..., Databases], tmp_path: Path
) -> None:
    for _ in range(2):
        published_mod(site)
    stored_files(site)[0].unlink()
    folder = tmp_path / "made"
    manifest = back_up_site(site, folder)
    assert (manifest.files, len(manifest.damaged)) == (1, 1)
    check_archive(folder)
    assert not blob_file(folder, manifest.damaged[0]).exists()
    place = new_place(site, new, tmp_path)
    restore(place, folder, manifest)
    with place.databases.readonly_session() as session:
        assert place.store is not None
        assert len(list(maintenance.blob_damage(session, place.store))) == 1
