"""Drops what search does not use any more: SQLite's parts of words, PostgreSQL's bitmaps, and the triggers of both."""

from modhub.migrations.versions import core_0012_parts, core_0013_bitmaps

revision = "core_0021"
down_revision = "core_0022"
branch_labels = None
depends_on = None
compatible_with = "core_0020"


def upgrade() -> None:
    """Drop them; each of the two does nothing on the other database."""
    core_0013_bitmaps.downgrade()
    core_0012_parts.downgrade()


def downgrade() -> None:
    """Make them again as they were made first: the parts filled, the bitmaps left to be filled by older code."""
    core_0012_parts.upgrade()
    core_0013_bitmaps.upgrade()
