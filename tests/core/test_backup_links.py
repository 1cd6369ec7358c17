"""Backups that share files with an earlier one, and disks that cannot hold one (ADR 026)."""

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import modhub
from modhub.admin.backup import create, room
from modhub.admin.backup.archive import check_archive
from modhub.admin.backup.create import BackupSource, FinishedBackup, create_backup, measure_backup
from modhub.admin.backup.manifest import blob_file
from modhub.admin.backup.restore import RestoreTarget, refuse_unfit_place, restore, verify_in_scratch
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore, maintenance
from modhub.content.limits import KB, MB
from modhub.db import Databases
from modhub_testing import Site, stored_files
from modhub_testing.databases import TEST_SECRET
from modhub_testing.mods import OWNER, mod_address, published_mod, upload_asset

pytestmark = pytest.mark.slow

SIZE = 100 * KB


def source_of(site: Site) -> BackupSource:
    store = site.find_service(BlobStore)
    return BackupSource(site.databases, store, site.declarations.migrations, "https://a.example.org", (TEST_SECRET,))


def back_up(site: Site, folder: Path, *, link: bool = True) -> FinishedBackup:
    return create_backup(source_of(site), folder, frozenset(), link=link)


def large_mod(site: Site, size: int = SIZE) -> dict[str, Any]:
    mod = published_mod(site)
    upload_asset(site, mod, "code", os.urandom(size), version="2")
    return mod


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "files").rglob("*") if path.is_file())


def inodes(*folders: Path) -> set[int]:
    return {path.stat().st_ino for folder in folders for path in files_of(folder)}


def key_of(path: Path) -> str:
    return path.parent.name + path.name


def assert_whole(site: Site, folder: Path) -> None:
    manifest = check_archive(folder)
    assert verify_in_scratch(site.declarations.migrations, site.declarations.maintenance, folder, manifest) == []


def spoil(path: Path) -> None:
    """Change a byte in the middle."""
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.long
def test_each_night_adds_only_its_new_files_and_is_whole_without_the_others(site: Site, tmp_path: Path) -> None:
    # C-RUN-45
    mods = [large_mod(site) for _ in range(4)]
    folders = [tmp_path / "backups" / f"night-{night}" for night in range(6)]
    for folder in folders:
        site.as_account(OWNER).delete(mod_address(mods.pop(0)), status=204)
        mods.append(large_mod(site))
        assert back_up(site, folder).manifest.files == 4
    # Six full copies would be 24 files.
    assert len(inodes(*folders)) == 4 + 5
    for gone in (0, 4, 1, 2, 1):
        shutil.rmtree(folders.pop(gone))
        for folder in folders:
            assert_whole(site, folder)
    (last,) = folders
    store = modhub.open_store(site.registry, make=True, url=f"file://{tmp_path}/restored")
    databases = Databases(f"sqlite:///{tmp_path}/restored.sqlite")
    databases.write_session.configure(registry=site.registry)
    place = RestoreTarget(databases, store, site.declarations.migrations, site.registry)
    manifest = check_archive(last)
    refuse_unfit_place(place, last, manifest)
    restore(place, last, manifest)
    with databases.readonly_session() as session:
        assert store is not None
        assert list(maintenance.blob_damage(session, store)) == []
    assert len(list((tmp_path / "restored").glob("[0-9a-f][0-9a-f]/*"))) == 4
    databases.dispose()


@pytest.mark.parametrize("kind", ["changed", "cut", "missing"])
def test_damage_of_one_backup_does_not_spread_to_the_next(site: Site, tmp_path: Path, kind: str) -> None:
    # C-RUN-45
    for _ in range(2):
        large_mod(site)
    back_up(site, tmp_path / "first")
    path, whole = files_of(tmp_path / "first")
    if kind == "changed":
        spoil(path)
    elif kind == "cut":
        path.chmod(0o600)
        os.truncate(path, 1)
    else:
        path.unlink()
    second = back_up(site, tmp_path / "second")
    assert (second.files.linked, second.files.linked_bytes, second.manifest.files) == (1, SIZE, 2)
    assert second.files.replaced == ([] if kind == "missing" else [key_of(path)])
    assert_whole(site, tmp_path / "second")
    assert blob_file(tmp_path / "second", key_of(whole)).samefile(whole)
    with pytest.raises(StartRefused, match="the backup is damaged"):
        check_archive(tmp_path / "first")


