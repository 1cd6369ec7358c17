"""What only some commands or writes need is not imported by every start."""

import subprocess
import sys

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
