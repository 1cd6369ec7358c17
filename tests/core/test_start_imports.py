"""What only some commands or writes need is not imported by every start."""

import subprocess
import sys
from pathlib import Path

import pytest

FOR_WRITES_OR_COMMANDS = ("alembic", "mako", "bleach", "segno", "markdown_it", "pygments", "obstore", "botocore")
FOR_WRITES_OR_COMMANDS += ("modhub.catalogue.demo", "modhub.catalogue.samples", "modhub_wiki.rendering", "cryptography")
PROGRAM = """
import sys, modhub
settings = {"sqlalchemy.url": "sqlite:////nowhere/modhub.sqlite", "modhub.secret": "0" * 32,
            "pyramid.includes": "modhub_auth modhub_builds modhub_following modhub_sync modhub_wiki"}
modhub.configure(settings, makes_store=False).make_wsgi_app()
print(*sys.modules)
"""


@pytest.mark.process
@pytest.mark.one_database
def test_a_start_imports_only_what_reading_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=200
    )
    imported = set(done.stdout.split())
    assert "modhub.catalogue.public_views" in imported
    assert imported.isdisjoint(FOR_WRITES_OR_COMMANDS)


INTERRUPTED = """
import os, signal, sys

module = sys.argv.pop()

def interrupt(event, arguments):
    if event == "import" and arguments[0] == module:
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(interrupt)
from modhub.ops.{script} import {function}
sys.exit({function}())
"""


@pytest.mark.process
@pytest.mark.one_database
@pytest.mark.parametrize(
    ("script", "words", "module", "sentence"),
    [
        ("modhub-admin", ["-c", "{ini}", "check"], "sqlalchemy", ""),
        (
            "modhub-admin",
            ["-c", "{ini}", "check"],
            "modhub_wiki.interfaces",
            "modhub-admin: interrupted; finished work is kept.\n",
        ),
        ("pserve", ["{ini}"], "sqlalchemy", ""),
        ("pserve", ["{ini}"], "modhub_wiki.interfaces", ""),
    ],
)
def test_an_interrupt_while_importing_ends_the_program_without_a_stack_trace(
    tmp_path: Path, script: str, words: list[str], module: str, sentence: str
) -> None:
    # C-RUN-29
    ini = tmp_path / "site.ini"
    ini.write_text(
        "[app:main]\nuse = egg:modhub\nsqlalchemy.url = sqlite:////nowhere/x.sqlite\n"
        f"modhub.secret = {'0' * 32}\npyramid.includes = modhub_wiki\n[server:main]\nuse = egg:modhub#server\n"
    )
    name = "admin" if script == "modhub-admin" else script
    program = tmp_path / script
    program.write_text(INTERRUPTED.format(script=name, function=f"{name}_main"))
    command = [sys.executable, str(program), *(word.format(ini=ini) for word in words), module]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert (done.returncode, done.stderr) == (130, sentence)