@pytest.mark.parametrize("is_lost", [True, False])
def test_what_the_store_has_lost_is_kept_from_the_earlier_backup_and_named(
    site: Site, tmp_path: Path, is_lost: bool
) -> None:
    # C-RUN-45
    for _ in range(2):
        large_mod(site)
    back_up(site, tmp_path / "first")
    stored = next(path for path in stored_files(site) if path.stat().st_size == SIZE)
    if is_lost:
        stored.unlink()
    else:
        spoil(stored)
    second = back_up(site, tmp_path / "second")
    assert (second.manifest.files, second.manifest.damaged, second.files.saved) == (2, [], [key_of(stored)])
    assert_whole(site, tmp_path / "second")


def test_only_the_newest_finished_backup_is_shared(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-45
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    large_mod(site)
    back_up(site, tmp_path / "z-oldest", link=False)
    back_up(site, tmp_path / "m-newest", link=False)
    back_up(site, tmp_path / "a-damaged", link=False)
    spoil(tmp_path / "a-damaged" / "manifest.json")
    (tmp_path / "a file").touch()
    with monkeypatch.context() as patch:
        patch.setattr(create, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            back_up(site, tmp_path / "zz-unfinished", link=False)
    backup = back_up(site, tmp_path / "next")
    assert backup.earlier == tmp_path / "m-newest"
    assert inodes(tmp_path / "next") == inodes(tmp_path / "m-newest")
    # In another folder there is nothing to share.
    assert back_up(site, tmp_path / "elsewhere" / "next").earlier is None


def test_no_file_is_shared_on_request(site: Site, tmp_path: Path) -> None:
    large_mod(site)
    back_up(site, tmp_path / "first")
    assert back_up(site, tmp_path / "second", link=False).files.linked == 0
    assert inodes(tmp_path / "first").isdisjoint(inodes(tmp_path / "second"))


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP])
def test_where_links_are_refused_files_are_copied(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    # C-RUN-45
    def refuse(*_: object, **_named: object) -> None:
        raise OSError(code, os.strerror(code))

    large_mod(site)
    back_up(site, tmp_path / "first")
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)
        second = back_up(site, tmp_path / "second")
    assert (second.manifest.files, second.files.linked, second.files.replaced) == (1, 0, [])
    assert_whole(site, tmp_path / "second")
    assert inodes(tmp_path / "first").isdisjoint(inodes(tmp_path / "second"))


def test_files_of_another_user_are_not_shared_and_nobody_writes_to_shared_ones(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_mod(site)
    back_up(site, tmp_path / "first")
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert back_up(site, tmp_path / "second").files.linked == 0
    # As versions before this one left them.
    for path in files_of(tmp_path / "second"):
        path.chmod(0o600)
    assert back_up(site, tmp_path / "third").files.linked == 1
    for folder in ("first", "second", "third"):
        assert {path.stat().st_mode & 0o777 for path in files_of(tmp_path / folder)} == {0o400}


def set_free_bytes(patch: pytest.MonkeyPatch, size: int) -> None:
    patch.setattr(room, "shutil", SimpleNamespace(disk_usage=lambda _folder: SimpleNamespace(free=size)))


def test_a_disk_that_is_too_small_is_refused_before_anything_is_written(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-RUN-45
    for _ in range(3):
        large_mod(site, 8 * MB)
    back_up(site, tmp_path / "first")
    rows = sum(path.stat().st_size for path in (tmp_path / "first" / "tables").iterdir())
    sentence = r"^the disk of .*second has [0-9]+ MB free, and the backup needs [0-9]+ MB: remove old backups"
    # The disk has room for some of the files, or for none of the rows.
    for link, free in ((False, 20 * MB), (True, rows)):
        set_free_bytes(monkeypatch, free)
        with pytest.raises(StartRefused, match=sentence):
            back_up(site, tmp_path / "second", link=link)
        with pytest.raises(StartRefused, match=sentence):
            measure_backup(source_of(site), tmp_path / "second", frozenset(), link=link)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("second")] == []
    set_free_bytes(monkeypatch, 20 * MB)
    size = measure_backup(source_of(site), tmp_path / "second", frozenset())
    assert (size.files, size.bytes, size.linked, size.linked_bytes) == (3, 24 * MB, 3, 24 * MB)
    assert back_up(site, tmp_path / "second").files.linked == 3
