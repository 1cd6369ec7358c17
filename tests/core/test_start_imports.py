"""What only some commands or file stores need is not imported by every start."""

import pytest

FOR_COMMANDS_OR_STORES = ("alembic", "mako", "obstore", "botocore")
PROGRAM = """
import sys, modhub
settings = {"sqlalchemy.url": "sqlite:////nowhere/modhub.sqlite", "modhub.secret": "0" * 32,
            "pyramid.includes": "modhub_auth modhub_builds modhub_following modhub_sync modhub_wiki"}
modhub.configure(settings, makes_store=False).make_wsgi_app()
print(*sys.modules)
"""


@pytest.mark.process
def test_a_start_imports_only_what_a_service_needs(run_program):
    done = run_program(PROGRAM)
    imported = set(done.stdout.split())
    assert "modhub.catalogue.reading.views" in imported
    assert imported.isdisjoint(FOR_COMMANDS_OR_STORES)
