"""``modhub-admin move-storage``: every file, whole, while the service runs; and again after a kill."""

import pytest

import modhub
from modhub.blobs import BlobStore, maintenance, moving
from modhub.blobs.local import LocalStore
from modhub_testing import stored_files
from modhub_testing.mods import published_mod, upload_asset
from tests.owning import delete_mod

pytestmark = pytest.mark.slow


@pytest.fixture
def run(run_with_ini):
    """``run("file:///from", "file:///to")``: (exit code, output)."""
    return lambda *words: run_with_ini("move-storage", *words)


def storage(site):
    return str(site.registry.settings["modhub.storage"])


def damage_in(site, url):
    store = modhub.open_store(site.registry, make=False, url=url)
    assert store is not None
    return damage(site, store)


def damage(site, store):
    with site.databases.readonly_session() as session:
        return list(maintenance.blob_damage(session, store))


def test_all_files_are_copied_and_checked(site, run, tmp_path):
    target = f"file://{tmp_path}/new"
    mod = published_mod(site)
    upload_asset(site, mod, "code", b"two", version="2")
    published_mod(site)
    assert run("--dry-run", storage(site), target)[1].startswith("Would copy up to 2 files")
    assert not (tmp_path / "new").exists()
    code, output = run(storage(site), target)
    assert code == 0
    assert output.startswith("Copied 2 files (")
    assert f"Now set modhub.storage = {target}" in output
    assert damage_in(site, target) == []
    assert damage_in(site, storage(site)) == []
    # What the old store has lost, and what the new one has damaged, is told apart.
    (tmp_path / "new" / "staging" / ("f" * 32)).write_bytes(b"left by a kill")
    copy = next(path for path in (tmp_path / "new").rglob("*") if path.is_file() and path.parent.name != "staging")
    copy.write_bytes(b"?")
    code, output = run(storage(site), target)
    assert (code, output.splitlines()[0].partition(" (")[0]) == (0, "Copied 1 files")
    assert "1 were there already" in output
    assert damage_in(site, target) == []


def test_a_move_goes_on_where_it_was_killed(site, run, tmp_path, monkeypatch):
    for _ in range(3):
        published_mod(site)
    put, calls = LocalStore.put, []

    def killed_at_the_second(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        put(*arguments)

    target = f"file://{tmp_path}/new"
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "put", killed_at_the_second)
        assert run(storage(site), target)[0] == 130
    code, output = run(storage(site), target)
    assert (code, output.partition(" (")[0]) == (0, "Copied 2 files")
    assert "1 were there already" in output
    assert damage_in(site, target) == []


def test_what_is_uploaded_and_deleted_meanwhile_is_right(site, tmp_path):
    first, second = published_mod(site), published_mod(site)
    source, target = site.find_service(BlobStore), LocalStore(tmp_path / "new")
    open_blob, seen = source.open, []

    def open_slowly(key, size, sha256):
        seen.append(key)
        if len(seen) == 1:
            upload_asset(site, first, "code", b"two", version="2")
            delete_mod(site, second)
            maintenance.sweep(site.databases, source, 0)
        return open_blob(key, size, sha256)

    source.open = open_slowly
    result = moving.copy_store(site.databases, source, target, lambda _: None)
    assert result.damaged == []
    assert damage(site, target) == []


def test_mistakes_are_one_line(site, run, tmp_path):
    published_mod(site)
    here = storage(site)
    for source, target, sentence in (
        (here, f"{here}/", "are the same store"),
        (f"file://{tmp_path}/none", f"file://{tmp_path}/new", "none cannot be read"),
        (here, "/not/a/url", "use file:///absolute/folder"),
        (here, "", "are addresses of stores"),
    ):
        code, output = run(source, target)
        assert (code, output.count("\n")) == (1, 1), output
        assert sentence in output


def test_a_file_that_the_old_store_lost_is_named(site, run, tmp_path):
    mods = [published_mod(site) for _ in range(2)]
    lost = stored_files(site)[0]
    lost.unlink()
    code, output = run(storage(site), f"file://{tmp_path}/new")
    assert code == 1
    assert "Copied 1 files" in output
    assert f"file {lost.parent.name}{lost.name} (code mod.zip of mod " in output
    assert any(f' of mod {mod["id"]} "' in output for mod in mods)
