"""Drops the lease of processes of 1.0."""

import sqlalchemy as sa
from alembic import op

revision = "sync_0003"
down_revision = "sync_0002"
branch_labels = None
depends_on = None
compatible_with = "sync_0002"


def upgrade() -> None:
    """Drop the table."""
    op.drop_table("sync_lease")


def downgrade() -> None:
    """Make it again; the lease is free."""
    lease = op.create_table(
        "sync_lease",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sync_lease")),
    )
    op.bulk_insert(lease, [{"id": 1, "until": 0}])
