"""Backups of a service that is being written to, and services restored from them on the other database."""

import hashlib
import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from modhub_testing.caller import Caller
from modhub_testing.disks import small_disk
from modhub_testing.load import WriteLoad
from modhub_testing.service import PASSWORD, Installation

pytestmark = pytest.mark.long

FEATURES = "modhub_auth modhub_builds"


@pytest.fixture(scope="module")
def origin(services: Any, kind: str) -> Installation:
    # Emails wait: there is no mail server.
    settings = {"mail.host": "127.0.0.1", "mail.port": "1"}
    made: Installation = services(kind, 2, includes=FEATURES, settings=settings)
    return made


def ready(done: "subprocess.CompletedProcess[str]", code: int = 0) -> str:
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    return done.stdout


def assert_same_files(caller: Caller, expected: dict[int, str]) -> None:
    for mod_id, sha256 in expected.items():
        answer = caller.ask("GET", f"/api/modhub/{mod_id}/download")
        assert answer.status == 200, (mod_id, answer)
        assert hashlib.sha256(answer.body).hexdigest() == sha256, mod_id


@pytest.mark.timeout(900)  # on a busy machine with an object store the load makes thousands of objects
@pytest.mark.postgres
def test_a_backup_under_load_becomes_a_service_on_the_other_database(
    services: Any, kind: str, origin: Installation, tmp_path: Path
) -> None:
    # C-RUN-16, C-RUN-17, C-RUN-18
    credentials = {"email": "ada@example.org", "password": PASSWORD}
    session = origin.caller().need(201, "POST", "/api/auth/register", credentials)
    writers = [origin.register(f"writer{number}") for number in range(2)]
    with WriteLoad(writers) as load:
        while len(load.settled_now()) < 5:
            pass
        before = load.settled_now()
        started = load.writes
        backup = origin.launch_admin("backup", str(tmp_path / "made"))
        while backup.poll() is None:
            ready(origin.admin("sweep", "--older-than", "0"))
        output, errors = backup.communicate()
        assert backup.returncode == 0, errors
    assert output.startswith("Backed up ")
    assert load.writes > started
    assert "is whole and can be restored" in ready(origin.admin("backup", "--verify", str(tmp_path / "made")))
    other = {"sqlite": "postgresql", "postgresql": "sqlite"}[kind]
    settings = {"modhub.base_url": "https://new.example.org"}
    restored: Installation = services(other, 0, includes=FEATURES, settings=settings)
    assert ready(restored.admin("restore", "--dry-run", str(tmp_path / "made"))).startswith("Would restore ")
    output = ready(restored.admin("restore", str(tmp_path / "made")))
    assert "this installation is https://new.example.org" in output
    assert "All sessions are ended" in output
    assert "waiting emails are held" in output
    assert ready(restored.admin("verify")) == "No problems found.\n"
    again = restored.admin("restore", str(tmp_path / "made"))
    assert (again.returncode, again.stdout) == (1, "")
    assert "is not empty" in again.stderr
    restored.start()
    assert_same_files(restored.caller(), before)
    restored.caller().need(401, "POST", "/api/auth/refresh", {"refreshToken": session["refreshToken"]})
    signed_in = restored.caller().need(200, "POST", "/api/auth/login", credentials)
    # New rows go on after the old ones.
    mod = restored.caller(signed_in["accessToken"]).published("After the restore")
    assert mod["id"] > max(load.settled)
    assert ready(restored.admin("verify")) == "No problems found.\n"


@pytest.mark.postgres
def test_a_killed_backup_is_refused_and_holds_nothing_back(origin: Installation, tmp_path: Path) -> None:
    # C-RUN-17
    author = origin.register("killed")
    for number in range(5):
        author.published(f"Mod {number}", bytes(500_000))
    folder = tmp_path / "made"
    backup = origin.launch_admin("backup", str(folder))
    while not (folder / "files").exists() and backup.poll() is None:
        pass
    backup.send_signal(signal.SIGKILL)
    backup.communicate()
    if (folder / "manifest.sha256").exists():
        pytest.skip("it was faster than the kill")
    for words in (("restore",), ("backup", "--verify")):
        refused = origin.admin(*words, str(folder))
        assert refused.returncode == 1, refused
        assert refused.stderr.count("\n") == 1
    ready(origin.admin("sweep"))
    assert "is not empty" in origin.admin("backup", str(folder)).stderr
    ready(origin.admin("backup", str(tmp_path / "next")))


def shared(first: Path, second: Path) -> list[str]:
    """The files of a backup that are in another one, too."""
    present = {path.stat().st_ino for path in first.rglob("files/*/*")}
    return [path.parent.name + path.name for path in second.rglob("files/*/*") if path.stat().st_ino in present]


def test_the_next_backup_links_what_is_there_and_says_what_it_repairs(origin: Installation, tmp_path: Path) -> None:
    # C-RUN-45
    author = origin.register("linked")
    for number in range(2):
        author.published(f"Linked {number}", bytes(range(256)) * (1000 + number))
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    ready(origin.admin("backup", str(first)))
    count = len(shared(first, first))
    planned = ready(origin.admin("backup", "--dry-run", str(second)))
    assert f"{count} files" in planned
    assert f", {count} of them (" in planned
    assert f"{count} of the files (" in ready(origin.admin("backup", str(second)))
    assert len(shared(first, second)) == count
    damaged, intact = sorted(path for path in second.rglob("files/*/*") if path.stat().st_size)[:2]
    damaged.chmod(0o600)
    damaged.write_bytes(bytes(byte ^ 1 for byte in damaged.read_bytes()))  # it may have been all zeros
    told = ready(origin.admin("backup", str(third)), 1)
    key = damaged.parent.name + damaged.name
    assert [line for line in told.splitlines() if line.endswith(f"file {key}")] == [
        f"Copied again, because {second} does not have it whole: file {key}"
    ]
    assert intact.parent.name + intact.name in shared(second, third)
    assert key not in shared(second, third)
    shutil.rmtree(first)
    shutil.rmtree(second)
    assert "is whole and can be restored" in ready(origin.admin("backup", "--verify", str(third)))


def test_another_disk_gets_copies_and_one_that_is_too_small_is_refused_at_once(
    origin: Installation, tmp_path: Path
) -> None:
    # C-RUN-45
    origin.register("small").published("Large", bytes(20 * 1024 * 1024))
    ready(origin.admin("backup", str(tmp_path / "first")))
    with small_disk(tmp_path / "roomy", "200m"):
        assert "links" not in ready(origin.admin("backup", str(tmp_path / "roomy")))
        assert shared(tmp_path / "first", tmp_path / "roomy") == []
    with small_disk(tmp_path / "small", "16m"):
        refused = origin.admin("backup", str(tmp_path / "small"))
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
        assert "has 16 MB free, and the backup needs " in refused.stderr
        assert list((tmp_path / "small").iterdir()) == []


def test_another_secret_is_told(services: Any, origin: Installation, tmp_path: Path) -> None:
    # C-RUN-17
    ready(origin.admin("backup", str(tmp_path / "made")))
    manifest = json.loads((tmp_path / "made" / "manifest.json").read_text())
    assert len(manifest["secrets"][0]) == 16
    other: Installation = services("sqlite", 0, includes=FEATURES, settings={"modhub.secret": "x" * 40})
    done = other.admin("restore", str(tmp_path / "made"))
    ready(done)
    assert "modhub.secret is not the secret of the backup" in done.stderr
