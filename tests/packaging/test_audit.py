"""``make audit``: what it lets pass, and what it says if it cannot tell."""

import datetime
import json
import re
import runpy
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
audit = runpy.run_path(str(ROOT / "tools" / "audit_dependencies.py"))
TODAY = datetime.datetime.now(datetime.UTC).date()
FOUND = {"name": "waitress", "version": "3.0.2", "vulns": [{"id": "GHSA-1", "fix_versions": ["3.0.3"]}]}
CLEAN = {"name": "webob", "version": "1.8.11", "vulns": []}
# Like pip-audit, it leaves out what it is told to ignore.
PIP_AUDIT = """#!/bin/sh
case "$*" in *"--ignore-vuln GHSA-1"*) echo '%s' ;; *) echo '%s' ;; esac
"""


def test_every_exception_has_a_reason_a_day_and_a_package_that_is_locked():
    locked = {
        canonicalize_name(name)
        for path in (ROOT / "requirements").glob("*.txt")
        for name in re.findall(r"(?m)^([\w.-]+)==", path.read_text("utf-8"))
    }
    entries = audit["exceptions"](ROOT)
    assert "bleach" in {entry["package"] for entry in entries}
    for entry in entries:
        assert entry["package"] in locked
        assert len(entry["reason"]) > 60
        assert entry["until"] >= TODAY, f"decide again: {entry['package']}"
        assert ("advisory" in entry) != ("end_of_life" in entry)


@pytest.fixture
def run(tmp_path):
    """``run(packages, advisory)``: the exit code where pip-audit tells of these packages, with this exception."""

    def main(packages, advisory, until=TODAY):
        (tmp_path / "requirements").mkdir(exist_ok=True)
        (tmp_path / "requirements" / "run.txt").touch()
        exception = f'package = "waitress"\nadvisory = "{advisory}"\nreason = "We do not call it."\nuntil = {until}\n'
        (tmp_path / "requirements" / "audit.toml").write_text(f"[[exception]]\n{exception}")
        told = [json.dumps({"dependencies": listed}) for listed in ([CLEAN], packages)]
        pip = "#!/bin/sh\necho '{\"install\": []}'\n"
        for name, program in (("pip-audit", PIP_AUDIT % tuple(told)), ("pip", pip)):
            (tmp_path / name).write_text(program)
            (tmp_path / name).chmod(0o755)
        return int(audit["main"](tmp_path, tmp_path / "pip-audit", (str(tmp_path / "pip"),)))

    return main


def test_an_exception_lets_one_advisory_pass_until_its_day(run, capfd):
    assert run([FOUND], "GHSA-1") == 0
    assert "waitress, GHSA-1: We do not call it." in capfd.readouterr().out
    assert run([FOUND], "GHSA-2") == 1
    assert "run.txt: waitress 3.0.2: GHSA-1, fixed in 3.0.3\n" in capfd.readouterr().out
    assert run([FOUND], "GHSA-1", TODAY - datetime.timedelta(days=2)) == 1
    assert "decide again" in capfd.readouterr().out
