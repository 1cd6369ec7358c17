"""Backups of a service that is being written to, and services restored from them."""

import hashlib
import signal
import time

import pytest

from modhub_testing.load import WriteLoad
from modhub_testing.service import PASSWORD

pytestmark = pytest.mark.long

FEATURES = "modhub_auth modhub_builds"


@pytest.fixture(scope="module")
def origin(services, kind):
    # Emails wait: there is no mail server.
    settings = {"mail.host": "127.0.0.1", "mail.port": "1"}
    return services(kind, 2, includes=FEATURES, settings=settings)


def ready(done, code=0):
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    return done.stdout


def assert_same_files(caller, expected):
    for mod_id, sha256 in expected.items():
        answer = caller.ask("GET", f"/api/modhub/{mod_id}/download")
        assert answer.status == 200, (mod_id, answer)
        assert hashlib.sha256(answer.body).hexdigest() == sha256, mod_id


@pytest.mark.timeout(900)  # on a busy machine with an object store the load makes thousands of objects
@pytest.mark.postgres
def test_a_backup_under_load_becomes_a_service_elsewhere(services, kind, origin, tmp_path):
    # C-RUN-16, C-RUN-17, C-RUN-18
    credentials = {"email": "ada@example.org", "password": PASSWORD}
    session = origin.caller().need(201, "POST", "/api/auth/register", credentials)
    writers = [origin.register(f"writer{number}") for number in range(2)]
    with WriteLoad(writers) as load:
        while len(load.settled) < 5:
            time.sleep(0.05)
        before, started = dict(load.settled), load.writes
        backup = origin.launch_admin("backup", str(tmp_path / "made"))
        while backup.poll() is None:
            ready(origin.admin("sweep"))
        output, errors = backup.communicate()
        assert backup.returncode == 0, (output, errors)
    assert load.writes > started
    assert "was loaded into a scratch database" in ready(origin.admin("backup", "--verify", str(tmp_path / "made")))
    settings = {"modhub.base_url": "https://new.example.org"}
    restored = services(kind, 0, includes=FEATURES, settings=settings)
    output = ready(restored.admin("restore", str(tmp_path / "made")))
    assert "All sessions are ended" in output
    assert "waiting emails are held" in output
    assert ready(restored.admin("verify")) == "No problems found.\n"
    restored.start()
    assert_same_files(restored.caller(), before)
    restored.caller().need(401, "POST", "/api/auth/refresh", {"refreshToken": session["refreshToken"]})
    signed_in = restored.caller().need(200, "POST", "/api/auth/login", credentials)
    # New rows go on after the old ones.
    assert restored.caller(signed_in["accessToken"]).published("After the restore")["id"] > max(load.settled)


@pytest.mark.postgres
def test_a_backup_or_a_restore_that_was_killed_is_never_taken_for_whole(services, kind, origin, tmp_path):
    # C-RUN-17
    author = origin.register("killed")
    for number in range(5):
        author.published(f"Mod {number}", bytes(500_000))
    folder, place = tmp_path / "made", services(kind, 0, includes=FEATURES)
    backup = origin.launch_admin("backup", str(folder))
    while not (folder / "database.dump").exists():
        assert backup.poll() is None
        time.sleep(0.001)
    backup.send_signal(signal.SIGKILL)
    backup.communicate()
    refused = place.admin("restore", str(folder))
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused
    ready(origin.admin("backup", str(tmp_path / "next")))
    restore = place.launch_admin("restore", str(tmp_path / "next"))
    while not place.stored():
        assert restore.poll() is None
        time.sleep(0.001)
    restore.send_signal(signal.SIGKILL)
    restore.communicate()
    # It goes on, or the rows are there, as pg_restore outlived its parent, or it was done before the signal came.
    if "run migrate, then restored" in place.admin("restore", str(tmp_path / "next")).stderr:
        ready(place.admin("migrate"))
        ready(place.admin("restored"))
    assert ready(place.admin("verify")) == "No problems found.\n"
