"""50 backups of a service that is being written to and swept, each restored and verified."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from modhub_testing.databases import TemplateDatabases
from modhub_testing.load import WriteLoad
from modhub_testing.service import Installation, script

ROUNDS = int(os.environ.get("MODHUB_SOAK_BACKUPS", "50"))
FEATURES = "modhub_auth modhub_builds modhub_sync"
KINDS = ("sqlite", "postgresql")


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def origin(kind: str, template_databases: TemplateDatabases, tmp_path: Path) -> Iterator[Installation]:
    """Two processes on one database and one store."""
    folder = tmp_path / "origin"
    folder.mkdir()
    url = template_databases.new(kind, FEATURES, folder / "modhub.sqlite")
    made = Installation(folder, url, FEATURES, settings={"modhub_auth.register_limit": "1000000"})
    for process in [made.launch() for _ in range(2)]:
        process.wait()
    yield made
    made.stop()
    assert "Traceback" not in made.log()
    template_databases.drop(url)


def ready(done: "subprocess.CompletedProcess[str]") -> str:
    assert done.returncode == 0, done
    return done.stdout


def back_up_while_sweeping(origin: Installation, folder: Path) -> None:
    command = [str(script("modhub-admin")), "-c", str(origin.ini), "backup", str(folder)]
    backup = subprocess.Popen(command, env=origin.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while backup.poll() is None:
        ready(origin.admin("sweep"))
    _, errors = backup.communicate()
    assert backup.returncode == 0, errors


def restored(databases: TemplateDatabases, kind: str, source: Path, folder: Path) -> Installation:
    folder.mkdir()
    url = databases.new(kind, None, folder / "modhub.sqlite")
    place = Installation(folder, url, FEATURES, settings={"modhub.base_url": "https://restored.example.org"})
    ready(place.admin("restore", str(source)))
    assert ready(place.admin("verify")) == "No problems found.\n"
    return place


def stored_hashes(place: Installation, mod_ids: list[int]) -> dict[int, str]:
    """The SHA-256 of the code of each mod, from the files themselves."""
    rows = place.rows(
        "SELECT core_asset.mod_id, core_blob.key FROM core_asset JOIN core_blob ON core_blob.id = core_asset.blob_id"
    )
    expected_ids = set(mod_ids)
    return {
        mod_id: hashlib.sha256((place.files / key[:2] / key[2:]).read_bytes()).hexdigest()
        for mod_id, key in rows
        if mod_id in expected_ids
    }


@pytest.mark.timeout(7200)
def test_every_backup_under_load_is_whole(
    origin: Installation, kind: str, template_databases: TemplateDatabases, tmp_path: Path
) -> None:
    # C-RUN-16, C-RUN-17
    writers = [origin.register(f"writer{number}") for number in range(3)]
    with WriteLoad(writers, sizes=(100, 50_000)) as load:
        for number in range(ROUNDS // len(KINDS)):
            before, folder = load.settled_now(), tmp_path / f"round-{number}"
            back_up_while_sweeping(origin, folder)
            ready(origin.admin("backup", "--verify", str(folder)))
            place = restored(template_databases, kind, folder, tmp_path / f"place-{number}")
            assert stored_hashes(place, list(before)) == before
            template_databases.drop(place.url)
            for made in (folder, place.folder):
                shutil.rmtree(made)
    assert ready(origin.admin("verify")) == "No problems found.\n"
