"""Drops the lease of processes of 1.0."""

import sqlalchemy as sa
from alembic import op

revision = "downloads_0004"
down_revision = "downloads_0003"
branch_labels = None
depends_on = None
compatible_with = "downloads_0003"


def upgrade() -> None:
    """Drop the column."""
    op.drop_column("downloads_state", "until")


def downgrade() -> None:
    """Add it again; the lease is free."""
    op.add_column("downloads_state", sa.Column("until", sa.BigInteger(), server_default="0", nullable=False))
