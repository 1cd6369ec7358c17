"""Processes of the old code go on while the schema is newer, until they are stopped."""

import pytest

pytestmark = pytest.mark.long

FEATURE = '''"""A feature with one table."""


def includeme(config):
    config.include("modhub")
    config.add_feature("rolling_feature", "Rolling", migrations="rolling_")
'''
REVISION = '''"""Step {number}."""

import sqlalchemy as sa
from alembic import op

revision = "rolling_000{number}"
down_revision = {before!r}


def upgrade():
    op.create_table("rolling_{number}", sa.Column("id", sa.Integer(), primary_key=True))
'''


def write_code(folder, revisions):
    """The feature with so many revisions; returns the folder for PYTHONPATH."""
    package = folder / f"code{revisions}" / "rolling_feature"
    (package / "migrations" / "versions").mkdir(parents=True)
    (package / "__init__.py").write_text(FEATURE, "utf-8")
    for number in range(1, revisions + 1):
        before = f"rolling_000{number - 1}" if number > 1 else None
        source = REVISION.format(number=number, before=before)
        (package / "migrations" / "versions" / f"rolling_000{number}.py").write_text(source, "utf-8")
    return str(package.parent)


def test_a_process_that_runs_goes_on_when_the_schema_changes(services, kind, tmp_path):
    # C-RUN-3, T-F11
    service = services(kind, 0, includes="modhub_auth rolling_feature")
    old, new = write_code(tmp_path, 1), write_code(tmp_path, 2)
    service.environ["PYTHONPATH"] = old
    assert service.admin("migrate").returncode == 0
    service.start()
    own = service.register("rolling")
    service.environ["PYTHONPATH"] = new
    assert service.admin("migrate").returncode == 0
    assert own.ask("POST", "/api/modhub", {"title": "Beside"}).status == 201
    assert service.stop() == [0]
    service.environ["PYTHONPATH"] = old
    process = service.launch()
    assert process.popen.wait(120) > 0
    assert "modhub does not start: the database is newer than this code (rolling_feature)" in process.log.read_text()
