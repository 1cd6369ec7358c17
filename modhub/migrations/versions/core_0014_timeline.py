"""The timeline of PostgreSQL that the feed belongs to: on another one a new feed begins."""

import sqlalchemy as sa
from alembic import op

revision = "core_0014"
down_revision = "core_0013"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Add the column, empty: the first connection of new code fills it in."""
    op.add_column("core_generation", sa.Column("timeline", sa.String(length=40), server_default="", nullable=False))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("core_generation", "timeline")
