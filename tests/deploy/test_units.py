"""The systemd units in ``deploy/``, judged by systemd's own tools; ``make test-debian`` starts them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from modhub_testing.commands import find_program

DEPLOY = Path(__file__).parents[2] / "deploy"
SERVICES = sorted(DEPLOY.glob("*.service"))
TIMERS = sorted(DEPLOY.glob("*.timer"))
MOST_EXPOSED = 2.5


def analyze(*words):
    command = [find_program("systemd-analyze"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


def test_a_unit_that_fails_tells_the_operator():
    silent = {path.stem for path in SERVICES if "\nOnFailure=modhub-alarm@%N.service\n" not in path.read_text()}
    # With Restart=always the service never counts as failed; the alarm must not call itself.
    assert silent == {"modhub@", "modhub-alarm@"}


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.stem)
def test_each_service_is_exposed_as_little_as_it_can_be(path):
    analysis = analyze("security", "--offline=true", "--no-pager", str(path))
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", analysis.stdout)
    assert exposure, analysis
    assert float(exposure[1]) <= MOST_EXPOSED


def test_systemd_finds_no_fault_in_the_units(tmp_path):
    units = tmp_path / "etc" / "systemd" / "system"
    units.mkdir(parents=True)
    for path in (*SERVICES, *TIMERS):
        shutil.copy(path, units)
    # What the units start must be there: it is judged too.
    for command in re.findall(r"^Exec\w+=(/\S+)", "\n".join(path.read_text() for path in SERVICES), re.MULTILINE):
        program = tmp_path / command.removeprefix("/")
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    shutil.copytree("/usr/lib/systemd/system", tmp_path / "usr" / "lib" / "systemd" / "system", symlinks=True)
    for path in (*SERVICES, *TIMERS):
        name = path.name.replace("@", "@6543")
        analysis = analyze("verify", "--man=no", "--recursive-errors=no", f"--root={tmp_path}", name)
        assert (analysis.returncode, analysis.stdout + analysis.stderr) == (0, "")


def test_every_unit_has_the_same_restrictions():
    parts = {path.stem: path.read_text().partition("# The same in every unit of modhub.\n")[2] for path in SERVICES}
    restrictions = {part.partition("\n\n")[0].strip() for part in parts.values()}
    assert len(restrictions) == 1
    assert "ProtectSystem=strict" in restrictions.pop()


def test_no_unit_may_call_more_than_it_needs():
    allowed = {path.stem: re.findall(r"^SystemCallFilter=(.*)$", path.read_text(), re.MULTILINE) for path in SERVICES}
    usual = ["@system-service", "~@privileged @resources"]
    assert allowed.pop("modhub@") == [
        *usual,
        "setpriority",
        "prlimit64",
        "landlock_create_ruleset landlock_restrict_self",
    ]
    assert list(allowed.values()) == [usual] * len(allowed)
