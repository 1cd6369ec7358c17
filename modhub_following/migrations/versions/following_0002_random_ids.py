"""Links that end digests name their reader by a random id, too, which no other account ever has."""

import sqlalchemy as sa
from alembic import op

revision = "following_0002"
down_revision = "following_0001"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Add the column, empty in all rows: the links that those readers have stay valid."""
    op.add_column("following_reader", sa.Column("random_id", sa.String(length=32), server_default="", nullable=False))


def downgrade() -> None:
    """Remove it; the links of readers that have one are no longer valid."""
    op.drop_column("following_reader", "random_id")
