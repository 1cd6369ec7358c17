"""Drops what search does not use any more: SQLite's parts of words, PostgreSQL's bitmaps, and the triggers of both.

Databases that took core_0021 while it still did this have none of them.
"""

from alembic import op
from sqlalchemy import inspect

from modhub.migrations.versions import core_0012_parts, core_0013_bitmaps

revision = "core_0023"
down_revision = "core_0024"
branch_labels = None
depends_on = None
compatible_with = "core_0020"


def upgrade() -> None:
    """Drop them; each database has its own."""
    if {"fts_core_part", "fts_core_bitmap"} & set(inspect(op.get_bind()).get_table_names()):
        core_0013_bitmaps.downgrade()
        core_0012_parts.downgrade()


def downgrade() -> None:
    """Make them again as they were made first: the parts filled, the bitmaps left to be filled by older code."""
    core_0012_parts.upgrade()
    core_0013_bitmaps.upgrade()
