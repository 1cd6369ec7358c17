"""``make audit``: what it lets pass, and what it says if it cannot tell."""

import datetime
import json
import re
import runpy
from pathlib import Path

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


def test_an_exception_lets_one_advisory_pass_until_its_day(tmp_path, capfd):
    requirements = tmp_path / "requirements"
    requirements.mkdir()
    (requirements / "run.txt").touch()
    told = tuple(json.dumps({"dependencies": [listed]}) for listed in (CLEAN, FOUND))
    for name, program in (("pip-audit", PIP_AUDIT % told), ("pip", "#!/bin/sh\necho '{\"install\": []}'\n")):
        (tmp_path / name).write_text(program)
        (tmp_path / name).chmod(0o755)
    for advisory, until, code, said in (
        ("GHSA-1", TODAY, 0, "waitress, GHSA-1: We do not call it."),
        ("GHSA-2", TODAY, 1, "run.txt: waitress 3.0.2: GHSA-1, fixed in 3.0.3\n"),
        ("GHSA-1", TODAY - datetime.timedelta(days=2), 1, "decide again"),
    ):
        exception = f'package = "waitress"\nadvisory = "{advisory}"\nreason = "We do not call it."\nuntil = {until}\n'
        (requirements / "audit.toml").write_text(f"[[exception]]\n{exception}")
        assert audit["main"](tmp_path, tmp_path / "pip-audit", (str(tmp_path / "pip"),)) == code
        assert said in capfd.readouterr().out
