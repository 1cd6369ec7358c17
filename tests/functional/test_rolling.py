"""A rolling upgrade: processes of the old code go on, and may restart, on a schema that suits them.

What suits them is for tests/core/test_core_compatible.py, on both databases.
"""

from pathlib import Path
from typing import Any

import pytest

from modhub_testing.caller import Caller

pytestmark = pytest.mark.long

FEATURE = '''"""A feature with one table."""

from modhub.db import Databases
from modhub.base.service_registry import find_service


def includeme(config):
    config.include("modhub")
    config.add_feature("rolling_feature", "Rolling")
    config.add_migrations("rolling_feature", "rolling_feature:migrations", "rolling_")
'''
REVISION = '''"""Step {number}."""

import sqlalchemy as sa
from alembic import op

revision = "rolling_{number}"
down_revision = {before!r}
branch_labels = None
depends_on = None
compatible_with = {compatible!r}


def upgrade():
    op.create_table("rolling_{number}", sa.Column("id", sa.Integer(), primary_key=True))


def downgrade():
    op.drop_table("rolling_{number}")
'''


def write_code(folder: Path, *compatible: str | None) -> str:
    """The feature with so many revisions; returns the folder for PYTHONPATH."""
    package = folder / f"code{len(compatible)}" / "rolling_feature"
    (package / "migrations" / "versions").mkdir(parents=True)
    (package / "__init__.py").write_text(FEATURE, "utf-8")
    for number, oldest in enumerate(compatible, 1):
        before = f"rolling_{number - 1}" if number > 1 else None
        source = REVISION.format(number=number, before=before, compatible=oldest)
        (package / "migrations" / "versions" / f"rolling_{number}.py").write_text(source, "utf-8")
    return str(package.parent)


def test_old_processes_restart_on_a_schema_that_suits_them(services: Any, kind: str, tmp_path: Path) -> None:
    # C-RUN-3, C-RUN-13
    codes = [
        write_code(tmp_path, None),
        write_code(tmp_path, None, "rolling_1"),
        write_code(tmp_path, None, "rolling_1", "rolling_2"),
    ]
    service = services(kind, 0, includes="modhub_auth rolling_feature")

    def use(code: str) -> None:
        service.environ["PYTHONPATH"] = code

    use(codes[0])
    assert service.admin("migrate").returncode == 0
    old = service.start()
    own = service.register("rolling")
    use(codes[1])
    assert service.admin("migrate").returncode == 0
    assert own.ask("POST", "/api/modhub", {"title": "Beside"}).status == 201
    use(codes[0])
    old.kill()
    again = service.start()
    assert Caller([again.port], own.token).ask("POST", "/api/modhub", {"title": "Restarted"}).status == 201
    assert "the database is newer than this code (rolling_feature), and compatible with it" in service.log()
    assert service.stop() == [0]
    use(codes[2])
    assert service.admin("migrate").returncode == 0
    use(codes[0])
    process = service.launch()
    assert process.popen.wait(120) > 0
    assert "modhub does not start: the database is newer than this code (rolling_feature)" in process.log.read_text()
