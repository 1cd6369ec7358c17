"""``make audit``: what it asks pip-audit, what it lets pass, and what it says if it cannot tell."""

import datetime
import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
audit: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "audit_dependencies.py"))
LATER = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=9)).date()
EARLIER = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2)).date()
FOUND = {"name": "waitress", "version": "3.0.2", "vulns": [{"id": "GHSA-1", "fix_versions": ["3.0.3"]}]}
CLEAN = {"name": "webob", "version": "1.8.11", "vulns": []}


def test_every_exception_has_a_reason_a_day_and_a_package_that_is_locked() -> None:
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
        assert entry["until"] >= datetime.datetime.now(datetime.UTC).date(), f"decide again: {entry['package']}"
        assert ("advisory" in entry) != ("end_of_life" in entry)


class Project:
    """A folder with lock files and exceptions, and a pip-audit that answers as it is told."""

    def __init__(self, root: Path) -> None:
        self.root, self.program, self.pip = root, root / "pip-audit", root / "pip"
        (root / "requirements").mkdir()
        self.allow("")
        for name in ("test", "run", "browser"):
            (root / "requirements" / f"{name}.txt").write_text("")
        self.index_has()

    def allow(self, advisory: str, until: datetime.date = LATER) -> None:
        what = f'advisory = "{advisory}"' if advisory else "end_of_life = true"
        text = f'[[exception]]\npackage = "waitress"\n{what}\nreason = "We do not call it."\nuntil = {until}\n'
        (self.root / "requirements" / "audit.toml").write_text(text)
        assert tomllib.loads(text)

    def index_has(self, **versions: str) -> None:
        install = [{"metadata": {"name": name, "version": version}} for name, version in versions.items()]
        self.pip.write_text(
            f"#!/bin/sh\necho \"$@\" > {self.root}/wanted\necho '{json.dumps({'install': install})}'\n", "utf-8"
        )
        self.pip.chmod(0o755)

    def answers(self, output: str, code: int) -> None:
        # Like pip-audit, it leaves out what it is told to ignore.
        self.program.write_text(
            f"""#!/bin/sh
echo "$@" >> {self.root}/asked
case "$*" in *"--ignore-vuln GHSA-1"*) echo '{json.dumps({"dependencies": [CLEAN]})}'; exit 0 ;; esac
echo '{output}'
echo 'cannot connect' >&2
exit {code}
"""
        )
        self.program.chmod(0o755)

    def run(self) -> int:
        return int(audit["main"](self.root, self.program, (str(self.pip),)))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_each_lock_is_audited_as_it_is_and_that_of_what_runs_first(project: Project, capfd: Any) -> None:
    project.answers(json.dumps({"dependencies": [CLEAN]}), 0)
    assert project.run() == 0
    asked = (project.root / "asked").read_text().splitlines()
    assert [Path(words.split()[1]).name for words in asked] == ["run.txt", "browser.txt", "test.txt"]
    assert {"--require-hashes", "--disable-pip", "json"} <= set(asked[0].split())
    assert "--ignore-vuln" not in asked[0]
    told = capfd.readouterr().out
    assert "waitress, end of life: We do not call it." in told
    assert "0 known vulnerabilities in 3 lock files" in told


def test_an_advisory_is_told_and_fails(project: Project, capfd: Any) -> None:
    project.answers(json.dumps({"dependencies": [CLEAN, FOUND]}), 1)
    assert project.run() == 1
    assert "run.txt: waitress 3.0.2: GHSA-1, fixed in 3.0.3\n" in capfd.readouterr().out


def test_an_exception_lets_one_advisory_pass_until_its_day(project: Project, capfd: Any) -> None:
    project.answers(json.dumps({"dependencies": [FOUND]}), 1)
    project.allow("GHSA-1")
    assert project.run() == 0
    assert "waitress, GHSA-1: We do not call it." in capfd.readouterr().out
    project.allow("GHSA-2")
    assert project.run() == 1
    project.allow("GHSA-1", EARLIER)
    assert project.run() == 1
    assert "decide again" in capfd.readouterr().out


SKIPPED = {"name": "webob", "skip_reason": "Dependency not found on PyPI and could not be audited: webob (1.8.11)"}


@pytest.mark.parametrize(
    ("output", "code"),
    [("", 1), ("Traceback", 1), ("{}", 0), (json.dumps({"dependencies": [CLEAN, SKIPPED]}), 0)],
)
def test_advisories_that_cannot_be_reached_are_one_sentence(
    project: Project, capfd: Any, output: str, code: int
) -> None:
    project.answers(output, code)
    with pytest.raises(SystemExit) as ended:
        project.run()
    assert ended.value.code == 2
    told = capfd.readouterr()
    assert ("cannot connect" in told.err) != ("skip_reason" in output)
    what = "1 packages of run.txt were" if "skip_reason" in output else "run.txt was"
    assert f"{what} not checked: the database of advisories cannot be reached" in told.err
    assert "0 known" not in told.out


def test_what_is_locked_at_an_older_version_is_told_and_is_no_failure(project: Project, capfd: Any) -> None:
    lock = "soupsieve==2.10 ; python_full_version < '3.11.5' \\\nsoupsieve==4.1 ; python_full_version >= '3.11.5' \\\n"
    lock += "typing-extensions==4.1 \\\n    --hash=sha256:00\nwebob==1.8.11 ; sys_platform == 'linux' \\\n"
    (project.root / "requirements" / "run.txt").write_text(lock)
    project.answers(json.dumps({"dependencies": [CLEAN]}), 0)
    project.index_has(soupsieve="4.1", typing_extensions="4.2", WebOb="1.8.11")
    assert project.run() == 0
    assert "run.txt: typing-extensions 4.1: 4.2 is out\n" in (told := capfd.readouterr().out)
    assert "3 lock files, 1 newer versions." in told
    asked = (project.root / "wanted").read_text()
    assert asked.endswith("typing-extensions webob ; sys_platform == 'linux'\n")


def test_an_index_that_cannot_be_reached_is_one_sentence(project: Project, capfd: Any) -> None:
    project.pip.write_text("#!/bin/sh\necho 'cannot connect' >&2\nexit 1\n")
    with pytest.raises(SystemExit) as ended:
        project.run()
    assert ended.value.code == 2
    told = capfd.readouterr()
    assert "modhub: newer versions were not looked for: the package index cannot be reached.\n" in told.err
    assert told.out == ""
