"""Each file in ``deploy/`` is proved by a test that reads or installs it, in a run that CI makes."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = "debian/test_operations_document.py"
INSTALLED = f"{DOCUMENT}::test_every_shipped_file_is_installed_as_it_is_and_works"
"""Each service is started and ends well; each timer is active, with a next time that is never waited for."""
PROOFS = {
    "modhub@.service": [
        f"{DOCUMENT}::test_people_can_do_everything_under_the_restrictions",
        f"{DOCUMENT}::test_the_restrictions_refused_nothing_and_nothing_went_wrong",
    ],
    "modhub-migrate.service": [INSTALLED],
    "modhub-backup.service": [INSTALLED, f"{DOCUMENT}::test_a_backup_is_whole_and_can_be_restored"],
    "modhub-sweep.service": [INSTALLED],
    "modhub-letters.service": [INSTALLED],
    "modhub-doctor.service": [INSTALLED],
    "modhub-alarm@.service": [INSTALLED],
    "modhub-backup.timer": [INSTALLED],
    "modhub-sweep.timer": [INSTALLED],
    "modhub-letters.timer": [INSTALLED],
    "modhub-doctor.timer": [INSTALLED],
    "modhub-admin": [f"{DOCUMENT}::test_modhub_admin_gets_every_word_as_it_is"],
    # Each of its lines is looked at in deploy/test_nginx.py.
    "nginx.conf": [
        f"{DOCUMENT}::test_a_restart_loses_no_request",
        f"{DOCUMENT}::test_nginx_sends_files_by_itself_when_it_may",
    ],
    "alerts.yml": [
        "deploy/test_alerts.py::test_prometheus_reads_the_rules",
        "deploy/test_alerts.py::test_every_rule_is_about_a_metric_that_exists",
        "deploy/test_alerts.py::test_a_worker_that_fails_or_hangs_is_told_however_seldom_it_works",
        "deploy/test_alerts.py::test_a_scanner_that_stays_down_is_told",
    ],
    # On a bare Debian as its base, not on the image that it names; started without rights on read-only files.
    "Dockerfile": [
        "debian/test_image.py::test_the_image_is_built_with_what_it_needs_alone",
        "debian/test_image.py::test_its_command_serves_is_healthy_and_ends_when_it_is_told",
    ],
    # Not started: no run has a container engine.
    "compose.yaml": [
        "deploy/test_containers.py::test_the_files_are_what_docker_and_compose_expect",
        "deploy/test_containers.py::test_the_service_understands_its_settings",
        "deploy/test_containers.py::test_every_service_is_watched_restarted_and_started_in_order",
        "deploy/test_containers.py::test_the_jobs_run_every_night_and_what_fails_is_told",
    ],
    "example.env": ["deploy/test_containers.py::test_every_variable_is_in_the_example"],
}
"""The files of ``deploy/`` and the tests that prove them, which are in the folder of the run that CI makes."""
RUNS = {"debian": "test-debian", "deploy": "test-deploy"}


def names_in(module):
    """The names of files, and their patterns, in a test and in what it uses."""
    texts = [path.read_text("utf-8") for path in (module, module.with_name("conftest.py"))]
    if module.parent.name == "debian":
        document = (ROOT / "docs" / "operations.md").read_text("utf-8")
        texts.append("\n".join(re.findall(r"^```sh\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)))
    return set(re.findall(r"[\w@*-]+(?:\.\w+)?", "\n".join(texts)))


def is_named(file, names):
    return any(name == file or ("*." in name and fnmatch(file, name)) for name in names)


def test_every_shipped_file_is_proved():
    shipped = {str(path.relative_to(ROOT / "deploy")) for path in (ROOT / "deploy").rglob("*") if path.is_file()}
    assert PROOFS.keys() == shipped


@pytest.mark.parametrize("file", PROOFS)
def test_a_proof_exists_and_reads_or_installs_the_file(file):
    assert PROOFS[file]
    for proof in PROOFS[file]:
        name, _, function = proof.partition("::")
        module = ROOT / "tests" / name
        assert re.search(rf"^def {function}\(", module.read_text("utf-8"), re.MULTILINE), f"{name} has no {function}"
        assert is_named(file, names_in(module)), f"{name} neither reads nor installs {file}"


def test_ci_makes_these_runs():
    commands = re.findall(r"\bmake (.+)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    folders = {proof.partition("/")[0] for proofs in PROOFS.values() for proof in proofs}
    targets = {"lint", "test-all", "test-browser", *(RUNS[folder] for folder in folders)}
    assert targets <= set(" ".join(commands).split())
