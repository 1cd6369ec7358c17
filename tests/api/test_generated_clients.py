"""The clients that docs/clients.md makes of the description, by exactly its commands, do the main job (C-API-11)."""

import hashlib
import os
import re
import shutil
import subprocess

import pytest

from modhub_testing.caller import Caller

from .conftest import CODE, PROGRAMS, ROOT

DOCUMENT = (ROOT / "docs" / "clients.md").read_text("utf-8")
MODULES = ROOT / "var" / "typescript"
"""Those of tests/api/typescript/package-lock.json, which ``make test-api`` installs."""
SERVICE = "https://mods.example.org"

pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


class Recipe:
    """What the document says for one language: three commands, and an example, which lies beside it."""

    def __init__(self, language):
        (text,) = re.findall(rf"^### {language}\n(.*?)^##", DOCUMENT, re.MULTILINE | re.DOTALL)
        self.commands = re.findall(r"^    (\S.*)$", text, re.MULTILINE)
        ((self.name, path),) = re.findall(r"\[(example\.\w+)\]\((\S+)\)", text)
        self.example = (ROOT / "docs" / path).read_text("utf-8")
        assert len(self.commands) == 3

    def follow(self, folder, url):
        """Do what it says for the service at ``url``, the last command twice; return what that prints."""
        (folder / self.name).write_text(self.example.replace(SERVICE, url), "utf-8")
        environ = {
            **os.environ,
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "npm_config_prefer_offline": "true",
            "npm_config_audit": "false",
        }
        for command in [*self.commands, self.commands[-1]]:
            done = subprocess.run(
                ["bash", "-c", command.replace(SERVICE, url)],
                cwd=folder,
                env=environ,
                capture_output=True,
                text=True,
                timeout=200,
                check=False,
            )
            assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout


def operation_ids(served):
    paths = reader(served).need(200, "GET", "/api/openapi.json")["paths"]
    return {operation["operationId"] for methods in paths.values() for operation in methods.values()}


def reader(served):
    return Caller([served.installation.processes[0].port])


def check_main_job(served, printed):
    """Both mods were downloaded with their digests; one was published, and is gone."""
    required, mod = served.mod["install"]
    digests = [hashlib.sha256(content).hexdigest() for content in (b"the code of a mod", CODE)]
    lines = [line.split() for line in printed.splitlines()]
    assert lines[:2] == [["downloaded", required["guid"], digests[0]], ["downloaded", mod["guid"], digests[1]]]
    (published, number, version), (deleted, status) = lines[2:]
    assert (published, version, deleted, status) == ("published", "1.0", "deleted", "204")
    reader(served).need(404, "GET", f"/api/modhub/{number}")
    changes = reader(served).need(200, "GET", "/api/modhub/changes")["changes"]
    assert changes[-1]["what"] == "deleted"


def test_python(served, tmp_path):
    # C-API-11
    recipe = Recipe("Python")
    check_main_job(served, recipe.follow(tmp_path, served.url))
    downloaded = {path.name for path in tmp_path.glob("*.mod")}
    assert downloaded == {f"{mod['guid']}.mod" for mod in served.mod["install"]}
    client = tmp_path / "modhub_api"
    calls = {path.stem for path in client.glob("api/*/*.py")} - {"__init__"}
    assert calls == operation_ids(served)
    untyped = [path.stem for path in client.glob("api/*/*.py") if "body: Any" in path.read_text("utf-8")]
    assert untyped == []
    # Schemas without a name: only that of the description itself, which no client of it reads.
    assert [path.stem for path in client.glob("models/*_response_2*.py")] == ["read_api_description_response_200"]


def test_typescript(served, tmp_path):
    # C-API-11
    for name in ("package.json", "package-lock.json"):
        shutil.copy(MODULES / name, tmp_path)
    shutil.copytree(MODULES / "node_modules", tmp_path / "node_modules", symlinks=True)
    check_main_job(served, Recipe("TypeScript").follow(tmp_path, served.url))
