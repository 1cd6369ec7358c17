"""Drops the lease of processes of 1.0."""

import sqlalchemy as sa
from alembic import op

revision = "following_0005"
down_revision = "following_0004"
branch_labels = None
depends_on = None
compatible_with = "following_0004"


def upgrade() -> None:
    """Drop the table."""
    op.drop_table("following_lease")


def downgrade() -> None:
    """Make it again; the lease is free."""
    lease = op.create_table(
        "following_lease",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_following_lease")),
    )
    op.bulk_insert(lease, [{"id": 1, "until": 0}])
